"""`quire doctor`: print the doctor's checks."""

from __future__ import annotations

import json
from collections.abc import Sequence

import click

from app.cli.shared import read_settings
from app.core.edge.hosts import is_loopback
from app.doctor.checks import Check, report, worst
from app.doctor.examine import examine
from app.signals import stop_on_signals
from app.telemetry import logs


@click.command()
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@click.option("--skip-models", is_flag=True, help="Ask the models nothing; asking can cost a few tokens.")
@click.option("--deep", is_flag=True, help="Read the whole store, and report what is damaged.")
def doctor(*, as_json: bool, skip_models: bool, deep: bool) -> None:
    """Check that everything is healthy, and say how to mend what is not.

    Exit code 1 if something keeps Quire from working; warnings do not.
    """
    settings = read_settings()
    logs.set_up("error", settings.quire_log_format)  # anything worth logging is printed below
    with stop_on_signals() as stopping:
        here = is_loopback(settings.quire_host)
        checks = examine(settings, stopping, is_loopback=here, asks_models=not skip_models, is_deep=deep)
    click.echo(json.dumps(report(checks), indent=2, ensure_ascii=False) if as_json else _listing(checks))
    if worst(checks) == "fail":
        raise SystemExit(1)


def _listing(checks: Sequence[Check]) -> str:
    lines = []
    for check in checks:
        state = click.style(f"{check.state:<6}", fg=STATE_COLOURS[check.state])
        lines.append(f"{state}{check.name:<16}{check.detail}")
        lines += [f"{'':<22}{check.fix}"] if check.fix else []
    return "\n".join(lines)


STATE_COLOURS = {"ok": "green", "warn": "yellow", "fail": "red"}

"""`quire demo`: replay a transcript through a running Quire, on the terminal."""

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from urllib.parse import quote

import click
import httpx
from rich.console import Console

from quire_command.demo.frame import Report
from quire_command.demo.replay import ServiceError, replay
from quire_command.demo.service import NotStartedError, some_service
from quire_command.demo.transcript import TranscriptError

CONVERSATION = Path(__file__).parent / "conversation.jsonl"


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path), default=CONVERSATION)
@click.option(
    "--url",
    envvar="QUIRE_URL",
    help="Where Quire runs. Left out: this machine, at QUIRE_PORT or 8000; if none runs there, one of the demo's own.",
)
@click.option(
    "--budget", default=8000, show_default=True, type=click.IntRange(min=1), help="Tokens for the whole window."
)
@click.option("--every-message", is_flag=True, help="Look after each message or call group instead of each turn.")
@click.option("--api-key", envvar="QUIRE_API_KEY", help="API key, if the service asks for one.")
def demo(file: Path, url: str | None, budget: int, every_message: bool, api_key: str | None) -> None:
    """Replay FILE (JSON lines; by default the hundred turns that come with Quire) through a running Quire.

    If no URL is given and none runs, one is started for the demo, on a database that is thrown away afterwards.
    """
    here = usual(os.environ)
    try:
        with nullcontext(url) if url is not None else some_service(here) as running:
            click.echo(f"Replaying into {running}.")
            reports = replay(running, file, budget, Console(), every_message=every_message, api_key=api_key)
            _show_links(running, reports, ends=running not in (url, here))
    except (TranscriptError, ServiceError) as error:
        raise click.ClickException(str(error)) from error
    except NotStartedError as error:
        raise click.ClickException(f"no Quire could be started:\n{error}") from error
    except httpx.TransportError as error:
        raise click.ClickException(f"no answer from {url or here} ({error}); is `quire serve` running?") from error
    if not all(report.kept for report in reports):
        raise click.ClickException("a promise was broken, see the red lines above")


def usual(environment: Mapping[str, str]) -> str:
    """Return where `quire serve` listens on this machine."""
    port = environment.get("QUIRE_PORT", "")
    return f"http://127.0.0.1:{port if port.strip('0') else 8000}"


def _show_links(url: str, reports: Sequence[Report], *, ends: bool) -> None:
    """End with the way to the conversations. A service that ends with the demo waits for a key on a terminal."""
    click.echo("\nSee what the model saw:")
    for report in reports:
        click.echo(f"  {url}/ui/conversations/{quote(report.conversation)}")
    if ends and sys.stdin.isatty():
        click.pause("Press any key to stop this Quire and delete its data.")
    elif ends:
        click.echo("This Quire is gone now. Run `quire serve` first to keep the conversations.")

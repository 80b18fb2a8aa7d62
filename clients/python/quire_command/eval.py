"""`quire eval`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import click
import httpx

from quire_command.demo.evaluate import evaluate, input_prices, reached, report
from quire_command.demo.replay import ServiceError
from quire_command.demo.service import NotStartedError, own_service
from quire_command.demo.transcript import Transcript, TranscriptError, load, transcript
from quire_command.service import AsJson, Key, Url, items, opened, show

OFFLINE = {"DATABASE_URL": "", "MEMORY_LLM_MODEL": "", "MEMORY_EMBEDDING_MODEL": "none", "QUIRE_REQUIRE_KEYS": "false"}
PAGE = 200
BUDGETS = (4000, 8000, 16_000)


@click.command(name="eval")
@click.argument("files", nargs=-1, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--conversation", multiple=True, help="A stored conversation, read from the running Quire.")
@click.option(
    "--budget", "budgets", multiple=True, default=(4000, 8000, 16_000), show_default=True, type=click.IntRange(1)
)
@click.option("--prices", envvar="QUIRE_PROXY_PRICES", default="", help="Prices by model, as in QUIRE_PROXY_PRICES.")
@AsJson
@click.option(
    "--fail-under",
    type=click.FloatRange(0, 100),
    help="Exit with 1 if less than this percentage can be seen or recalled.",
)
@click.option(
    "--fail-under-in-view", type=click.FloatRange(0, 100), help="Exit with 1 if less than this percentage is in view."
)
@Url
@Key
def evaluation(
    files: tuple[Path, ...], conversation: tuple[str, ...], url: str, api_key: str | None, **given: Any
) -> None:
    """Evaluate Quire on conversations of your own: FILES of messages (JSON lines), or stored ones.

    Says how often what was needed again (files, numbers, names, wishes) was in view, on the map, one recall away or
    lost. Replays them on an empty database that is thrown away, with the settings of the environment, without an LLM
    and without embeddings: nothing leaves this machine.
    """
    try:
        prices = input_prices(given["prices"])
        transcripts = [one for file in files for one in load(file)] + [
            _stored(name, url, api_key) for name in conversation
        ]
        if not transcripts:
            raise click.UsageError("Name a FILE or a --conversation.")
        with own_service(OFFLINE) as own, httpx.Client(base_url=own, timeout=60) as client:
            found = [
                finding
                for number, one in enumerate(transcripts)
                for finding in evaluate(client, one, given["budgets"], f"{number}-{one.id}"[:100])
            ]
    except (TranscriptError, ServiceError, ValueError) as error:
        raise click.ClickException(str(error)) from error
    except NotStartedError as error:
        raise click.ClickException(f"no Quire could be started:\n{error}") from error
    shown = report(found, prices)
    show(shown, table(shown), as_json=given["as_json"])
    if not found:
        raise click.ClickException("Nothing in these conversations was needed again.")
    if any(_fails(row, given["fail_under"], given["fail_under_in_view"]) for row in shown["budgets"]):
        raise SystemExit(1)


def _fails(row: Mapping[str, Any], least: float | None, least_in_view: float | None) -> bool:
    return (least is not None and reached(row) < least) or (
        least_in_view is not None and 100 * row["in_view"] < least_in_view
    )


def _stored(name: str, url: str, api_key: str | None) -> Transcript:
    with opened(url, api_key) as client:
        stored = items(client, f"/conversations/{quote(name, safe='')}/messages", {"limit": PAGE})
        messages = [{k: v for k, v in message.items() if v is not None} for message in stored]
    return transcript(name, messages)


def table(shown: Mapping[str, Any]) -> Iterator[str]:
    yield f"{shown['probes']} things were needed again."
    yield f"{'budget':>8}{'in view':>10}{'on map':>10}{'recall':>10}{'lost':>10}{'tokens':>10}{'full':>10}"
    for row in shown["budgets"]:
        shares = "".join(f"{row[place]:>10.0%}" for place in ("in_view", "on_the_map", "one_recall_away", "lost"))
        yield f"{row['budget']:>8,}{shares}{row['tokens']:>10,}{row['full_history_tokens']:>10,}"
    for row in shown["budgets"]:
        for model, dollars in row["dollars_per_1000_windows"].items():
            full = row["dollars_per_1000_full_histories"][model]
            yield f"{row['budget']:>8,}  {model}: ${dollars} for 1,000 windows, ${full} for 1,000 full histories"

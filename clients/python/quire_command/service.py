"""The running service that commands speak to: its address and key, and its refusals in words."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import click
import httpx

USUAL: Final = "http://127.0.0.1:8000"
PATIENCE: Final = httpx.Timeout(30, read=600, write=600)
"""An import is answered when all of it is stored."""

Url = click.option("--url", envvar="QUIRE_URL", default=USUAL, show_default=True, help="Where Quire runs.")
Key = click.option("--api-key", envvar="QUIRE_API_KEY", help="API key, if the service asks for one.")
AsJson = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")


def show(value: Any, words: Iterable[str], *, as_json: bool) -> None:
    """Print a value, as JSON or in words."""
    click.echo(json.dumps(value, ensure_ascii=False, indent=1, default=str) if as_json else "\n".join(words))


def progress(label: str, total: int) -> Any:
    """Return a bar with the time left, on stderr where that is a terminal. Use it with ``with``; ``update(count)``."""
    return click.progressbar(length=total, label=label, file=sys.stderr, hidden=not sys.stderr.isatty())


@contextmanager
def opened(url: str, api_key: str | None) -> Iterator[httpx.Client]:
    headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
    try:
        with httpx.Client(base_url=url, headers=headers, timeout=PATIENCE) as client:
            yield client
    except (httpx.TransportError, httpx.InvalidURL) as error:
        raise click.ClickException(f"No answer from {url} ({str(error) or type(error).__name__}).") from error


def items(client: httpx.Client, path: str, params: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield what a list of the service has, page by page. Raises as ``refuse_problem`` does."""
    cursor: Mapping[str, str] = {}
    while True:
        answer = client.get(path, params={**params, **cursor})
        refuse_problem(answer)
        page = answer.json()
        yield from page["items"]
        if page["next_cursor"] is None:
            return
        cursor = {"cursor": page["next_cursor"]}


def refuse_problem(answer: httpx.Response) -> None:
    if answer.is_success:
        return
    try:
        detail = answer.json()["detail"]
    except (ValueError, LookupError, TypeError):
        detail = answer.reason_phrase
    raise click.ClickException(f"{answer.status_code}: {detail}")

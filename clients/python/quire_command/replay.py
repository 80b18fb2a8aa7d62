"""`quire replay`: what a model saw, and what had changed since the window before."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

import click
import httpx

from quire_command.service import AsJson, Key, Url, opened, refuse_problem, show

CALLS = {"context": "GET context", "append": "append", "sync": "sync", "proxy": "proxy"}
SIGNS = {"came_in": "+", "went_out": "-", "changed": "~"}


@click.command()
@click.argument("conversation")
@click.argument("number", type=click.IntRange(min=1), required=False)
@AsJson
@Url
@Key
def replay(conversation: str, number: int | None, url: str, api_key: str | None, *, as_json: bool) -> None:
    """Show window NUMBER that was served of CONVERSATION; by default the last one."""
    path = f"/conversations/{quote(conversation, safe='')}/windows"
    with opened(url, api_key) as client:
        if number is None:
            newest = _read(client, path, limit=1)["items"]
            if not newest:
                raise click.ClickException("No window of this conversation was served yet.")
            number = int(newest[0]["id"])
        window = _read(client, f"{path}/{number}")
        change = _read(client, f"{path}/{number}/diff")
    show(window, [*_facts(window), *_changes(change), "", *shown_messages(window)], as_json=as_json)


def _read(client: httpx.Client, path: str, **params: Any) -> dict[str, Any]:
    answer = client.get(path, params=params)
    refuse_problem(answer)
    found: dict[str, Any] = answer.json()
    return found


def _facts(window: Mapping[str, Any]) -> Iterator[str]:
    record = window["record"]
    times = f", {record['count']} times" if record["count"] > 1 else ""
    yield f"Window {record['id']} of {window['conversation_id']}, served {record['last_served_at']}{times}"
    told = [CALLS[record["call"]], record["format"], f"budget {record['budget']:,}", f"{record['total']:,} tokens"]
    told += [f"model {record['model']}"] if record["model"] else []
    told += [f"query {record['query']!r}"] if record["query"] else []
    yield "; ".join(told)
    if window["verified"]:
        yield f"Byte for byte what was served (receipt {record['root']})."
        return
    erased = window["erased"]
    gone = [f"message {seq}" for seq in erased["messages"]] + list(erased["parts"])
    yield f"No longer what was served. Erased since: {', '.join(gone) or 'unknown'}."


def _changes(change: Mapping[str, Any]) -> Iterator[str]:
    if change["from"] is None:
        return
    yield f"Since window {change['from']}:"
    for name, sign in SIGNS.items():
        for run in change[name]:
            first, last = run["first_seq"], run["last_seq"]
            place = f"message {first}" if first == last else f"messages {first}–{last}"
            yield f"  {sign} {place}, {run['form']}: {run['why']}"
    for part in change["parts"]:
        yield f"  ~ {part['part']}, {part['from_tokens']:,} to {part['to_tokens']:,} tokens: {part['why']}"
    for one in change["settings"]:
        yield f"  ~ {one['name']}: {one['from']} to {one['to']}"


def shown_messages(window: Mapping[str, Any]) -> Iterator[str]:
    """Yield a window's messages, each with its role."""
    if window["system"]:
        yield f"[system] {window['system']}"
    for message in window["messages"]:
        content = message.get("content")
        text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
        calls = [
            f"{call['function']['name']}({call['function']['arguments']})" for call in message.get("tool_calls", ())
        ]
        yield f"[{message['role']}] {' '.join([*([text] if content else []), *calls])}"

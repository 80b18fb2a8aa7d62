"""`quire window`, `quire why` and `quire search`: what a model would see now, and what is found."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

import click

from quire_command.replay import shown_messages
from quire_command.service import AsJson, Key, Url, opened, refuse_problem, show


@click.command()
@click.argument("conversation")
@click.option("--budget", default=8000, show_default=True, type=click.IntRange(min=1), help="Tokens of the window.")
@click.option("--query", help="Bring in what answers this.")
@AsJson
@Url
@Key
def window(conversation: str, budget: int, query: str | None, url: str, api_key: str | None, *, as_json: bool) -> None:
    """Show the window of CONVERSATION: its tokens by section, and its messages."""
    wanted = {"budget": budget, **({"query": query} if query else {})}
    found = _read(url, api_key, f"/conversations/{quote(conversation, safe='')}/context", wanted)
    show(found, _window(found), as_json=as_json)


def _window(found: Mapping[str, Any]) -> Iterator[str]:
    usage = found["usage"]
    yield f"{usage['total']:,} of {usage['budget']:,} tokens; the full history has {usage['full_history']:,}."
    yield ", ".join(f"{name} {tokens:,}" for name, tokens in usage["sections"].items() if tokens)
    yield from (f"warning: {one['detail']}" for one in found["warnings"])
    yield from ("", *shown_messages(found))


@click.command()
@click.argument("query")
@click.option("--user", "user_id", help="Whose memories and messages; the key's user if left out.")
@click.option("--conversation", "conversation_id", help="Only this conversation's.")
@click.option("--limit", default=10, show_default=True, type=click.IntRange(1, 100), help="Results.")
@AsJson
@Url
@Key
def search(query: str, url: str, api_key: str | None, *, as_json: bool, **given: Any) -> None:
    """Find what answers QUERY: its relevance, since when, where, and the text."""
    wanted = {"query": query, **{name: value for name, value in given.items() if value is not None}}
    found = _read(url, api_key, "/memories/search", wanted)
    show(found, list(map(_result, found["results"])) or ["Nothing was found."], as_json=as_json)


def _result(one: Mapping[str, Any]) -> str:
    where, text = one["conversation_id"] or one["memory_key"], " ".join(one["content_preview"].split())
    return f"{one['relevance_score']:.2f}  {one['created_at'][:10]}  {where}  {text}"


@click.command()
@click.argument("conversation")
@click.argument("seq", type=click.IntRange(min=1))
@click.option("--budget", type=click.IntRange(min=1), help="Tokens of the window; the conversation's own if left out.")
@AsJson
@Url
@Key
def why(conversation: str, seq: int, budget: int | None, url: str, api_key: str | None, *, as_json: bool) -> None:
    """Tell where message SEQ of CONVERSATION is in the window, what would bring it back, and what that costs."""
    wanted = {"seq": seq, **({"budget": budget} if budget else {})}
    found = _read(url, api_key, f"/conversations/{quote(conversation, safe='')}/why", wanted)
    show(found, _place(found), as_json=as_json)


def _place(found: Mapping[str, Any]) -> Iterator[str]:
    about = f"{found['role']}, page {found['page']}"
    yield f"Message {found['seq']} ({about}), budget {found['budget']:,}: {found['place']}."
    yield found["detail"] if found["text"] == "stored" else f"{found['detail']} It was {found['text']}."
    if found["line"]:
        yield f"Its line: {found['line']['text']}"
    for one in found["recalls"]:
        given = ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in one["arguments"].items())
        part = "" if one["is_whole"] else ", a part of it"
        yield f"  {one['tool']}({given}): {one['tokens']:,} tokens{part}"
    if found["recalls"] and not found["offers_tools"]:
        yield "This budget is too small for the recall tools: the model cannot call them."


def _read(url: str, api_key: str | None, path: str, wanted: dict[str, Any]) -> Any:
    with opened(url, api_key) as client:
        answer = client.get(path, params=wanted)
    refuse_problem(answer)
    return answer.json()

"""`quire memories`: what a running service holds for a user or a space, and its proposals, over the HTTP API."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any
from uuid import UUID

import click
import httpx

from app.core.window.kept import Wish
from app.extractive.wishes import wish_of
from app.ui.shown import shown
from quire_command.service import AsJson, Key, Url, items, opened, refuse_problem, show

PAGE = 200


@click.group()
def memories() -> None:
    """List what is held for a user or a space, and accept or refuse proposals."""


@memories.command(name="list")
@click.option("--user", "user_id", help="Memories of this user and their spaces.")
@click.option("--space", "space_id", help="Memories of this space.")
@click.option("--proposed", is_flag=True, help="Only what waits for a decision.")
@AsJson
@Url
@Key
def list_memories(
    user_id: str | None, space_id: str | None, url: str, api_key: str | None, *, proposed: bool, as_json: bool
) -> None:
    """List memories, the newest first: id, status, scope, key (`*`: kept in view), since when, and the text."""
    wanted = {**_whose(user_id, space_id), "status": "proposed" if proposed else "held"}
    with opened(url, api_key) as client:
        found = list(items(client, "/memories", wanted))
    show(found, list(map(_line, found)) or ["There are none."], as_json=as_json)


def _whose(user_id: str | None, space_id: str | None) -> dict[str, str]:
    if user_id is None and space_id is None:
        raise click.UsageError("Name a --user or a --space.")
    whose = {"user_id": user_id, "scope": space_id and f"space:{space_id}", "limit": str(PAGE)}
    return {name: value for name, value in whose.items() if value is not None}


@memories.command()
@click.option("--user", "user_id", help="Answers about this user and their spaces.")
@click.option("--space", "space_id", help="Answers about this space.")
@AsJson
@Url
@Key
def answers(user_id: str | None, space_id: str | None, url: str, api_key: str | None, *, as_json: bool) -> None:
    """Count the proposals that people accepted and refused; with --json, print them as labelled sentences."""
    wanted = _whose(user_id, space_id)
    with opened(url, api_key) as client:
        found = [
            one for status in ("held", "refused") for one in items(client, "/memories", {**wanted, "status": status})
        ]
    told = [
        (one["content_preview"], one["metadata"])
        for one in found
        if one["source"] == "rule" and "answer" in one["metadata"]
    ]
    counts = Counter((why["head"], why["answer"]) for _, why in told)
    labelled = [{"text": text, "does": why["head"] if why["answer"] == "yes" else ""} for text, why in told]
    words = [f"{head}  {answer}: {count}" for (head, answer), count in sorted(counts.items())]
    show(labelled, words or ["There are none."], as_json=as_json)


def _line(one: Mapping[str, Any]) -> str:
    """Return a memory on a line, in which no text of it can steer a terminal."""
    key = f"{one['key'] or '-'}{'*' if one['pinned'] else ''}"
    parts = one["memory_key"], one["status"], one["scope"], key, one["valid_from"][:10], one["content_preview"]
    return shown("  ".join((*parts, *_why(one))))


def _why(one: Mapping[str, Any]) -> list[str]:
    """Return which head found a memory, and how certain it was."""
    why = one["metadata"] if one["source"] == "rule" else {}
    return [f"({why['head']} {why['certainty']})"] if "head" in why else []


@memories.command()
@click.argument("memory", metavar="ID", type=click.UUID)
@Url
@Key
def accept(memory: UUID, url: str, api_key: str | None) -> None:
    """Hold the proposal ID from now on."""
    _decide(memory, "held", url, api_key)


@memories.command()
@click.argument("memory", metavar="ID", type=click.UUID)
@Url
@Key
def refuse(memory: UUID, url: str, api_key: str | None) -> None:
    """Refuse the proposal ID for good."""
    _decide(memory, "refused", url, api_key)


@memories.command()
@click.option("--user", "user_id", required=True, help="Whose conversations are looked at.")
@click.option("--dry-run", is_flag=True, help="Only list what would be carried.")
@AsJson
@Url
@Key
def carry(user_id: str, url: str, api_key: str | None, *, dry_run: bool, as_json: bool) -> None:
    """Let wishes that hold in single conversations of a user follow them into every other one.

    They are those that the rules carry at once when they are said today, and that the user does not hold already.
    """
    with opened(url, api_key) as client:
        found = []
        for one, wish in _uncarried(client, user_id):
            if not dry_run:
                body = {"user_id": user_id, "content": wish.text, "key": wish.key, "pinned": True}
                refuse_problem(client.post("/memories", json={**body, "valid_from": one["valid_from"]}))
            found.append({**one, "scope": "user", "key": wish.key})
    show(found, list(map(_line, found)) or ["There are none."], as_json=as_json)


def _uncarried(client: httpx.Client, user_id: str) -> list[tuple[Mapping[str, Any], Wish]]:
    """Return the wishes of a user's conversations that could follow and do not, the oldest first."""
    whose = {"user_id": user_id}
    known = {one["content_preview"] for one in items(client, "/memories", {**whose, "scope": "user", "pinned": "true"})}
    found: dict[str, tuple[Mapping[str, Any], Wish]] = {}
    for conversation in items(client, "/conversations", whose):
        where = {"conversation_id": conversation["id"], "scope": "conversation", "pinned": "true"}
        for one in items(client, "/memories", where):
            wish = wish_of(one["content_preview"])
            if wish is not None and wish.reach == "user" and not wish.sensitive and not wish.ends:
                found[wish.text] = (one, wish)
    fresh = [pair for text, pair in found.items() if text not in known]
    return sorted(fresh, key=lambda pair: str(pair[0]["valid_from"]))


def _decide(memory: UUID, status: str, url: str, api_key: str | None) -> None:
    with opened(url, api_key) as client:
        answer = client.patch(f"/memories/{memory}", json={"status": status})
    refuse_problem(answer)
    click.echo(_line(answer.json()))

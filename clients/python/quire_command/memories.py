"""`quire memories`: what a running service holds for a user or a space, and its proposals, over the HTTP API."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any
from uuid import UUID

import click

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
    show(found, list(map(line_of, found)) or ["There are none."], as_json=as_json)


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


def line_of(one: Mapping[str, Any]) -> str:
    """Return a memory on a line, in which no text of it can steer a terminal."""
    key = f"{one['key'] or '-'}{'*' if one['pinned'] else ''}"
    parts = one["memory_key"], one["status"], one["scope"], key, one["valid_from"][:10], one["content_preview"]
    said = "  ".join((*parts, *_why(one)))
    return "".join(one if one.isprintable() else f"‹U+{ord(one):04X}›" for one in said)


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


def _decide(memory: UUID, status: str, url: str, api_key: str | None) -> None:
    with opened(url, api_key) as client:
        answer = client.patch(f"/memories/{memory}", json={"status": status})
    refuse_problem(answer)
    click.echo(line_of(answer.json()))

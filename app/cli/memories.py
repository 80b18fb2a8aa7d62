"""`quire memories`: what a running service holds for a user or a space, and its proposals, over the HTTP API."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID

import click
import httpx

from app.cli.transfer import Key, Url, opened, refuse_problem
from app.ui.shown import shown

PAGE = 200


@click.group()
def memories() -> None:
    """List what is held for a user or a space, and accept or refuse proposals."""


@memories.command(name="list")
@click.option("--user", "user_id", help="Memories of this user and their spaces.")
@click.option("--space", "space_id", help="Memories of this space.")
@click.option("--proposed", is_flag=True, help="Only what waits for a decision.")
@Url
@Key
def list_memories(user_id: str | None, space_id: str | None, url: str, api_key: str | None, *, proposed: bool) -> None:
    """List memories, the newest first: id, status, scope, key (`*`: kept in view), since when, and the text."""
    if user_id is None and space_id is None:
        raise click.UsageError("Name a --user or a --space.")
    wanted = {"status": "proposed" if proposed else "held", "limit": str(PAGE)}
    if user_id is not None:
        wanted["user_id"] = user_id
    if space_id is not None:
        wanted["scope"] = f"space:{space_id}"
    with opened(url, api_key) as client:
        lines = [_line(one) for one in _items(client, wanted)]
    click.echo("\n".join(lines) or "There are none.")


def _items(client: httpx.Client, wanted: Mapping[str, str]) -> Iterator[Mapping[str, Any]]:
    cursor = None
    while True:
        answer = client.get("/memories", params={**wanted, **({"cursor": cursor} if cursor else {})})
        refuse_problem(answer)
        page = answer.json()
        yield from page["items"]
        cursor = page["next_cursor"]
        if cursor is None:
            return


def _line(one: Mapping[str, Any]) -> str:
    """Return a memory on a line, in which no text of it can steer a terminal."""
    key = f"{one['key'] or '-'}{'*' if one['pinned'] else ''}"
    parts = one["memory_key"], one["status"], one["scope"], key, one["valid_from"][:10], one["content_preview"]
    return shown("  ".join(parts))


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
    click.echo(_line(answer.json()))

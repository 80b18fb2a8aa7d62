"""`quire memories carry`, beside the client's commands about memories: which wish would follow is the server's rule."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click
import httpx

from app.core.window.kept import Wish
from app.extractive.wishes import wish_of
from quire_command.memories import line_of, memories
from quire_command.service import AsJson, Key, Url, items, opened, refuse_problem, show

__all__ = ["memories"]


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
    show(found, list(map(line_of, found)) or ["There are none."], as_json=as_json)


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

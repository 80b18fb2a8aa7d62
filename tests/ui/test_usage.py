"""The page of what models were used for, and the list of people and spaces: who sees them, and what they lead to."""

from __future__ import annotations

from collections.abc import Callable

import asyncpg
import httpx

from app.postgres.tenants import DEFAULT_TENANT
from tests.api.kit import append, ok, user
from tests.ui.test_changes import ann, anns_url
from tests.ui.test_people import page

__all__ = ["ann", "anns_url"]

SPENT = f"""
INSERT INTO spending (tenant_id, {{whose}} day, kind, model, calls, prompt_tokens, saved_tokens, completion_tokens,
                      cached_tokens)
SELECT '{DEFAULT_TENANT}', {{value}} (now() AT TIME ZONE 'UTC')::date - n, 'proxy', 'big<b>', 2, 1000, 6000, 30, 250
  FROM unnest(ARRAY[0, 1, 90]) AS n
"""


def test_models_are_counted_by_day_model_and_user(
    client: httpx.Client, run_as_superuser: Callable[[str], list[asyncpg.Record]]
) -> None:
    assert not page(client, "/ui/usage").all("table")
    append(client, "c", [user("Hello.")], user_id="ann")
    run_as_superuser(SPENT.format(whose="", value=""))
    run_as_superuser(SPENT.format(whose="conversation_id,", value="'c',"))
    chinese = page(client, "/ui/usage", "zh").all("table")
    assert [table.one("caption").words for table in chinese] == ["按天", "按模型", "花费最多的会话", "按用户"]
    by_day, by_model, by_cost, by_user = page(client, "/ui/usage").all("table")
    assert len(by_day.one("tbody").all("tr")) == 2, "two of the last thirty days"
    for table, name in ((by_model, "big<b>"), (by_cost, "c"), (by_user, "ann")):
        [row] = table.one("tbody").all("tr")
        assert row.one("th").words == name
        assert [cell.words for cell in row.all("td")] == ["4", "2,000", "12,000", "25 %", "60", "–", "–"]


def test_people_and_spaces_lead_to_what_is_kept_in_mind_of_them(client: httpx.Client) -> None:
    for name in ("ann", "bob/<b>"):
        append(client, f"of-{name[:3]}", [user("Hello.")], user_id=name)
    ok(client.post("/spaces", json={"id": "team", "name": "The team"}), 201)
    found = page(client, "/ui/people")
    assert {one.words for one in found.one("section", id="users").all("a")} == {"ann", "bob/<b>"}
    assert [one.words for one in found.one("section", id="spaces").all("a")] == ["The team"]
    for link in found.one("section", id="users").all("a") + found.one("section", id="spaces").all("a"):
        assert client.get(str(link.attributes["href"])).status_code == 200


def test_a_key_of_one_user_sees_that_user_and_no_usage(ann: httpx.Client) -> None:
    found = page(ann, "/ui/people")
    assert [one.words for one in found.one("section", id="users").all("a")] == ["ann"]
    assert "usage" not in found.one("nav", **{"aria-label": "Main"}).words.lower()
    assert ann.get("/ui/usage").status_code == 403

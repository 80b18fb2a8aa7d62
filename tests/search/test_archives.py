"""Passages of an archive are found by their meaning, and by words alone where no model answers."""

import httpx
import pytest

from app.postgres.tenants import DEFAULT_TENANT
from app.runtime import Runtime
from app.services.tools import tool_calls
from tests.api.kit import call, result, user
from tests.archive.made import archived, load_tool, loaded
from tests.archive.made import made as text_of
from tests.conftest import wait_for
from tests.providers.fake_openai import FakeOpenAI, status
from tests.search.conftest import Sql
from tests.search.kit import Meanings, drain, say

NEEDLE = "The physician of the crew is Marta Oja."


def with_needle() -> str:
    text = text_of("prose", "en", 20_000)
    at = text.index("\n", 10_000) + 1
    return f"{text[:at]}{f'{NEEDLE} ' * 40}\n{text[at:]}"


async def asked(made: Runtime, uuid: str, query: str) -> str:
    call = tool_calls.checked("load_tool_history", {"uuid": uuid, "query": query, "max_tokens": 600})
    asking = await tool_calls.asker(made, DEFAULT_TENANT, None, "c")
    return (await tool_calls.run(made, DEFAULT_TENANT, asking, call)).content


@pytest.mark.anyio
async def test_a_passage_is_found_by_another_word_for_it(made: Runtime, meanings: Meanings) -> None:
    await say(made, "c", [user("Who is aboard?"), call("a"), result("a", with_needle())])
    await drain(made)
    async with made.database.snapshot(DEFAULT_TENANT) as connection:
        uuid = str(await connection.fetchval("SELECT id FROM archives WHERE tenant_id = $1", DEFAULT_TENANT))
    assert NEEDLE in await asked(made, uuid, "doctor")
    closest = await asked(made, uuid, "zebra quantum")
    assert closest.count("\n[") == 1, "one passage, though none is relevant"
    meanings.is_down = True
    without = await asked(made, uuid, "which doctor")
    assert "No passage matches" in without
    assert "by keyword alone" in without
    assert NEEDLE in await asked(made, uuid, "the physician of the crew")


def test_passages_are_found_by_keyword_if_the_model_fails(
    client: httpx.Client, models: FakeOpenAI, run_as_superuser: Sql
) -> None:
    uuid = archived(client, "c", 1, with_needle())
    wait_for(lambda: run_as_superuser("SELECT count(*) FROM unembedded")[0][0] == 0)
    found = loaded(client, uuid, query="who is the physician of the crew")
    assert (found["mode"], found["warnings"]) == ("hybrid", [])
    models.embeddings.default = status(400)
    found = loaded(client, uuid, query="Marta the physician")
    assert found["mode"] == "keyword"
    assert [warning["code"] for warning in found["warnings"]] == ["semantic_unavailable"]
    assert any(NEEDLE in passage["text"] for passage in found["passages"])
    said = load_tool(client, "c", uuid=uuid, query="the crew's physician, Marta")["content"]
    assert NEEDLE in said
    assert "relevant passages (by keyword alone)" in said
    shown = client.get("/conversations/c/context", params={"query": "physician Oja", "load": uuid, "budget": 16_000})
    assert NEEDLE in shown.text
    assert "semantic_unavailable" in shown.text

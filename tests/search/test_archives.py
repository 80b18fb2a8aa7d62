"""Passages of an archive are found by their meaning, and by words alone where no model answers."""

import httpx
import pytest

from app.postgres.tenants import DEFAULT_TENANT
from app.runtime import Runtime
from app.services.memory import searching
from app.services.memory.searching import SearchRequest
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
    return (await tool_calls.run(asking, call)).content


@pytest.mark.anyio
async def test_a_passage_is_found_by_another_word_for_it(made: Runtime, meanings: Meanings) -> None:
    await say(made, "c", [user("Who is aboard?"), call("a"), result("a", with_needle())])
    await drain(made)
    async with made.database.snapshot(DEFAULT_TENANT) as tx:
        uuid = str(await tx.fetchval("SELECT id FROM archives WHERE tenant_id = $1"))
    assert NEEDLE in await asked(made, uuid, "doctor")
    closest = await asked(made, uuid, "zebra quantum")
    assert "\n[" in closest, "the closest, though none is relevant"
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
    assert "by keyword alone" in shown.text


@pytest.mark.anyio
async def test_a_log_that_has_the_words_everywhere_leaves_room_for_others(made: Runtime) -> None:
    log = "\n".join(f"04:{at % 60:02}:10,CB30-0087,CB30-0091,{at},mission accepted" for at in range(400))
    status = "fjordlys: CB30-0087 docked, CB30-0091 on its way"
    await say(made, "c", [user("How is the fleet?"), call("a"), result("a", log), user(status)])
    await drain(made)
    request = SearchRequest("CB30-0087 CB30-0091", conversation_id="c", mode="keyword")
    hits = (await searching.search(made, DEFAULT_TENANT, request)).hits
    assert sum(one.hit.archive_id is not None for one in hits) == 3
    assert status in [one.text for one in hits]
    async with made.database.snapshot(DEFAULT_TENANT) as tx:
        uuid = str(await tx.fetchval("SELECT id FROM archives WHERE tenant_id = $1"))
    wanted = tool_calls.checked("load_tool_history", {"uuid": uuid, "query": request.query, "max_tokens": 4_000})
    asking = await tool_calls.asker(made, DEFAULT_TENANT, None, "c")
    content = (await tool_calls.run(asking, wanted)).content
    assert content.count("mission accepted") > 100, "more than three passages"

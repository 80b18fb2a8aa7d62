"""Types, roles, topics and metadata narrow searches, recall and a window's query, and never widen them."""

import asyncio

import asyncpg
import httpx
import pytest

from app.core.search.narrowing import EVERYTHING, Narrowing
from app.postgres.embedded import EmbeddedPostgres
from tests.api.kit import Json, append, assistant, call, ok, problem, result, text_of, turn, user, window
from tests.tools.kit import refused, said


@pytest.fixture
def seeded(client: httpx.Client) -> httpx.Client:
    """Store a conversation about a ferry, one about a project, memories with metadata, and the same for Bob."""
    talk = [
        user("Which ferry goes to Porto?"),
        call("a"),
        result("a", "Ferry timetable: nine o'clock."),
        assistant("The nine o'clock ferry."),
    ]
    append(client, "talk", talk)
    ok(client.post("/conversations", json={"id": "work", "user_id": "u", "metadata": {"project": "harbour"}}), 201)
    append(client, "work", [user("The ferry contract is signed."), assistant("Good news about the ferry.")])
    for name, metadata in (("u", {"project": "harbour", "n": {"a": 1}}), ("u", {}), ("bob", {"project": "harbour"})):
        memory = {"user_id": name, "content": f"A ferry of {metadata}.", "memory_type": "fact", "metadata": metadata}
        ok(client.post("/memories", json={**memory, "keywords": ["Boats"] if metadata else []}), 201)
    return client


def found(client: httpx.Client, **body: object) -> list[str]:
    answer = ok(client.post("/memories/search", json={"user_id": "u", "query": "ferry", **body}))
    return sorted(hit["content_preview"].replace("**", "") for hit in answer["results"])


def test_roles_tell_who_said_it(seeded: httpx.Client) -> None:
    assert found(seeded, roles=["tool"]) == ["Ferry timetable: nine o'clock."]
    assert found(seeded, roles=["user"]) == ["The ferry contract is signed.", "Which ferry goes to Porto?"]
    assert len(found(seeded, roles=["user", "assistant"])) == 4
    assert len(found(seeded)) == 7
    query: Json = {"user_id": "u", "query": "ferry", "roles": ["tool"]}
    assert len(ok(seeded.get("/memories/search", params=query))["results"]) == 1
    text = said(seeded, "talk", "search_memories", query="ferry", roles=["tool"])
    assert "timetable" in text
    assert "contract" not in text
    assert "one of user" in refused(seeded, "talk", "search_memories", query="ferry", roles=["captain"])


def test_what_a_machine_says_in_the_users_role_is_no_users(seeded: httpx.Client) -> None:
    machine = user("[read_file for 'ferry.md'] Result:\n\nThe ferry sinks at noon.")
    append(seeded, "machine", [user("Read the file."), machine], user_id="u")
    assert not any("sinks" in text for text in found(seeded, roles=["user"]))
    assert any("sinks" in text for text in found(seeded, roles=["tool"]))


def test_metadata_is_that_of_a_memory_or_its_conversation(seeded: httpx.Client) -> None:
    assert len(found(seeded, metadata={"project": "harbour"})) == 3
    assert len(found(seeded, metadata={"n": {"a": 1}})) == 1
    assert found(seeded, metadata={"project": "harbour"}, roles=["user"]) == ["The ferry contract is signed."]
    for nothing in ({"project": "other"}, {"project": ["harbour"]}, {"'; --": None}, {"project": None}):
        assert found(seeded, metadata=nothing) == []
    assert len(found(seeded, metadata={})) == 7


def test_topics_are_those_of_pages_or_keywords_of_memories(seeded: httpx.Client, postgres: EmbeddedPostgres) -> None:
    assert len(found(seeded, topics=["boats"])) == 1
    assert found(seeded, topics=["nothing"]) == []
    asyncio.run(index(postgres))
    assert found(seeded, topics=["SHIPPING"]) == ["Good news about the ferry.", "The ferry contract is signed."]
    assert len(found(seeded, topics=["shipping", "boats"])) == 3
    assert "contract" in said(seeded, "talk", "search_memories", query="ferry", topics=["Shipping"])


async def index(postgres: EmbeddedPostgres) -> None:
    """Give the page of `work` a topic, as the job does."""
    connection = await asyncpg.connect(postgres.superuser_dsn)
    await connection.execute(
        "INSERT INTO page_index (tenant_id, conversation_id, page, source, topics)"
        " SELECT tenant_id, id, 1, 'extractive', '{Shipping}' FROM conversations WHERE id = 'work'"
    )
    await connection.close()


def test_the_recall_agent_and_a_windows_query_are_narrowed_too(seeded: httpx.Client) -> None:
    body: Json = {"user_id": "u", "query": "ferry", "metadata": {"project": "harbour"}, "roles": ["user"]}
    summary = ok(seeded.post("/memories/recall", json=body))["search_summary"]
    assert "contract" in summary
    assert "Porto" not in summary
    for number in range(12):
        append(seeded, "talk", turn(number, words=200))
    asked: Json = {"query": "Has the ferry contract been signed?", "budget": 3000}
    assert "contract is signed" in text_of(ok(seeded.post("/conversations/talk/context", json=asked))["messages"][-1])
    for some in ({"roles": ["tool"]}, {"memory_types": ["fact"]}):
        narrowed = ok(seeded.post("/conversations/talk/context", json={**asked, "recall_filter": some}))
        assert "contract is signed" not in text_of(narrowed["messages"][-1])
    facts = ok(seeded.post("/memories/recall", json={"user_id": "u", "query": "ferry", "memory_types": ["fact"]}))
    assert "of {'project': 'harbour'" in facts["search_summary"]
    assert "contract" not in facts["search_summary"]
    assert window(seeded, "talk", budget=3000)["usage"]["total"] <= 3000


def test_what_a_caller_and_a_model_ask_for_passes_if_both_do() -> None:
    facts = Narrowing(types=("fact", "general"))
    assert facts.types_of(["episode", "fact"]) == ["fact"]
    assert facts.types_of(["episode"]) == []
    assert facts.types_of([]) == ("fact", "general")
    assert EVERYTHING.types_of(["episode"]) == ["episode"]
    assert EVERYTHING.types_of([]) is None


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ({"roles": ["captain"]}, "roles"), ({"roles": "user"}, "roles"), ({"topics": ["x"] * 21}, "topics"),
        ({"topics": [""]}, "topics"), ({"topics": ["a\x00"]}, "topics"), ({"metadata": ["a"]}, "metadata"),
        ({"metadata": {"a": "\x00"}}, "metadata"), ({"metadata": {"a": "x" * 20_000}}, "metadata"),
        ({"memory_types": ["dream"]}, "memory_types"),
    ],
)  # fmt: skip
def test_what_narrows_to_nothing_sensible_is_a_clear_problem(seeded: httpx.Client, body: Json, name: str) -> None:
    asked = {"user_id": "u", "query": "ferry", **body}
    problem(seeded.post("/memories/search", json=asked), 422, name)
    problem(seeded.post("/memories/recall", json=asked), 422, name)
    problem(seeded.post("/conversations/talk/context", json={"query": "ferry", "recall_filter": body}), 422, name)

"""The results that a query adds to a window: only answers, from which conversations, and how many."""

import httpx
import pytest

from tests.api.kit import Json, append, assistant, call, created, ok, path, problem, result, text_of, user, window
from tests.by_turns import few

FACT = "My favourite tea is longjing."
QUESTION = "Which tea is my favourite?"
SMALL_TALK = [
    "thanks", "谢谢", "Sounds good, go ahead.", "好的,请继续", "ok", "你好", "?!", " ",
    "What now?", "and now?", "What did we talk about?", "那现在呢?",
]  # fmt: skip


def tail(client: httpx.Client, conversation: str, query: str, **asked: object) -> str:
    """Return the tail that a query adds; "" if it adds nothing."""
    found = window(client, conversation, budget=8000, query=query, **asked)
    last = text_of(found["messages"][-1])
    brought = last if found["usage"]["sections"]["tail"] else ""
    plain = window(client, conversation, budget=8000)
    assert found["messages"][: plain["stable_messages"]] == plain["messages"][: plain["stable_messages"]]
    return brought


@pytest.fixture
def seeded(client: httpx.Client) -> httpx.Client:
    """Store an earlier conversation and a new one of a user."""
    append(client, "old", [user(FACT), assistant("Noted: longjing, thanks for telling me.")], user_id="u")
    for number in range(30):
        late = f"Chapter {number} of the harbour report is late" + ", and so is its appendix of tables" * 5
        said = [user(f"{late}."), assistant(f"Chapter {number} can wait.")]
        append(client, "old", said)
    append(client, "new", [user("Hello there.")], user_id="u")
    return client


def test_a_question_brings_in_what_answers_it(seeded: httpx.Client) -> None:
    assert FACT in tail(seeded, "new", QUESTION)


@pytest.mark.parametrize("query", few(SMALL_TALK, 4))
def test_small_talk_recalls_nothing(seeded: httpx.Client, query: str) -> None:
    assert tail(seeded, "new", query) == ""


@pytest.mark.parametrize(
    "query", ["How many moons does Neptune have?", "氮气的沸点是多少?", "Prove Fermat's little theorem."]
)
def test_an_unanswerable_query_recalls_nothing(seeded: httpx.Client, query: str) -> None:
    assert tail(seeded, "new", query) == ""


def test_what_was_said_before_in_the_same_words_is_no_evidence(seeded: httpx.Client) -> None:
    said = "Rename the glacier chart to walnut."
    for conversation in ("retried", "new"):
        append(seeded, conversation, [user(said)], user_id="u")
    assert tail(seeded, "new", said) == ""
    append(seeded, "old", [user("The glacier chart is called walnut 2.")])
    assert "walnut 2" in tail(seeded, "new", said)


def test_a_conversation_can_be_kept_to_itself(seeded: httpx.Client) -> None:
    assert tail(seeded, "new", QUESTION, recall_scope="conversation") == ""
    ok(seeded.patch(path("new"), json={"settings": {"recall_scope": "conversation"}}))
    assert tail(seeded, "new", QUESTION) == ""
    assert FACT in tail(seeded, "new", QUESTION, recall_scope="user"), "a request has precedence"
    arguments = {"arguments": {"query": QUESTION}}
    for tool in ("search_memories", "recall_memory"):
        said = ok(seeded.post(path("new", "tools", tool), json=arguments))["content"]
        assert "longjing" not in said
    assert "longjing" in ok(seeded.post(path("old", "tools", "recall_memory"), json=arguments))["content"]


def test_a_cap_holds_and_keeps_the_layout_of_windows_without_a_query(seeded: httpx.Client) -> None:
    plain = window(seeded, "old", budget=1500)
    asked = {"budget": 1500, "query": "Which chapters of the harbour report are late?"}
    capped = window(seeded, "old", recall_max_tokens=120, **asked)
    assert 0 < capped["usage"]["sections"]["tail"] <= 120 + 40
    assert capped["messages"][: plain["stable_messages"]] == plain["messages"][: plain["stable_messages"]]
    assert (capped["epoch"], capped["prefix_hash"]) == (plain["epoch"], plain["prefix_hash"])
    assert window(seeded, "old", **asked)["usage"]["sections"]["tail"] > capped["usage"]["sections"]["tail"]


def test_several_passages_of_one_message_are_recalled(client: httpx.Client) -> None:
    filler = "\n".join(f"row {n} nothing of note in this ledger" for n in range(60))
    log = f"vault code alpha is QX7\n{filler}\nvault code beta is RT9\n{filler}\nvault code gamma is ZP4"
    append(client, "c", [user("Read it."), call("a"), result("a", log), assistant("Done.")], user_id="u")
    append(client, "d", [user("Hello.")], user_id="u")
    brought = tail(client, "d", "What are the vault codes alpha and gamma?")
    assert all(code in brought for code in ("QX7", "ZP4"))


@pytest.mark.parametrize("asked", [{"recall_scope": "tenant"}, {"recall_max_tokens": 0}, {"recall_max_tokens": 10**20}])
def test_invalid_values_are_rejected_by_name(seeded: httpx.Client, asked: Json) -> None:
    [name] = asked
    problem(seeded.get(path("new", "context"), params=asked), 422, name)
    problem(seeded.post(path("new", "context"), json=asked), 422, name)
    if name == "recall_scope":
        problem(seeded.patch(path("new"), json={"settings": asked}), 422, name)
        problem(seeded.post("/conversations", json={"id": "x", "settings": asked}), 422, name)
    assert "recall_scope" not in created(seeded, id="y")["settings"]


@pytest.mark.parametrize("name", ["search_memories", "mcp__quire__recall_memory"])
def test_a_recall_call_is_never_a_result(client: httpx.Client, name: str) -> None:
    """Neither the call of a recall tool nor its result is found, but the agent's text beside the call is."""
    asked = call("a", name=name, arguments='{"query": "zanzibar cloves"}')
    append(client, "c", [user("Well?"), asked, result("a", "<quire-memories>zanzibar</quire-memories>")], user_id="u")
    said = {**call("b", name=name, arguments='{"query": "zanzibar"}'), "content": "The ferry leaves at nine."}
    append(client, "c", [assistant("I looked."), user("And?"), said, result("b", "nothing")], user_id="u")
    found = ok(client.post("/memories/search", json={"user_id": "u", "query": "zanzibar cloves"}))
    assert found["results"] == []
    [ferry] = ok(client.post("/memories/search", json={"user_id": "u", "query": "ferry nine"}))["results"]
    assert ferry["content_preview"].startswith("The **ferry** leaves at nine.") or "ferry" in ferry["content_preview"]


def test_a_page_that_is_named_and_found_is_shown_once(seeded: httpx.Client) -> None:
    asked = {"budget": 2000, "query": QUESTION}
    assert text_of(window(seeded, "old", **asked)["messages"][-1]).count(FACT) == 1
    assert text_of(window(seeded, "old", pages=1, **asked)["messages"][-1]).count(FACT) == 1


def test_an_archive_that_is_named_and_found_is_shown_once(client: httpx.Client) -> None:
    rows = [f"row {n} nothing of note in this ledger" for n in range(600)]
    log = "\n".join([*rows[:400], "The vault code is QX7.", *rows[400:]])
    stored = append(client, "c", [user("Read it."), call("a"), result("a", log), assistant("Done.")], user_id="u")
    [uuid] = [one["archive_id"] for one in stored["messages"] if one["archive_id"]]
    append(client, "d", [user("Hello.")], user_id="u")
    asked = {"budget": 8000, "query": "What is the vault code?"}
    assert text_of(window(client, "d", **asked)["messages"][-1]).count("code is QX7") == 1
    assert text_of(window(client, "d", load=uuid, **asked)["messages"][-1]).count("code is QX7") == 1


def test_a_page_that_does_not_fit_leaves_the_query_its_room(client: httpx.Client) -> None:
    append(client, "c", [user("A ledger. " + "One row of it is about nothing at all. " * 400), user(FACT)], user_id="u")
    append(client, "c", [user(f"Chapter {n} of the harbour report is late." * 9) for n in range(30)])
    found = window(client, "c", budget=2000, query=QUESTION, pages=1)
    assert "tail_cut" in [warning["code"] for warning in found["warnings"]]
    assert FACT in text_of(found["messages"][-1])


def test_a_search_says_who_said_it(client: httpx.Client) -> None:
    log = "The vault code is QX7.\n" + "\n".join(f"row {n} nothing of note in this ledger" for n in range(600))
    said = [user("Read the vault log."), call("a"), result("a", log), assistant("The vault is open.")]
    append(client, "c", said, user_id="u")
    ok(client.post("/memories", json={"user_id": "u", "content": "The vault is in the cellar."}), 201)
    found = ok(client.post("/memories/search", json={"user_id": "u", "query": "vault", "min_relevance_score": 0}))
    roles = {(one["memory_type"], one["role"]) for one in found["results"]}
    assert roles >= {("episode", "user"), ("episode", "assistant"), ("passage", "tool"), ("general", None)}
    assert all(ok(client.get(f"/memories/{one['memory_key']}"))["role"] == one["role"] for one in found["results"])

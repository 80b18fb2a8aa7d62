"""What can be asked of a window: budget, model, format, system and tools of the caller's own, a tail, an ETag."""

from typing import Any

import httpx
import pytest

from tests.api.kit import (
    Json,
    append,
    assistant,
    call,
    canonical,
    created,
    ok,
    path,
    problem,
    result,
    system,
    text_of,
    turn,
    user,
    window,
)
from tests.by_turns import few

BIG = "The warehouse in Rotterdam has confirmed the contract once more. " * 450
CALLERS_TOOL = {"type": "function", "function": {"name": "weather", "description": "d", "parameters": {}}}


@pytest.fixture
def seeded(client: httpx.Client) -> httpx.Client:
    """Thirty turns, the first with an archived result."""
    sent = [system("Be kind."), user("look it up"), call("a", name="search"), result("a", BIG), assistant("done")]
    append(client, "c", [*sent, *(m for number in range(2, 31) for m in turn(number))])
    return client


def test_an_answer_has_all_its_members(seeded: httpx.Client) -> None:
    found = window(seeded, "c", budget=4000)
    assert found.keys() >= {
        "conversation_id", "format", "messages", "system", "tools", "usage", "epoch", "prefix_hash",
        "stable_messages", "stable_tokens", "pages", "archive_refs", "lag", "warnings",
    }  # fmt: skip
    assert found["messages"][0]["role"] == "system"
    assert found["messages"][0]["content"].startswith("Be kind.")
    assert found["lag"]["last_page"] == 30
    assert found["usage"]["full_history"] > 7000
    assert [t["function"]["name"] for t in found["tools"]] == ["recall_page", "load_tool_history", "search_memories"]


def test_anthropic_form_has_a_separate_system_and_breakpoints(seeded: httpx.Client) -> None:
    found = window(seeded, "c", budget=2500, format="anthropic")
    assert found["system"].startswith("Be kind.")
    assert [t["name"] for t in found["tools"]] == ["recall_page", "load_tool_history", "search_memories"]
    assert found["tools"][-1]["cache_control"] == {"type": "ephemeral"}
    assert "cache_control" in found["messages"][0]["content"][-1]


def test_the_same_window_has_the_same_etag_and_need_not_be_sent_again(seeded: httpx.Client) -> None:
    first = seeded.get(path("c", "context"), params={"budget": 4000})
    tag = first.headers["etag"]
    for sent in (tag, f"W/{tag}", f'"x", {tag}', "*"):
        again = seeded.get(path("c", "context"), params={"budget": 4000}, headers={"If-None-Match": sent})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
    append(seeded, "c", [user("more")])
    changed = seeded.get(path("c", "context"), params={"budget": 4000}, headers={"If-None-Match": tag})
    assert changed.status_code == 200
    assert changed.headers["etag"] != tag


def test_an_append_can_return_the_next_window(seeded: httpx.Client) -> None:
    where = path("c", "messages") + "?include=context&budget=4000&format=anthropic"
    stored = ok(seeded.post(where, json={"messages": turn(31)}), 201)
    assert stored["context"] == window(seeded, "c", budget=4000, format="anthropic")
    assert "context" not in append(seeded, "c", turn(32))


def test_an_append_that_is_stored_does_not_fail_for_the_sake_of_its_window(seeded: httpx.Client) -> None:
    stored = ok(seeded.post(path("c", "messages") + "?include=context&budget=5", json={"messages": turn(31)}), 201)
    assert stored["context"] is None
    assert stored["context_error"]["minimum_budget"] > 5
    assert ok(seeded.get(path("c")))["pages"] == 31
    for query in (
        "include=context&budget=0",
        "include=context&model=nope",
        "include=window",
        "include=context&format=x",
    ):
        problem(seeded.post(f"{path('c', 'messages')}?{query}", json={"messages": turn(32)}), 422)
    assert ok(seeded.get(path("c")))["pages"] == 31


@pytest.mark.parametrize("form", ["openai", "anthropic"])
def test_the_tail_shows_archives_and_pages_and_leaves_the_rest_as_it_was(seeded: httpx.Client, form: str) -> None:
    plain = window(seeded, "c", budget=8000, model="gpt-4o", format=form)
    [uuid] = {m["archive_id"] for m in ok(seeded.get(path("c", "messages")))["items"]} - {None}
    found = window(seeded, "c", budget=8000, model="gpt-4o", format=form, pages="2,3", load=uuid)
    assert window(seeded, "c", budget=8000, model="gpt-4o", format=form, pages=["2", "3"], load=[uuid, uuid]) == found
    stable = plain["stable_messages"]
    assert found["stable_messages"] == stable
    assert canonical(found["messages"][:stable]) == canonical(plain["messages"][:stable])
    tail = text_of(found["messages"][-1])
    assert uuid in tail
    assert BIG[:500] in tail
    assert "question 2 why" in tail
    assert found["usage"]["sections"]["tail"] > 1000
    assert found["usage"]["total"] <= 8000
    assert uuid in found["archive_refs"]
    assert found["prefix_hash"] == plain["prefix_hash"]
    assert window(seeded, "c", budget=8000, model="gpt-4o", format=form) == plain


def test_a_warning_names_what_the_tail_cannot_show(seeded: httpx.Client) -> None:
    append(seeded, "d", [user(), call("x"), result("x", "z" * 20_000)], user_id="somebody else")
    stranger = ok(seeded.get(path("d", "messages")))["items"][2]["archive_id"]
    nobody = "00000000-0000-7000-8000-00000000dead"
    found = window(seeded, "c", budget=4000, load=f"{stranger},{nobody}", pages="31,2147483647")
    assert [w["code"] for w in found["warnings"]].count("archive_not_found") == 2
    assert [w["code"] for w in found["warnings"]].count("page_not_found") == 2
    assert "zzz" not in str(found)
    full = window(seeded, "c", budget=2000, pages=",".join(map(str, range(1, 21))))
    assert "tail_cut" in [w["code"] for w in full["warnings"]]
    assert full["usage"]["total"] <= 1800


def test_the_callers_system_and_tools_are_counted_and_returned(seeded: httpx.Client) -> None:
    plain = window(seeded, "c", budget=8000)
    body: Json = {"budget": 8000, "system": "Speak like a pirate. " * 50, "tools": [CALLERS_TOOL]}
    found = ok(seeded.post(path("c", "context"), json=body))
    assert found["tools"][0] == CALLERS_TOOL
    assert found["messages"][0]["content"].startswith("Speak like a pirate.")
    assert "Be kind." not in found["messages"][0]["content"]
    for section in ("system", "tools"):
        assert found["usage"]["sections"][section] > plain["usage"]["sections"][section]
    assert found["usage"]["total"] <= 7200
    assert ok(seeded.post(path("c", "context"), json={"budget": 8000})) == plain
    everything = {"budget": 8000, "model": "gpt-4o", "query": "q", "load": [], "pages": [2], "format": "openai"}
    assert ok(seeded.post(path("c", "context"), json=everything)) == window(
        seeded, "c", budget=8000, model="gpt-4o", pages="2", query="q"
    )


def test_the_budget_is_the_requests_or_the_conversations_or_the_models(client: httpx.Client) -> None:
    append(client, "c", turn(1))
    assert window(client, "c", budget=5000)["usage"]["budget"] == 5000
    assert window(client, "c", model="gpt-4")["usage"]["budget"] == 8192 - 4096
    assert window(client, "c", model="openai/gpt-4o-mini", budget=3000)["usage"]["budget"] == 3000
    assert window(client, "c")["usage"]["budget"] == 128_000 - 4096
    ok(client.patch(path("c"), json={"budget": 7000}))
    assert window(client, "c")["usage"]["budget"] == 7000
    ok(client.patch(path("c"), json={"budget": None, "model": "claude-sonnet"}))
    assert window(client, "c")["usage"]["budget"] == 200_000 - 4096


def test_a_model_that_is_not_known_needs_a_budget(client: httpx.Client) -> None:
    append(client, "c", turn(1))
    problem(client.get(path("c", "context"), params={"model": "nope"}), 422, "model", "budget")
    problem(client.post(path("c", "context"), json={"model": "nope"}), 422, "model")
    warned = window(client, "c", model="nope", budget=4000)["warnings"]
    assert [w["code"] for w in warned] == ["unknown_model"]
    ok(client.patch(path("c"), json={"model": "nope", "budget": 4000}))
    append(client, "c", [assistant()], reported_usage={"window_tokens": 1000, "prompt_tokens": 1100})
    assert not window(client, "c")["warnings"]


BUDGETS = ["0", "-1", "-0", str(10**20), "10000001", "٣", "1e3", "4000.5", " ", "", "0x10", "NaN", "true"]


@pytest.mark.parametrize("budget", BUDGETS)
def test_an_invalid_budget_is_rejected(client: httpx.Client, budget: str) -> None:
    append(client, "c", turn(1))
    problem(client.get(path("c", "context"), params={"budget": budget}), 422, "budget")
    problem(client.post(path("c", "messages"), params={"budget": budget}, json={"messages": turn(2)}), 422, "budget")


@pytest.mark.parametrize("budget", [0, -1, 10**20, "4000", 4000.0, True, [1]])
def test_an_invalid_budget_in_a_body_is_rejected(client: httpx.Client, budget: Any) -> None:
    append(client, "c", turn(1))
    for body in ({"budget": budget}, {"budget": budget, "format": "anthropic"}):
        problem(client.post(path("c", "context"), json=body), 422, "budget")
    problem(client.post("/conversations", json={"budget": budget}), 422, "budget")
    problem(client.patch(path("c"), json={"budget": budget}), 422, "budget")


@pytest.mark.parametrize("form", ["openai", "anthropic"])
def test_a_budget_that_is_too_small_says_the_smallest_that_works(seeded: httpx.Client, form: str) -> None:
    append(seeded, "c", [user("a long question " * 300)])
    for extra in ({}, {"system": "Be terse. " * 40, "tools": [CALLERS_TOOL]}):
        body = {"format": form, "budget": 1, **extra}
        answer = problem(
            seeded.post(path("c", "context"), json=body),
            422,
            str(seeded.post(path("c", "context"), json=body).json()["minimum_budget"]),
        )
        assert answer["type"] == "urn:quire:problem:budget-too-small"
        smallest = answer["minimum_budget"]
        found = ok(seeded.post(path("c", "context"), json={**body, "budget": smallest}))
        assert found["usage"]["total"] <= smallest * 9 // 10
        assert "a long question" in text_of(found["messages"][-1])
        refused = problem(seeded.post(path("c", "context"), json={**body, "budget": smallest - 1}), 422)
        assert refused["minimum_budget"] == smallest


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ({"format": "gemini"}, "format"),
        ({"load": "not-a-uuid"}, "load"),
        ({"load": "x" * 1001}, "load"),
        ({"pages": "0"}, "pages"),
        ({"pages": "٣"}, "pages"),
        ({"pages": "1,,2"}, "pages"),
        ({"pages": str(10**20)}, "pages"),
        ({"pages": ",".join(["1"] * 21)}, "pages"),
        ({"query": "q" * 10_001}, "query"),
        ({"model": ""}, "model"),
        ({"budgets": "1"}, "budgets"),
    ],
)
def test_a_query_that_is_wrong_is_refused_by_name(seeded: httpx.Client, query: Json, name: str) -> None:
    problem(seeded.get(path("c", "context"), params=query), 422, name)


def test_a_window_of_nothing_is_empty(client: httpx.Client) -> None:
    created(client, id="c")
    found = window(client, "c", budget=4000)
    assert [m["role"] for m in found["messages"]] == ["system"]
    assert found["pages"] == {"verbatim": [], "condensed": [], "listed": [], "unlisted": 0}
    assert window(client, "c", budget=4000, format="anthropic")["messages"] == []


@pytest.mark.parametrize("form", ["openai", "anthropic"])
@pytest.mark.parametrize("query", ["xylophone quasar", "q"])
def test_a_query_that_finds_nothing_leaves_the_window_as_it_is(seeded: httpx.Client, query: str, form: str) -> None:
    plain = window(seeded, "c", budget=2000, format=form)
    assert plain["epoch"] > 0
    assert window(seeded, "c", budget=2000, format=form, query=query) == plain
    missing = window(seeded, "c", budget=2000, format=form, query=query, pages="99")
    assert missing["messages"] == plain["messages"]
    assert "page_not_found" in [warning["code"] for warning in missing["warnings"]]
    assert window(seeded, "c", budget=2000, format=form) == plain


@pytest.mark.parametrize("form", ["openai", "anthropic"])
def test_no_model_is_sent_nul_wherever_it_was_said(client: httpx.Client, form: str) -> None:
    for n in range(12):
        append(client, "c", [user(f"tea\x00house {n}"), *turn(n), result("nobody's", f"tea\x00leaf {n}")])
    remembered = {"user_id": "u", "content": "tea\x00cup"}
    ok(client.post("/memories", json=remembered), 201)
    seen = window(client, "c", budget=2000, format=form, query="tea house leaf cup", pages="1")
    assert seen["usage"]["sections"]["tail"] > 0
    assert "\\u0000" not in canonical(seen)
    assert "tea\ufffd" in canonical(seen)
    for name, arguments in (("recall_page", {"page": 1}), ("recall_memory", {"query": "tea leaf cup"})):
        said = ok(client.post(path("c", "tools", name), json={"arguments": arguments}))["content"]
        assert "tea\ufffd" in said
        assert "\x00" not in said


@pytest.mark.parametrize("form", ["openai", "anthropic"])
@pytest.mark.parametrize("first", ["Book a train to Hangzhou, please.", "帮我订一张去杭州的火车票"])
def test_a_window_before_the_users_first_words_is_gone_on_with_or_ends(
    client: httpx.Client, first: str, form: str
) -> None:
    created(client, id="c", user_id="u", system="Be brief.")
    append(client, "c", [assistant("What can I do for you?")])
    before = window(client, "c", budget=4000, format=form)
    append(client, "c", [user(first)])
    after = window(client, "c", budget=4000, format=form)
    shown = after["messages"][: before["stable_messages"]]
    is_gone_on_with = (shown, after["system"]) == (before["messages"][: before["stable_messages"]], before["system"])
    assert is_gone_on_with == (after["epoch"] == before["epoch"]) == first.isascii()


def test_pending_calls_are_held_back_and_orphans_are_never_shown(client: httpx.Client) -> None:
    append(client, "c", [user("q"), call("a", "b"), result("a", "first"), result("zz", "nobody asked")])
    found = window(client, "c")
    assert [m["role"] for m in found["messages"]] == ["system", "user"]
    assert [w["code"] for w in found["warnings"]] == ["tool_results_awaited", "unmatched_tool_result"]
    append(client, "c", [result("b", "second"), result("a", "again")])
    found = window(client, "c")
    assert [m["role"] for m in found["messages"]] == ["system", "user", "assistant", "tool", "tool"]
    assert [w["code"] for w in found["warnings"]] == ["unmatched_tool_result"]
    append(client, "c", [call("d", "e"), result("e", "only this"), user("go on without d")])
    found = window(client, "c")
    assert [m["role"] for m in found["messages"]][5:] == ["assistant", "tool", "user"]
    assert [c["id"] for c in found["messages"][5]["tool_calls"]] == ["e"]


def test_a_result_that_answers_no_call_is_warned_of_and_can_be_found(client: httpx.Client) -> None:
    assert append(client, "c", [user("q"), call("a"), result("a")])["warnings"] == []
    made = append(client, "c", [result("lost", "the parcel is in Ulm"), *({**result("more")} for _ in range(12))])
    assert {w["code"] for w in made["warnings"]} == {"unmatched_tool_result"}
    assert "message 4: the result of 'lost'" in made["warnings"][0]["detail"]
    assert made["warnings"][-1]["detail"].startswith("3 more")
    [warning] = window(client, "c")["warnings"]
    assert warning["code"] == "unmatched_tool_result"
    assert "13 recent" in warning["detail"]
    history = ok(client.get(path("c", "messages")))["items"]
    assert history[3]["content"] == "the parcel is in Ulm"
    found = ok(client.get("/memories/search", params={"user_id": "u", "query": "parcel Ulm"}))["results"]
    assert found[0]["message_ids"] == [history[3]["id"]]
    for number in range(2):
        append(client, "c", turn(number))
    assert window(client, "c")["warnings"] == []


def test_an_unmatched_block_beside_a_matched_one_is_warned_of(client: httpx.Client) -> None:
    blocks = [{"type": "tool_result", "tool_use_id": name, "content": "seen"} for name in ("a", "lost")]
    made = append(client, "c", [user("q"), call("a"), user(blocks)])
    assert ["'lost'" in w["detail"] for w in made["warnings"]] == [True]


def test_no_system_prompt_changes_what_the_tools_weigh(client: httpx.Client) -> None:
    """Counts are remembered by text, and by nothing else."""
    append(client, "c", [user("hello")], user_id="ann")
    where = path("c", "context")
    before = ok(client.get(where, params={"budget": 8000}))["usage"]["sections"]
    for prompt in ("recall tools openai", "recall guide en", "Be brief."):
        sections = ok(client.post(where, json={"budget": 8000, "system": prompt}))["usage"]["sections"]
        assert sections["tools"] == before["tools"]
        assert before["system"] < sections["system"] < before["system"] + 20
    assert ok(client.get(where, params={"budget": 8000}))["usage"]["sections"] == before


def test_a_post_can_list_archives_to_load(client: httpx.Client) -> None:
    made = append(client, "c", [*turn(1), call("a"), result("a", "river " * 3000), user()])
    uuid = made["messages"][3]["archive_id"]
    body = {"budget": 20_000, "load": [uuid]}
    posted = ok(client.post(path("c", "context"), json=body))
    assert posted["archive_refs"] == [uuid]
    assert posted["usage"]["sections"]["tail"] > 100
    assert posted == window(client, "c", budget=20_000, load=uuid)


@pytest.mark.parametrize(
    "refused",
    [
        {"content": None, "refusal": "Not the vault's code."},
        {"content": [{"type": "refusal", "refusal": "Not the vault's code."}]},
    ],
)
def test_a_refusal_is_what_was_said(client: httpx.Client, refused: Json) -> None:
    append(client, "c", [user("Which code?"), {"role": "assistant", **refused}, user("Why?")])
    said: Any = window(client, "c", budget=4000, format="anthropic")["messages"][1]
    assert (said["role"], [b["text"] for b in said["content"]]) == ("assistant", ["Not the vault's code."])
    found = ok(client.get("/memories/search", params={"user_id": "u", "query": "vault", "search_mode": "keyword"}))
    assert [r["content_preview"] for r in found["results"]] == ["Not the **vault**'s code."]
    recalled = ok(client.post(path("c", "tools", "recall_page"), json={"arguments": {"page": 1}}))["content"]
    assert "[2] assistant: Not the vault's code." in recalled
    page = ok(client.get(path("c", "pages", "1")))
    assert page["entries"][1]["summary"] == "Not the vault's code."


def test_a_warning_tells_of_notes_that_do_not_fit(client: httpx.Client) -> None:
    created(client, id="c", user_id="u")
    for number in range(40):
        append(client, "c", turn(number))
    for note in ("Never call before ten.", "永远用中文回答。"):
        ok(client.post(path("c", "notes"), json={"text": note}), 201)
    seen = {budget: window(client, "c", budget=budget) for budget in (100, 8000)}
    assert "Never call before ten." in str(seen[8000]["messages"])
    told = {
        budget: [w["detail"] for w in found["warnings"] if w["code"] == "notes_left_out"]
        for budget, found in seen.items()
    }
    assert told == {100: ["there is no room for 2 memories to keep in mind"], 8000: []}
    assert seen[100]["usage"]["sections"]["notes"] == 0


@pytest.mark.parametrize("pages", [0, 40])
def test_what_a_person_wrote_to_keep_in_view_is_there_wherever_it_fits(client: httpx.Client, pages: int) -> None:
    created(client, id="c", user_id="u", model="gpt-4o")
    for number in range(1, pages + 1):
        append(client, "c", turn(number))
    append(client, "c", [user("And now?")])
    rules = [f"Rule {n}: never deploy service {n} on a Friday without asking whoever is on call." for n in range(9)]
    for rule in rules:
        ok(client.post(path("c", "notes"), json={"text": rule}), 201)
    for budget in (500, 700, 1_000, 1_500, 2_000, 3_000, 4_000, 8_000):
        found = window(client, "c", budget=budget)
        shown = str(found["messages"])
        assert [rule for rule in rules if rule not in shown] == [], budget
        assert "notes_left_out" not in [warning["code"] for warning in found["warnings"]]
        assert found["usage"]["total"] <= budget
        assert "## Contents page" in shown or not pages or not 1_000 <= budget <= 3_000


def test_what_a_person_wrote_leaves_room_for_what_was_said(client: httpx.Client) -> None:
    created(client, id="c", user_id="u")
    for number in range(20):
        ok(client.post(path("c", "notes"), json={"text": f"Rule {number}: " + "ask before you act. " * 20}), 201)
    asked = user("And now? " + "Please tell me more. " * 60)
    append(client, "c", [user("Hello"), assistant("Hi"), asked])
    found = window(client, "c", budget=1_500)
    assert found["messages"][-1] == asked
    assert 0 < str(found["messages"]).count("Rule ") < 20
    [warning] = [one for one in found["warnings"] if one["code"] == "notes_left_out"]
    assert warning["detail"].startswith("there is no room for ")


@pytest.mark.parametrize("query", few(["tea house", None]))
def test_a_summary_that_is_there_is_seen(client: httpx.Client, query: str | None) -> None:
    """In windows of 1,500 available tokens and more, where messages have left the view."""
    for number in range(1, 121):
        append(client, "c", turn(number, 30))
    ok(client.post(path("c", "notes"), json={"text": "Never call the harbour before ten in the morning."}), 201)
    asked = {"query": query} if query else {}
    for budget in range(2100, 9000, 300):
        usage = window(client, "c", budget=budget, **asked)["usage"]
        sections = usage["sections"]
        assert budget * 9 // 10 - sections["tools"] - sections["system"] >= 1_500
        assert sections["contents"] >= 150, budget  # without a model the map is the summary
        assert sections["notes"] > 0

"""Places and forms of new messages."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given

from app.core.conversation import ConversationEnd
from app.core.history.ingest import FAR_MAX, LATE_MAX, ShownForms, archived_answers, joined_from, place, shown_forms
from app.core.messages import Limits, read
from app.core.model import Language, Policy
from tests.core.conversations import Message, Transcript, calls, result, sizes, transcripts, user

RECALL = frozenset({"recall_page"})
POLICY = Policy(archive_threshold=100, condensed_tool_max=10)


def places(*messages: Message) -> list[tuple[int, int, int, str]]:
    placements, _ = place(ConversationEnd(), read(list(messages), Limits()))
    return [(p.seq, p.page, p.group, p.kind) for p in placements]


def shapes(*messages: Message, policy: Policy = POLICY, language: Language = "en") -> list[ShownForms]:
    placements, _ = place(ConversationEnd(), read(list(messages), Limits()))
    return [shown_forms(p, {}, policy, language, RECALL) for p in placements]


def system(text: str) -> Message:
    return {"role": "system", "content": text}


def test_a_page_begins_with_each_user_message_but_the_first_takes_in_what_precedes_it() -> None:
    greeting = {"role": "assistant", "content": "Hello!"}
    found = places(greeting, user("hi"), greeting, user("more"), user("and more"))
    assert [page for _, page, _, _ in found] == [1, 1, 1, 2, 3]


def test_system_messages_that_lead_are_the_prompt_and_later_ones_are_messages() -> None:
    kinds = [kind for *_, kind in places(system("a"), system("b"), user("hi"), system("c"))]
    assert kinds == ["prompt", "prompt", "message", "message"]


def test_results_join_the_group_of_their_call_and_do_not_open_a_page() -> None:
    block = {"type": "tool_result", "tool_use_id": "b", "content": "x"}
    found = places(user("go"), calls("a", "b"), result("a"), {"role": "user", "content": [block]})
    assert found == [(1, 1, 1, "message"), (2, 1, 2, "call"), (3, 1, 2, "result"), (4, 1, 2, "result")]


def test_a_result_is_an_orphan_without_its_call_or_when_that_is_answered_or_left() -> None:
    kinds = [kind for *_, kind in places(calls("a"), result("x"), result("a"), result("a"), user("on"), result("a"))]
    assert kinds == ["call", "orphan", "result", "orphan", "message", "orphan"]


def test_calls_of_one_turn_that_come_as_several_messages_are_one_group() -> None:
    found = places(user("go"), calls("a"), calls("b"), result("b"), result("a"), calls("c"), result("c"))
    assert [group for _, _, group, _ in found] == [1, 2, 2, 2, 2, 6, 6]


def test_a_late_result_joins_its_call_with_all_that_came_between() -> None:
    answer = {"role": "assistant", "content": "Meanwhile."}
    found = places(user("go"), calls("a"), user("wait"), answer, calls("b"), result("a"), result("b"), user("so?"))
    assert [group for _, _, group, _ in found] == [1, 2, 2, 2, 2, 2, 2, 8]
    assert [kind for *_, kind in found] == [
        "message",
        "call",
        "message",
        "message",
        "call",
        "result",
        "result",
        "message",
    ]


def test_a_result_that_comes_much_later_stands_where_it_came() -> None:
    chat = [user(str(number)) for number in range(LATE_MAX + 1)]
    near, far = (places(calls("a"), *said, result("a"))[-1] for said in (chat[1:], chat))
    assert near[2:] == (1, 1 + LATE_MAX, 1, "result")[2:]
    assert far[2:] == (LATE_MAX + 3, "result")
    assert places(calls("a"), *chat, result("a"), result("a"))[-1][-1] == "orphan"


def test_of_calls_without_a_result_the_newest_are_remembered() -> None:
    chat = [said for number in range(FAR_MAX + 40) for said in (user("x"), calls(f"a{number}"))]
    chat += [user(str(number)) for number in range(LATE_MAX + 2)]
    assert places(*chat, result("a39"))[-1][-1] == "orphan"
    assert places(*chat, result("a40"))[-1][-1] == "result"
    assert len(place(ConversationEnd(), read(chat, Limits()))[1].open_calls) == FAR_MAX


def test_a_call_id_used_again_is_that_of_the_newer_call() -> None:
    found = places(calls("a"), result("a"), calls("a"), result("a"))
    assert [group for _, _, group, _ in found] == [1, 1, 3, 3]


def test_an_orphan_message_keeps_its_text_without_its_results() -> None:
    block = {"type": "tool_result", "tool_use_id": "zzz", "content": "x"}
    found = places(user("go"), {"role": "user", "content": [block, {"type": "text", "text": "next"}]})
    assert found[1][1:] == (2, 2, "message")


@given(transcripts(), sizes)
def test_places_do_not_depend_on_the_batches(transcript: Transcript, other: tuple[int, ...]) -> None:
    def placed(split: Transcript) -> tuple[list[tuple[Any, ...]], ConversationEnd]:
        tail = ConversationEnd()
        found: list[tuple[Any, ...]] = []
        for batch in split.batches:
            before = tail
            placements, tail = place(tail, read(list(batch), Limits()))
            if (late := joined_from(before, placements)) is not None:
                found = [(*one[:3], min(one[3], late) if one[0] > late else one[3], *one[4:]) for one in found]
            found += [(p.seq, p.page, p.user_seq, p.group, p.kind, p.answers) for p in placements]
        return found, tail

    assert placed(transcript) == placed(replace(transcript, sizes=other))


def test_a_condensed_long_result_is_cut_with_a_mark() -> None:
    *_, found = shapes(user("go"), calls("a"), result("a", "0123456789abc"))
    assert found.view[0]["content"] == "0123456789abc"
    assert found.short is not None
    assert found.short[0]["content"] == "0123456789… [13 characters in all; recall_page(1) has the rest]"
    *_, chinese = shapes(user("go"), calls("a"), result("a", "0123456789abc"), language="zh")
    assert chinese.short is not None
    assert chinese.short[0]["content"] == "0123456789…[共13字符，全文用 recall_page(1) 取回]"


def test_a_long_text_is_cut_when_condensed_and_a_system_message_is_not() -> None:
    long = "word " * 500
    said, parts, ruled = shapes(user(long), user([{"type": "text", "text": long}]), {"role": "system", "content": long})
    for found in (said, parts):
        assert found.short is not None
        assert "2500 characters in all; recall_page(" in str(found.short)
        assert len(str(found.short)) < 200
    assert ruled.short is None


def test_only_assistants_lose_their_thinking_when_condensed() -> None:
    thinking = {"role": "assistant", "content": "Yes.", "reasoning_content": "long"}
    parts = {"role": "assistant", "content": [{"type": "reasoning", "text": "hm"}]}
    first, second, said = shapes(thinking, parts, user("x" * 500))
    assert first.short == [{"role": "assistant", "content": "Yes."}]
    assert second.short == [{"role": "assistant", "content": ""}]
    assert said.short is None


def test_recalled_text_has_a_mark_that_it_shrinks_to() -> None:
    call = {"id": "a", "type": "function", "function": {"name": "recall_page", "arguments": '{"page": 3}'}}
    *_, found = shapes(user("go"), {"role": "assistant", "tool_calls": [call]}, result("a", "page text " * 50))
    assert found.loaded is not None
    assert found.loaded[0]["content"] == "page text " * 50
    mark = 'recall_page({"page": 3}) was shown in full at the time; call it again to see it again'
    assert found.view[0]["content"] == f"[{mark}]"


def test_long_results_are_archived_except_for_recalled_ones() -> None:
    recall = {"id": "b", "type": "function", "function": {"name": "recall_page", "arguments": "{}"}}
    asked = calls("a")
    asked["tool_calls"].append(recall)
    placements, _ = place(
        ConversationEnd(), read([user("go"), asked, result("a", "x" * 101), result("b", "x" * 101)], Limits())
    )
    assert [archived_answers(p, POLICY, RECALL, {}) for p in placements] == [[], [], [0], []]
    by_tokens = Policy(archive_threshold=1000, archive_threshold_tokens=9)
    assert archived_answers(placements[2], by_tokens, RECALL, {"x" * 101: 10}) == [0]
    assert archived_answers(placements[2], by_tokens, RECALL, {"x" * 101: 9}) == []


def test_nul_is_in_no_view_and_stays_in_the_original() -> None:
    placements, _ = place(ConversationEnd(), read([user("a\x00b")], Limits()))
    assert shown_forms(placements[0], {}, POLICY, "en", RECALL).view == [user("a\ufffdb")]
    assert placements[0].draft.original == user("a\x00b")


def test_calls_outside_of_anthropic_content_are_kept_in_either_form() -> None:
    message = {**calls("a"), "content": [{"type": "thinking", "thinking": "hm", "signature": "c2ln"}]}
    found, _ = shapes(message, result("a"))
    assert found.anthropic is None
    assert [call["id"] for call in found.view[0]["tool_calls"]] == ["a"]

"""Call groups: shown whole or not at all."""

from __future__ import annotations

from app.core.groups import chat_messages, units
from app.core.history.ingest import LATE_MAX
from app.core.window.squeezing import opens_page
from tests.core.book import Book
from tests.core.conversations import Message, calls, result, user


def body(*messages: Message) -> tuple[list[list[int]], list[int], list[Message]]:
    """Return the seqs of the units shown, the seqs held back, and the chat messages shown."""
    book = Book()
    book.append(messages)
    shown, held_back = units(book.items(book.window(100_000).cut))
    chat = [message for unit in shown for item in unit for message in chat_messages(item.text)]
    return [[item.seq for item in unit] for unit in shown], [item.seq for item in held_back], chat


def test_a_call_and_its_results_are_one_unit_in_whatever_order_they_come() -> None:
    shown, held_back, _ = body(user("go"), calls("a", "b"), result("b"), result("a"), user("thanks"))
    assert shown == [[1], [2, 3, 4], [5]]
    assert held_back == []


def test_a_group_that_awaits_results_is_held_back() -> None:
    shown, held_back, _ = body(user("go"), calls("a", "b"), result("a"))
    assert (shown, held_back) == ([[1]], [2, 3])


def test_unanswered_calls_are_replaced_once_the_conversation_continues() -> None:
    shown, _, chat = body(user("go"), calls("a", "b", text="Trying."), result("a"), user("never mind"))
    assert shown == [[1], [2, 3], [4]]
    assert [call["id"] for call in chat[1]["tool_calls"]] == ["a"]
    assert chat[1]["content"] == "Trying.\n[do_b: no result]"


def test_a_call_that_nothing_answered_becomes_words() -> None:
    _, _, chat = body(user("go"), calls("a"), user("never mind"))
    assert chat[1] == {"role": "assistant", "content": "[do_a: no result]"}


def test_unmatched_and_duplicate_results_are_not_shown() -> None:
    shown, _, _ = body(result("x"), user("go"), calls("a"), result("a"), result("a", "again"), user("ok"))
    assert shown == [[2], [3, 4], [6]]


def test_an_orphan_within_a_group_does_not_part_it() -> None:
    shown, _, _ = body(user("go"), calls("a"), result("x"), result("a"))
    assert shown == [[1], [2, 4]]


def test_text_next_to_results_ends_the_group() -> None:
    uses: list[Message] = [{"type": "tool_use", "id": i, "name": "do", "input": {}} for i in ("a", "b")]
    answer = {"type": "tool_result", "tool_use_id": "a", "content": "done"}
    said: Message = {"role": "user", "content": [answer, {"type": "text", "text": "Stop, forget b."}]}
    shown, held_back, chat = body(user("go"), {"role": "assistant", "content": uses}, said)
    assert (shown, held_back) == ([[1], [2, 3]], [])
    assert chat[-1] == {"role": "user", "content": "Stop, forget b."}
    assert [call["id"] for call in chat[1]["tool_calls"]] == ["a"]


def test_two_results_for_one_call_in_one_message_are_one() -> None:
    uses: list[Message] = [{"type": "tool_use", "id": "a", "name": "do", "input": {}}]
    answer = {"type": "tool_result", "tool_use_id": "a", "content": "done"}
    shown, held_back, chat = body(
        user("go"), {"role": "assistant", "content": uses}, {"role": "user", "content": [answer, answer]}
    )
    assert (shown, held_back) == ([[1], [2, 3]], [])
    assert [m["role"] for m in chat] == ["user", "assistant", "tool"]


def test_calls_in_several_messages_are_one_message_with_all_results() -> None:
    shown, held_back, chat = body(user("go"), calls("a", text="Both."), calls("b"), result("b"), result("a"))
    assert (shown, held_back) == ([[1], [2, 3, 4, 5]], [])
    assert [m.get("tool_call_id") for m in chat] == [None, None, "b", "a"]
    assert ([c["id"] for c in chat[1]["tool_calls"]], chat[1]["content"]) == (["a", "b"], "Both.")


def test_a_note_beside_the_first_result_follows_the_last() -> None:
    def answer(id_: str, *more: Message) -> Message:
        return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": id_, "content": id_}, *more]}

    note: Message = {"type": "text", "text": "Be careful."}
    shown, _, chat = body(user("go"), calls("a", "b"), answer("a", note), answer("b"))
    assert shown == [[1], [2, 3, 4, 3]]
    assert [m["role"] for m in chat] == ["user", "assistant", "tool", "tool", "user"]
    assert chat[-1]["content"] == "Be careful."


def test_what_came_between_a_call_and_its_late_result_follows_them() -> None:
    between = user("wait"), {"role": "assistant", "content": "I do."}, calls("b")
    shown, _, chat = body(user("go"), calls("a"), *between, result("a"), result("b"), user("so?"))
    assert shown == [[1], [2, 6], [3], [4], [5, 7], [8]]
    assert [m["role"] for m in chat] == ["user", "assistant", "tool", "user", "assistant", "assistant", "tool", "user"]


def test_results_for_calls_of_two_turns_in_one_message_go_to_each() -> None:
    results = [{"type": "tool_result", "tool_use_id": i, "content": i} for i in ("a", "b")]
    both: Message = {"role": "user", "content": [*results, {"type": "text", "text": "There."}]}
    shown, _, chat = body(user("go"), calls("a"), user("wait"), calls("b"), both)
    assert shown == [[1], [2, 5], [3], [4, 5], [5]]
    assert [m.get("tool_call_id") for m in chat if m["role"] == "tool"] == ["a", "b"]
    assert chat[-1] == {"role": "user", "content": "There."}


def test_a_result_that_comes_late_is_not_what_the_user_said() -> None:
    book = Book()
    loop = [message for n in range(LATE_MAX) for message in (calls(f"b{n}"), result(f"b{n}"))]
    book.append([user("go"), calls("a"), *loop, result("a")])
    shown, _ = units(book.items(book.window(100_000).cut))
    assert [item.seq for item in shown[-1]] == [len(loop) + 3]
    assert [unit[0].seq for unit in shown if opens_page(unit[0])] == [1]

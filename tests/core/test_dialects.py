"""Translations between dialects, as pure functions."""

import json
from typing import Any
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from app.core.dialects.compaction import opened, sealed
from app.core.dialects.items import items_of, messages_of
from app.core.dialects.splicing import with_message
from app.core.dialects.stored import StoredPart, message
from app.core.dialects.upstream_chat import chat_messages

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
VALUE = st.recursive(st.none() | st.integers() | TEXT, lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner))
SPACES = st.sampled_from([(",", ":"), (", ", ": "), (" ,\n ", " : ")])


@given(st.dictionaries(TEXT.filter(lambda name: name != "messages"), VALUE), st.lists(TEXT, min_size=1), TEXT, SPACES)
def test_one_message_is_added_and_no_other_byte_changes(
    rest: dict[str, Any], said: list[str], text: str, spaces: tuple[str, str]
) -> None:
    body = {**rest, "messages": [{"role": "user", "content": words} for words in said], "last": 1}
    sent = json.dumps(body, separators=spaces).encode()
    found = with_message(sent, "chat", text)
    assert json.loads(found) == {**body, "messages": [*body["messages"], {"role": "user", "content": text}]}
    at = next(i for i, (one, other) in enumerate(zip(sent, found, strict=False)) if one != other)
    assert found.endswith(sent[at:])


def test_a_request_without_a_list_to_go_on_stays_as_it_is() -> None:
    for body in (b"{}", b'{"messages": []}', b'{"messages":"x"}', b'{"messages":[{"role":"assistant"}]}'):
        assert with_message(body, "chat", "x") == body


CALLS = st.lists(st.sampled_from(["look", "patch"]), max_size=3)


@given(st.lists(st.tuples(TEXT.filter(bool), CALLS), min_size=1, max_size=4))
def test_messages_become_items_and_messages_again(turns: list[tuple[str, list[str]]]) -> None:
    listed: list[dict[str, Any]] = []
    for number, (text, calls) in enumerate(turns):
        made = [
            {"id": f"{number}.{i}", "type": "function", "function": {"name": name, "arguments": '{"input":"x"}'}}
            for i, name in enumerate(calls)
        ]
        said = {"role": "assistant", "content": text, **({"tool_calls": made} if made else {})}
        results = [{"role": "tool", "tool_call_id": call["id"], "content": text} for call in made]
        listed += [{"role": "user", "content": text}, said, *results]
    items = items_of(listed, custom={"patch"})
    assert messages_of(items) == listed
    assert ('"custom"' in json.dumps(messages_of(items, apart=True))) == any("patch" in calls for _, calls in turns)
    assert '"custom"' not in json.dumps(chat_messages(messages_of(items, apart=True)))


@given(TEXT.filter(lambda text: text.isprintable()), st.integers(0), st.uuids(), st.uuids())
def test_a_compaction_is_of_one_conversation(name: str, through: int, uid: UUID, other: UUID) -> None:
    found = opened(sealed(name, through, uid))
    assert found is not None
    assert (found.conversation_id, found.through) == (name, through)
    assert found.is_of(uid)
    assert found.is_of(other) == (uid == other)


def test_opaque_items_say_which_call_they_came_before() -> None:
    parts = [
        StoredPart("native", native={"id": "r1"}, dialect="responses"), StoredPart("call", "a"),
        StoredPart("native", native={"id": "r2"}, dialect="responses"), StoredPart("text", "Hm."),
    ]  # fmt: skip
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    said = message(parts, [call], "Hm.")
    assert [part.get("before_call") for part in said["content"]] == ["a", None, None]

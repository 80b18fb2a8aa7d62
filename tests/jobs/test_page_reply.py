"""Whatever a model answers, what is kept of it is bounded, harmless and about messages that were shown."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.jobs import page_reply
from app.jobs.page_reply import CurrentNote, judge
from app.providers import UnusableReply

ROLES = {1: "user", 2: "assistant", 3: "tool", 4: "user"}
NOTES = [
    CurrentNote("a", "Answer in French", 1, "extractive"),
    CurrentNote("b", "Call me Ann", 0, "person"),
    CurrentNote("c", "Later one", 99, "llm"),
]
TEXTS = st.one_of(
    st.text(max_size=40), st.sampled_from(["None", "null", "</quire-memory>", "a\x00b", "\ud800", "x" * 9999])
)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-5, 10**30), TEXTS, st.sampled_from([1, 4, "fact", "1", "[4]"])),
    lambda inner: st.one_of(
        st.lists(inner, max_size=5),
        st.dictionaries(st.sampled_from(["1", "4", "seq", "text", "line", "type", "replaces"]), inner, max_size=5),
    ),
    max_leaves=12,
)  # fmt: skip
ITEMS = st.fixed_dictionaries(
    {"seq": st.integers(0, 5), "text": TEXTS},
    optional={"type": st.sampled_from(["fact", "spell"]), "replaces": VALUES},
)
REPLIES = st.fixed_dictionaries(
    {},
    optional={
        "title": st.one_of(TEXTS, VALUES),
        "lines": st.one_of(VALUES, st.dictionaries(st.sampled_from(["1", "2", "9", "x"]), TEXTS), st.lists(ITEMS)),
        "topics": st.one_of(VALUES, st.lists(TEXTS, max_size=200)),
        "memories": st.one_of(VALUES, st.lists(ITEMS, max_size=200)),
        "notes": st.one_of(VALUES, st.lists(ITEMS, max_size=200)),
    },
)


@given(REPLIES)
def test_a_reply_is_refused_or_bounded(value: dict[str, Any]) -> None:
    try:
        reply = judge(value, ROLES, NOTES)
    except UnusableReply:
        return
    assert reply.lines
    assert reply.lines.keys() <= ROLES.keys()
    assert len(reply.topics) <= page_reply.TOPICS_MAX
    assert len(reply.memories) <= page_reply.MEMORIES_MAX
    assert len(reply.notes) <= page_reply.NOTES_MAX
    assert all(memory.seq in ROLES for memory in reply.memories)
    assert all(ROLES[note.seq] == "user" and set(note.replaces) <= {"a"} for note in reply.notes)
    memories, notes = [m.text for m in reply.memories], [n.text for n in reply.notes]
    texts = [reply.title, *reply.lines.values(), *reply.topics, *memories, *notes]
    assert max(map(len, texts)) <= page_reply.MEMORY_CHARACTERS
    for text in texts:
        assert text.strip()
        assert "\n" not in text
        assert "<quire" not in text
        assert "</quire" not in text
        assert text.casefold() not in ("none", "null")
        assert json.dumps(text).encode("ascii")
        assert "\x00" not in text
        text.encode()


@pytest.mark.parametrize(
    "lines", [{"1": "said"}, {1: "said"}, [{"seq": 1, "line": "said"}], [{"seq": "1", "text": "said"}]]
)
def test_lines_come_by_number_or_as_a_list(lines: Any) -> None:
    assert judge({"title": "T", "lines": lines}, ROLES, ()).lines == {1: "said"}


def test_notes_that_say_nothing_new_are_dropped() -> None:
    def notes(*found: dict[str, Any]) -> list[tuple[str, tuple[Any, ...]]]:
        reply = judge({"title": "T", "lines": {"1": "x"}, "notes": list(found)}, ROLES, NOTES)
        return [(note.text, note.replaces) for note in reply.notes]

    assert notes({"text": "answer in French!", "seq": 4}) == []
    assert notes({"text": "Answer in French", "seq": 4, "replaces": [1]}) == []
    assert notes({"text": "Answer in German", "seq": 4, "replaces": [1, 2, 3]}) == [("Answer in German", ("a",))]
    assert notes({"text": "Be brief", "seq": 4}, {"text": "be brief", "seq": 1}) == [("Be brief", ())]

"""Whatever a model answers, what is kept of it is bounded, harmless and about messages that were shown."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.window.excerpts import Excerpt
from app.jobs import page_reply
from app.jobs.page_reply import CurrentNote, judge
from app.providers import UnusableReply

ROLES = {1: "user", 2: "assistant", 3: "tool", 4: "user"}
SHOWN = [Excerpt(seq, role, f"{role} {seq}", 2) for seq, role in ROLES.items()]
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
        reply = judge(value, SHOWN, NOTES)
    except UnusableReply:
        return
    assert reply.lines
    assert reply.lines.keys() <= ROLES.keys()
    assert len(reply.topics) <= page_reply.TOPICS_MAX
    assert len(reply.memories) <= page_reply.MEMORIES_MAX
    assert len(reply.notes) <= page_reply.NOTES_MAX
    assert all(memory.seq in ROLES for memory in reply.memories)
    assert all(ROLES[note.seq] == "user" for note in reply.notes)
    assert set(reply.retired) <= {"a"}
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
    assert judge({"title": "T", "lines": lines}, SHOWN, ()).lines == {1: "said"}


def test_notes_without_new_content_are_dropped() -> None:
    said = "Answer in French! No: answer in German only. Be very brief and friendly. I plan ahead for Fridays."
    page = [*SHOWN[:3], Excerpt(4, "user", said, 20)]

    def notes(*found: dict[str, Any]) -> tuple[list[str], tuple[Any, ...]]:
        reply = judge({"title": "T", "lines": {"1": "x"}, "notes": list(found)}, page, NOTES)
        return [note.text for note in reply.notes], reply.retired

    assert notes({"text": "answer in French!", "seq": 4}) == ([], ())
    assert notes({"text": "Answer in French", "seq": 4, "replaces": [1]}) == ([], ())
    assert notes({"text": "Answer in Spanish", "seq": 4, "replaces": [1]}) == ([], ())
    assert notes({"quote": "answer in german", "seq": 4, "replaces": [1, 2, 3]}) == (["answer in German"], ("a",))
    assert notes({"quote": "I plan ahead for Fridays", "seq": 4, "replaces": [1]}) == (["I plan ahead for Fridays"], ())
    brief = {"quote": "Be very brief and friendly", "seq": 4}
    assert notes(brief, {**brief, "quote": "be very brief"}) == (["Be very brief and friendly"], ())


def page_of(*texts: str) -> list[Excerpt]:
    return [Excerpt(seq, "user", text, 9) for seq, text in enumerate(texts, 1)]


PAGES = {
    "en": page_of(*(f"Please book hotel number {n} in Kyoto for us, near the river." for n in range(10))),
    "zh": page_of(*(f"请帮我们在京都预订第{n}家酒店,最好靠近鸭川,并且提供早餐。" for n in range(10))),
}
LOOPS = {"en": "Wait, I'll check. " * 200, "zh": "等等,我再看一下。" * 200}
LINES = {
    "en": {n: f"The user wants hotel number {n - 1} in Kyoto to be booked." for n in range(1, 11)},
    "zh": {n: f"用户希望预订京都第{n - 1}家酒店。" for n in range(1, 11)},
}
TITLES = {"en": "Hotels in Kyoto", "zh": "京都的酒店"}


@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_loops_is_dropped(language: str) -> None:
    shown, lines, loop = PAGES[language], LINES[language], LOOPS[language]
    found = [{"seq": 1, "text": loop, "type": "fact"}]
    reply = judge(
        {"title": TITLES[language], "lines": {**lines, 3: loop}, "topics": [loop], "memories": found, "notes": found},
        shown, (),
    )  # fmt: skip
    assert reply.lines == {seq: line for seq, line in lines.items() if seq != 3}
    assert (reply.topics, reply.memories, reply.notes) == ((), (), ())
    with pytest.raises(UnusableReply, match="title"):
        judge({"title": loop, "lines": lines}, shown, ())
    with pytest.raises(UnusableReply, match="must differ"):
        judge({"title": TITLES[language], "lines": dict.fromkeys(lines, "ok ok")}, shown, ())


@pytest.mark.parametrize(("language", "other"), [("en", "zh"), ("zh", "en")])
def test_what_is_in_another_language_is_refused(language: str, other: str) -> None:
    with pytest.raises(UnusableReply, match="language"):
        judge({"title": TITLES[other], "lines": LINES[other]}, PAGES[language], ())
    strange = {
        "en": "The user never eats any breakfast before ten and wants every hotel to know it.",
        "zh": "用户十点以前从不吃早餐，希望每一家酒店都知道这件事。",
    }
    found = {"seq": 1, "text": strange[other], "type": "general"}
    own = {"seq": 1, "text": strange[language], "type": "general"}
    asked = {"title": TITLES[language], "lines": LINES[language], "memories": [found, own]}
    reply = judge(asked, PAGES[language], ())
    assert [m.text for m in reply.memories] == [strange[language]]


def test_messages_that_repeat_have_lines_that_repeat() -> None:
    shown = page_of(*["go on"] * 30)
    lines = dict.fromkeys(range(1, 31), "The user wants more.")
    assert judge({"title": "More", "lines": lines}, shown, ()).lines == lines


@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_a_page_repeats_may_be_quoted(language: str) -> None:
    """A message that loops, and a tool's result in another language than the messages."""
    loop, other = LOOPS[language][:280], PAGES["zh" if language == "en" else "en"][0].text
    shown = [*PAGES[language], Excerpt(11, "user", loop, 9), Excerpt(12, "tool", other, 9)]
    found = [{"seq": 11, "text": loop, "type": "general"}, {"seq": 10, "text": other, "type": "general"}]
    reply = judge({"title": TITLES[language], "lines": {11: loop[:150], 12: other}, "memories": found}, shown, ())
    assert list(reply.lines) == [11, 12]
    assert [memory.text for memory in reply.memories] == [loop.strip(), other]

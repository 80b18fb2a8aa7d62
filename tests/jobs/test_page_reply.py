"""Whatever a model answers, what is kept of it is bounded, harmless and about messages that were shown."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.window.excerpts import Excerpt
from app.jobs import page_reply
from app.jobs.page_reply import judge
from app.providers import UnusableReply

ROLES = {1: "user", 2: "assistant", 3: "tool", 4: "user"}
SHOWN = [Excerpt(seq, role, f"{role} {seq}", 2) for seq, role in ROLES.items()]
KEPT = ["Answer in French", "Call me Ann"]
TEXTS = st.one_of(
    st.text(max_size=40), st.sampled_from(["None", "null", "</quire-memory>", "a\x00b", "\ud800", "x" * 9999])
)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-5, 10**30), TEXTS, st.sampled_from([1, 4, "fact", "1", "[4]"])),
    lambda inner: st.one_of(
        st.lists(inner, max_size=5),
        st.dictionaries(st.sampled_from(["1", "4", "seq", "text", "line", "quote", "pinned"]), inner, max_size=5),
    ),
    max_leaves=12,
)  # fmt: skip
ITEMS = st.fixed_dictionaries(
    {"seq": st.integers(0, 5), "text": TEXTS},
    optional={
        "quote": st.sampled_from(["user 1", "user 4", "tool 3", "None"]),
        "pinned": VALUES,
        "until": VALUES,
        "ends": VALUES,
        "key": st.sampled_from(["diet", "mood", None, 3]),
    },
)
REPLIES = st.fixed_dictionaries(
    {},
    optional={
        "title": st.one_of(TEXTS, VALUES),
        "lines": st.one_of(VALUES, st.dictionaries(st.sampled_from(["1", "2", "9", "x"]), TEXTS), st.lists(ITEMS)),
        "topics": st.one_of(VALUES, st.lists(TEXTS, max_size=200)),
        "memories": st.one_of(VALUES, st.lists(ITEMS, max_size=200)),
    },
)


@given(REPLIES)
def test_a_reply_is_refused_or_bounded(value: dict[str, Any]) -> None:
    try:
        reply = judge(value, SHOWN, KEPT)
    except UnusableReply:
        return
    assert reply.lines
    assert reply.lines.keys() <= ROLES.keys()
    assert len(reply.topics) <= page_reply.TOPICS_MAX
    assert len(reply.memories) <= page_reply.MEMORIES_MAX
    assert len(reply.wishes) <= page_reply.WISHES_MAX
    assert all(ROLES[memory.seq] == "user" for memory in reply.memories)
    assert all(ROLES[wish.seq] == "user" for wish in reply.wishes)
    memories, wishes = [m.text for m in reply.memories], [found.wish.text for found in reply.wishes]
    texts = [reply.title, *reply.lines.values(), *reply.topics, *memories, *wishes]
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


SAID = (
    "Answer in French! No: answer in German only. Be very brief and friendly. "
    "I repair boats in Porto. Stop answering in French."
)


def found(*items: dict[str, Any], said: str = SAID) -> page_reply.PageReply:
    page = [*SHOWN[:3], Excerpt(4, "user", said, 20)]
    return judge({"title": "T", "lines": {"1": "x"}, "memories": list(items)}, page, KEPT)


def test_a_wish_holds_if_its_words_show_it_and_is_proposed_otherwise() -> None:
    [german] = found({"quote": "answer in German only", "seq": 4, "pinned": True}).wishes
    assert (german.wish.key, german.wish.reach, german.is_certain) == ("answer_language", "user", True)
    [brief] = found({"quote": "Be very brief and friendly", "seq": 4, "pinned": True, "key": "mood"}).wishes
    assert (brief.wish.key, brief.wish.reach, brief.is_certain) == (None, "proposed", False)
    [ended] = found({"quote": "Stop answering in French", "seq": 4, "ends": True}).wishes
    assert ended.wish.ends
    [proposed] = found({"quote": "I repair boats in Porto", "seq": 4, "ends": True, "key": "diet"}).wishes
    assert (proposed.wish.ends, proposed.wish.reach) == (True, "proposed")


@pytest.mark.parametrize("opening", ["Let's role-play: you are a butler.", "Pretend that you are my butler."])
def test_a_wish_in_a_role_is_proposed(opening: str) -> None:
    wish = {"quote": "Always answer in French", "seq": 4, "pinned": True, "key": "answer_language"}
    assert found(wish, said="Always answer in French.").wishes[0].is_certain
    [played] = found(wish, said=f"{opening} Always answer in French.").wishes
    assert (played.wish.reach, played.is_certain) == ("proposed", False)


def test_what_is_in_mind_is_not_found_again() -> None:
    assert found({"quote": "answer in french!", "seq": 4, "pinned": True}).wishes == ()
    brief = {"quote": "Be very brief and friendly", "seq": 4, "pinned": True}
    assert len(found(brief, {**brief, "quote": "be very brief"}).wishes) == 1


def test_nothing_is_kept_without_the_words_of_a_person() -> None:
    bad: list[dict[str, Any]] = [
        {"text": "The user is a pilot", "seq": 4}, {"text": "x", "quote": "tool 3", "seq": 3, "pinned": True},
        {"text": "x", "quote": "I hate Porto", "seq": 4}, {"text": "x", "quote": 7, "seq": 4, "ends": True},
        {"text": "x", "quote": "I repair boats in Porto", "seq": 2},
    ]  # fmt: skip
    reply = found(*bad)
    assert (reply.memories, reply.wishes) == ((), ())
    [memory] = found(
        {"text": "The user is a rich pilot in Porto", "quote": "i repair boats in porto", "seq": 4}
    ).memories
    assert memory.text == "I repair boats in Porto"


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
    items = [{"seq": 1, "text": loop, "quote": "hotel number"}]
    reply = judge(
        {"title": TITLES[language], "lines": {**lines, 3: loop}, "topics": [loop], "memories": items},
        shown, (),
    )  # fmt: skip
    assert reply.lines == {seq: line for seq, line in lines.items() if seq != 3}
    assert reply.topics == ()
    assert all(loop not in memory.text for memory in reply.memories)
    with pytest.raises(UnusableReply, match="title"):
        judge({"title": loop, "lines": lines}, shown, ())
    with pytest.raises(UnusableReply, match="must differ"):
        judge({"title": TITLES[language], "lines": dict.fromkeys(lines, "ok ok")}, shown, ())


@pytest.mark.parametrize(("language", "other"), [("en", "zh"), ("zh", "en")])
def test_what_is_in_another_language_is_refused(language: str, other: str) -> None:
    with pytest.raises(UnusableReply, match="language"):
        judge({"title": TITLES[other], "lines": LINES[other]}, PAGES[language], ())


def test_messages_that_repeat_have_lines_that_repeat() -> None:
    shown = page_of(*["go on"] * 30)
    lines = dict.fromkeys(range(1, 31), "The user wants more.")
    assert judge({"title": "More", "lines": lines}, shown, ()).lines == lines


@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_a_page_repeats_may_be_quoted(language: str) -> None:
    """A message that loops, and a tool's result in another language than the messages."""
    loop, other = LOOPS[language][:280], PAGES["zh" if language == "en" else "en"][0].text
    shown = [*PAGES[language], Excerpt(11, "user", loop, 9), Excerpt(12, "tool", other, 9)]
    reply = judge({"title": TITLES[language], "lines": {11: loop[:150], 12: other}}, shown, ())
    assert list(reply.lines) == [11, 12]

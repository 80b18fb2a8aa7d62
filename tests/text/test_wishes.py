"""How far a wish goes: what follows a user at once, and what never does."""

import re
from pathlib import Path

import pytest

from app.core.window.kept import Wish, key_problem
from app.extractive import wishes as wishes_module
from app.extractive.blocks import take_apart
from app.extractive.wishes import ENDED, FOLLOWING, KEYS, PARTS, PLAINLY, TABLES, WORDINGS, wishes_of
from app.text.language import window
from app.text.word_lists import sections_of

HERE = Path(__file__).parent
LABELLED = [line.split("\t") for line in (HERE / "carried.tsv").read_text("utf-8").splitlines()]
"""Sentences that we wrote with the rules: `user` or `none`, the language, the text."""
NOTES = ("standing_notes", "standing_notes_heldout", "standing_notes_blind", "standing_orders")


def wishes(text: str) -> list[Wish]:
    return wishes_of(text, take_apart(window(text)).prose)


def follows(text: str) -> bool:
    return any(wish.reach == "user" and not wish.ends for wish in wishes(text))


@pytest.mark.parametrize(("label", "spoken", "text"), LABELLED)
def test_a_sentence_follows_its_user_or_does_not(label: str, spoken: str, text: str) -> None:
    assert follows(text) == (label == "user")


@pytest.mark.parametrize("spoken", ["en", "zh"])
def test_of_sentences_that_are_no_wish_none_follows(spoken: str) -> None:
    """Sentences written for the notes of one conversation, most of them to fool their search; the rules of what follows
    were mended on three of them.
    """
    lines = [line.split("\t")[-3:] for name in NOTES for line in (HERE / f"{name}.tsv").read_text("utf-8").splitlines()]
    others = [text for label, written, text in lines if label == "none" and written == spoken]
    assert len(others) > 400
    assert [text for text in others if follows(text)] == []


@pytest.mark.parametrize("spoken", ["en", "zh"])
def test_of_sentences_that_no_head_has_seen_few_are_kept_that_are_no_wish(spoken: str) -> None:
    """Those of the untouched halves; half were written to fool rules."""
    rows = [line.split("\t") for name in NOTES[1:3] for line in (HERE / f"{name}.tsv").read_text("utf-8").splitlines()]
    unseen = [(label, text) for role, label, written, text in rows if (role, written) == ("untouched", spoken)]
    kept = [label for label, text in unseen if wishes(text)]
    assert kept.count("note") >= 0.3 * sum(label == "note" for label, _ in unseen)
    assert kept.count("note") >= 0.95 * len(kept)


@pytest.mark.parametrize(
    "play",
    [
        "Let's role-play. You are a pirate. Always answer in rhymes.",
        "我们玩个角色扮演。你是海盗。每次都要给出押韵的回答。",
    ],
)
def test_orders_of_a_play_are_no_wishes(play: str) -> None:
    assert wishes(play) == []


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("Call me Lin.", "name"),
        ("叫我小林就好。", "name"),
        ("Please call me Dr. Okafor.", "address"),
        ("请叫我李老师。", "address"),
        ("My pronouns are they/them.", "pronouns"),
        ("Always answer in French, even if I write English.", "answer_language"),
        ("以后都用中文回答。", "answer_language"),
        ("I'm in UTC+9.", "time_zone"),
        ("我的时区是东八区。", "time_zone"),
        ("Please use metric units.", "units"),
        ("单位都用公制。", "units"),
        ("I'm vegetarian.", "diet"),
        ("我吃素。", "diet"),
        ("I'm allergic to nuts.", None),
    ],
)
def test_a_key_has_one_name_in_every_language(text: str, key: str | None) -> None:
    [wish] = wishes(text)
    assert (wish.key, wish.reach, wish.ends) == (key, "user", False)


@pytest.mark.parametrize(
    "text",
    [
        "Always answer in the language I write in.",
        "以后都用我写的那种语言回答。",
        "From now on call me by my first name.",
        "以后都叫我的小名。",
        "Always use the units of the recipe.",
        "以后都用原文的单位。",
    ],
)
def test_a_wish_that_names_no_value_has_no_key(text: str) -> None:
    [wish] = wishes(text)
    assert (wish.key, wish.reach) == (None, "user")


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("I'm not vegetarian any more.", "diet"),
        ("I am no longer vegan.", "diet"),
        ("我不吃素了。", "diet"),
        ("Stop answering in French.", "answer_language"),
        ("别再叫我小林了。", "name"),
    ],
)
def test_what_is_taken_back_ends_its_key(text: str, key: str) -> None:
    [wish] = [one for one in wishes(text) if one.ends]
    assert wish.key == key


@pytest.mark.parametrize("text", ["我不吃素。", "我不是素食者，只是爱吃沙拉。", "I'm not vegan, I just like salad."])
def test_what_was_never_so_ends_nothing(text: str) -> None:
    assert [wish for wish in wishes(text) if wish.reach == "user"] == []


@pytest.mark.parametrize(
    "text",
    [
        "<system-reminder>\n# claudeMd\nAlways run the tests. Never use tabs.\n</system-reminder>\nplease fix the bug",
        "# AGENTS.md\n\n<INSTRUCTIONS>\nAlways write tests. Never push to main.\n</INSTRUCTIONS>",
        'Context:\n"""\nI am vegan. Call me Bob.\n"""\nWho is this?',
        "<quire-page 3>\n[12] user: Always answer in French.\n</quire-page>",
    ],
)
def test_what_programs_put_into_a_message_is_nobodys_wish(text: str) -> None:
    assert wishes(text) == []
    assert follows(f"{text}\n\nCall me Lin.")


@pytest.mark.parametrize("text", ["Always use my password hunter2.", "Always pay with my card 4111 1111 1111 1111."])
def test_a_secret_is_never_carried(text: str) -> None:
    assert all(wish.sensitive for wish in wishes(text))


@pytest.mark.parametrize(
    "key", ["", "a/../b", "/a", "a//b", ".", "a\x00", "a\u202eb", "e\u0301", "a/b/c/d/e/f/g/h/i", "x" * 257, " a"]
)
def test_a_bad_key_is_named(key: str) -> None:
    assert key_problem(key)


def test_a_good_key_is_a_path_of_up_to_eight_segments() -> None:
    assert key_problem("a/b/c/d/e/f/g/h") is None
    assert key_problem("家/饮食") is None


@pytest.mark.parametrize(
    "text",
    [
        "Check the grammar:\n\nI am vegan. Please always name your sources.",
        "What would you answer to this?\n\nCall me Amara. I am vegan.",
        "Grade the following pupil's text.\n\nI am vegan. Always number the steps.",
        "Copy of the chat:\n\n[10:02] Amara: I'm allergic to nuts.\n[10:03] Tom: always number the steps",
        "给下面这篇学生作文打分。\n\n我吃素。以后都先说结论。",
        "你会怎么回复？\n\n叫我佳怡就好。我吃素。",
        "房东发来的：\n\n从现在起，不要用表格。以后都列出来源。",
    ],
)
def test_what_follows_a_paragraph_that_hands_it_over_is_nobodys_wish(text: str) -> None:
    assert not follows(text)


@pytest.mark.parametrize("text", ["Some rules for you:\n\nAlways name your sources.", "请记住：\n\n以后都列出来源。"])
def test_ones_own_wishes_can_be_announced(text: str) -> None:
    assert follows(text)


def test_each_row_takes_a_sentence_that_no_other_of_its_section_does_and_leaves_one() -> None:
    """`wordings.tsv` has a line for each row of the file, in its order: the section, and both sentences."""
    rows = [(name, row) for name, pattern in sections().items() for row in pattern]
    lines = [line.split("\t") for line in (HERE / "wordings.tsv").read_text("utf-8").splitlines()]
    assert [name for name, _, _ in lines] == [name for name, _ in rows]
    for (name, row), (_, takes, leaves) in zip(rows, lines, strict=True):
        assert row.search(takes), (takes, row)
        assert not row.search(leaves), (leaves, row)
        others = [other for of, other in rows if of == name and other is not row]
        assert not any(other.search(takes) for other in others), takes


def sections() -> dict[str, list[re.Pattern[str]]]:
    """Return the rows of each section as they are searched."""
    told = sections_of(Path(str(wishes_module.__file__)).with_name("wishes.txt"))
    written = {
        name.partition(": ")[0]: [row for row in text.splitlines() if row[:2] not in ("", "# ")]
        for name, text in told.items()
    }
    parts = {name: "|".join(written.pop(name)) for name in PARTS}
    found: dict[str, list[re.Pattern[str]]] = {}
    for name, rows in written.items():
        patterns = [row.partition(" | ")[2] if name in TABLES else row for row in rows]
        if name == "keys":
            patterns = [f"{parts['lead']}(?:{one}){parts['end']}" for one in patterns]
        whole = [re.sub(r"<(\w+)>", lambda part: parts[part[1]], one) for one in patterns]
        found[name] = [re.compile(one, re.IGNORECASE) for one in whole]
    return found


def test_the_words_of_a_wording_are_in_all_that_it_matches() -> None:
    """A sentence without any of them is not searched."""
    texts = [text for _, _, text in LABELLED]
    texts += [line.split("\t")[-1] for name in NOTES for line in (HERE / f"{name}.tsv").read_text("utf-8").splitlines()]
    texts += [line.split("\t")[1] for line in (HERE / "wordings.tsv").read_text("utf-8").splitlines()]
    wordings = [*WORDINGS.values(), KEYS, PLAINLY, ENDED]
    patterns = [(of, pattern) for of in wordings for pattern in of.rows.values()]
    matches = [(of, text) for text in texts for of, pattern in patterns if pattern.search(text)]
    assert len(matches) > 300
    assert [text for of, text in matches if not of.may_be_in(text)] == []
    others = [text for text in texts if not FOLLOWING.may_be_in(text)]
    assert len(others) > 100
    following = [ENDED, KEYS, WORDINGS["need"], WORDINGS["lasting"]]
    searched = [pattern for of in following for pattern in of.rows.values()]
    plain = [wishes_module._plainly(text) for text in others]
    assert [text for text in (*others, *plain) if any(pattern.search(text) for pattern in searched)] == []

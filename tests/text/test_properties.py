"""What every function promises for any text at all."""

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.core.conversation import OpenCall
from app.core.encoded import marked
from app.core.history.ingest import AnsweredCall
from app.core.messages import Result
from app.extractive.calls import call_line, query_summary
from app.extractive.lines import message_line, read, result_line, title_of
from app.extractive.results import sources
from app.extractive.shapes import describe, examine
from app.extractive.subjects import subjects_of_page
from app.extractive.summary import summarize_lines
from app.extractive.terms import key_terms
from app.extractive.wishes import wishes_in, wishes_of
from app.services.conversations.reading import READER
from app.text.language import Language, clip, fold, language, script_counts, sentences, squeeze, words
from tests.by_turns import examples, few

# Lone surrogates, NULs and right-to-left marks included.
ANY = st.text(st.characters(codec=None, exclude_categories=()), max_size=400)
PIECES = st.lists(
    st.sampled_from(
        [
            "Please ",
            "fix ",
            "the bug. ",
            "请帮我",
            "看看",
            "。",
            "\n",
            "- ",
            "# ",
            "```",
            "{",
            "}",
            "[",
            "]",
            '"a": ',
            '"a"',
            ":",
            "1,",
            '"text"',
            "TextContent(type='text', text='",
            "<div>",
            "</div>",
            "| a | b |",
            "\t",
            "2024-01-01 10:00:00 ERROR ",
            "def f(x):",
            "http://a.b/c?d=e ",
            "以后都用",
            "never ",
            "\x00",
            "\ud800",
            "👩‍🚀",
            "مرحبا ",
            "\\",
            "'",
            "...",
            "?",
        ]
    ),
    max_size=60,
).map("".join)
TEXTS = ANY | PIECES
QUICK = settings(max_examples=examples(60))
FORBIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def is_line(text: str, max_chars: int) -> bool:
    return len(text) <= max_chars and FORBIDDEN.search(text) is None


@QUICK
@given(TEXTS, st.sampled_from(["user", "assistant", "system", "tool", "?"]), st.integers(0, 200))
def test_a_line_fits_and_is_one_line(text: str, role: str, max_chars: int) -> None:
    assert is_line(message_line(role, text, max_chars=max_chars), max_chars)
    assert is_line(result_line("tool " + text[:20], text, max_chars=max_chars), max_chars)
    assert is_line(call_line(text[:30], text, max_chars=max_chars), max_chars)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inside: st.lists(inside, max_size=4) | st.dictionaries(st.text(max_size=6), inside, max_size=4),
    max_leaves=12,
)


def read_whole(text: str) -> None:
    """Read a text in every way in which an append reads it: none of them may refuse the message."""
    for role in ("user", "assistant", "tool"):
        message_line(role, text)
    opening = read("user", text)
    assert is_line(title_of(opening), 60)
    if opening.blocks:
        wishes_of(text, opening.blocks.prose)
    answer = AnsweredCall(Result("c", text, text), OpenCall("c", "tool", text[:200]))
    assert READER.card(uuid4(), answer, "en", datetime.now(UTC))[1] == result_line("tool", marked(text))
    READER.passages(text, None)
    READER.parts(text, text[:100], 16_000)


@QUICK
@given(JSON, st.sampled_from([None, 2]))
def test_an_append_reads_json_that_is_cut_anywhere(value: object, indent: int | None) -> None:
    whole = json.dumps(value, indent=indent, ensure_ascii=False)
    for end in range(len(whole) + 1):
        read_whole(whole[:end])


@QUICK
@given(TEXTS)
def test_an_append_reads_any_text(text: str) -> None:
    read_whole(text)


@QUICK
@given(TEXTS)
def test_a_message_with_words_has_a_line(text: str) -> None:
    if any(char.isalnum() for char in squeeze(text)):
        assert message_line("user", text)


@QUICK
@given(TEXTS, TEXTS)
def test_titles_queries_and_notes_respect_their_limits(user: str, assistant: str) -> None:
    assert is_line(title_of(read("user", user)), 60)
    assert is_line(query_summary(user[:40], {assistant[:20]: user, "n": 10**5000, "x": [None, {"y": user}]}), 120)
    assert all(note and is_line(note, 200) for note in (wish.text for wish in wishes_of(user, [user])))


@QUICK
@given(TEXTS, st.integers(0, 300), st.sampled_from(["zh", "en"]))
def test_result_summaries_respect_their_limit(text: str, max_chars: int, language: Language) -> None:
    shape = examine(text)
    summary = describe(shape, max_chars=max_chars, language=language)
    assert is_line(summary, max_chars)
    describe(shape, max_chars=40, language="en")
    assert describe(shape, max_chars=max_chars, language=language) == summary, "at another length it says the same"
    assert shape.kind in {"json", "table", "log", "code", "html", "prose"}
    found = sources(text, [text])
    assert len(found) <= 3
    assert all(source and is_line(source, 120) for source in found)


@QUICK
@given(TEXTS, st.integers(0, 20))
def test_terms_are_few_different_and_clean(text: str, n: int) -> None:
    terms = key_terms(text, n)

    assert len(terms) <= n
    assert len({fold(term) for term in terms}) == len(terms)
    assert all(term and is_line(term, 60) for term in terms)
    assert len(subjects_of_page(text, [("user", text)], n)) <= n


@QUICK
@given(st.lists(st.tuples(st.sampled_from(["user", "assistant", "tool"]), TEXTS), max_size=12), st.integers(0, 6))
def test_kept_lines_are_few_and_fit_together(lines: list[tuple[str, str]], max_items: int) -> None:
    kept = summarize_lines(lines, max_items=max_items, max_chars=160)

    assert len(kept) <= max_items
    assert is_line(" ".join(kept), 160)


@QUICK
@given(TEXTS, st.integers(-3, 50))
def test_a_clipped_text_is_the_start_of_the_text(text: str, max_chars: int) -> None:
    clipped = clip(text, max_chars)

    assert len(clipped) <= max(max_chars, 0)
    assert text.startswith(clipped.removesuffix("…"))


@QUICK
@given(TEXTS)
def test_sentences_and_words_accept_any_text(text: str) -> None:
    assert all(sentence == sentence.strip() != "" for sentence in sentences(text))
    assert all(words(text))
    assert language(text) in {"zh", "en"}
    assert min(script_counts(text)) >= 0
    assert squeeze(squeeze(text)) == squeeze(text)


EVERYTHING: dict[str, Callable[[str], object]] = {
    "message_line": lambda text: [message_line(role, text) for role in ("user", "assistant", "tool")],
    "title of a page": lambda text: title_of(read("user", text)),
    "call_line": lambda text: call_line("t", text),
    "key_terms": key_terms,
    "describe": lambda text: describe(examine(text), max_chars=200, language="en"),
    "sources": sources,
    "query_summary": lambda text: query_summary("t", text),
    "wishes_in": lambda text: wishes_in([text]),
    "language": language,
}
SEEDS = (
    "a",
    "啊",
    ".",
    "1,",
    "<",
    "[",
    '{"a":',
    "\\",
    " ",
    "\n",
    "<think>",
    "TextContent(type='text', text='",
    "hi for the ",
    "看看",
    "请帮我",
    "```\n",
    "| a | b |\n",
    "a,b,c\n",
    "/a",
    "a-",
    "a@",
    "<h1>a",
    "[a](",
    "never ",
    "以后",
    "\ud800",
    "\x00",
    "👩‍🚀",
)


@pytest.mark.parametrize("seed", few(SEEDS, 8))
def test_no_work_grows_with_the_square_of_a_repetitive_text(seed: str) -> None:
    text = seed * (3_000_000 // len(seed))
    for name, function in EVERYTHING.items():
        started = time.thread_time()
        function(text)
        # Under 100 ms; with the square it would be hours. Other threads of a test run do not count.
        assert time.thread_time() - started < 60, name


@pytest.mark.slow
def test_results_are_equal_in_another_process() -> None:
    """Nothing depends on the order of sets, which changes with the hash seed."""
    script = (
        "from app.extractive.terms import key_terms; from app.extractive.shapes import describe, examine\n"
        "from app.extractive.subjects import subjects_of_page\n"
        "text = 'Rotate the staging keys before Kim Alvarez deploys billing-api 2.4. '\n"
        "text = (text + '然后检查数据库连接池和慢查询。') * 3\n"
        "print(ascii((key_terms(text), describe(examine(text), max_chars=200, language='zh'), "
        "subjects_of_page(text, [('user', 'staging keys'), ('user', '连接池')], 6))))"
    )
    answers = {
        subprocess.run(
            [sys.executable, "-c", script], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("1", "2", "3")
    }

    assert len(answers) == 1

import hashlib
import socket
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiktoken import registry
from tiktoken_ext import openai_public

from app.text import tokens
from app.text.tokens import TokenCounter, VocabularyError, pieces
from tests.by_turns import few

O200K = "fb374d419588a4632f3f557e76b4b70aebbca790"

written = st.text(st.sampled_from("ab Z9'.,/\n\t\r 字é😀") | st.characters(exclude_categories=["Cs"]), max_size=400)


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("the network was used")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def test_known_texts_have_known_counts(counter: TokenCounter) -> None:
    assert counter.count("") == 0
    assert counter.count("Hello, world!") == 4
    assert counter.count("今天天气很好") == 4


def test_marks_of_the_vocabulary_count_as_plain_text(counter: TokenCounter) -> None:
    assert counter.count("<|endoftext|>") > 1


@given(written, st.integers(2, 40))
def test_pieces_add_up_to_the_text(text: str, size: int) -> None:
    cut = list(pieces(text, size))
    assert "".join(cut) == text
    assert all(len(piece) <= size for piece in cut)


words = st.sampled_from(["word", "don't", "字字", "3.14", "x/y", "...", "(", "🙂"])


@given(st.lists(st.lists(words, min_size=1).map(" ".join), min_size=1).map("\n".join))
def test_cutting_at_seams_does_not_change_the_count(counter: TokenCounter, text: str) -> None:
    assert sum(counter.count(piece) for piece in pieces(text, 24)) == counter.count(text)


@pytest.mark.parametrize("unit", few(["a", "字", " ", "\n", "^", "7", "😀", "\u0301", "aA"], 2))
def test_counting_does_not_grow_with_the_square_of_a_word(counter: TokenCounter, unit: str) -> None:
    started = time.thread_time()
    assert counter.count(unit * 2_000_000) > 2_000_000 / 200
    assert time.thread_time() - started < 60  # about a second; with the square it would be hours


@pytest.mark.anyio
async def test_long_and_short_texts_are_counted_alike(counter: TokenCounter) -> None:
    texts = ["one two three", "四五六"]
    assert await counter.count_many(texts) == [3, counter.count("四五六")]
    assert await counter.count_many([*texts, "word " * 20_000]) == [3, counter.count("四五六"), 20_001]


def test_loading_needs_no_network(tmp_path: Path, no_network: None) -> None:
    registry.ENCODINGS.clear()
    assert tokens.load(tmp_path).count("Hello") == 1
    assert (tmp_path / O200K).exists()


def test_a_damaged_vocabulary_is_unpacked_again(tmp_path: Path, no_network: None) -> None:
    tokens.load(tmp_path)
    (tmp_path / O200K).write_bytes(b"damaged")
    registry.ENCODINGS.clear()
    assert tokens.load(tmp_path).count("Hello") == 1
    assert (tmp_path / O200K).stat().st_size > 1_000_000


def test_another_vocabulary_is_refused_before_tiktoken_sees_it(tmp_path: Path, no_network: None) -> None:
    with pytest.raises(VocabularyError, match="another o200k_base"):
        tokens.install(tmp_path, "0" * 64)


@pytest.mark.slow
def test_processes_can_unpack_concurrently(tmp_path: Path) -> None:
    with ProcessPoolExecutor(3, mp_context=get_context("spawn")) as pool:
        list(pool.map(_load_and_count, [tmp_path] * 3))
    assert [path.name for path in tmp_path.iterdir()] == [O200K]


def _load_and_count(folder: Path) -> int:
    return tokens.load(folder).count("Hello")


def test_the_hash_is_the_one_that_tiktoken_expects() -> None:
    constants = openai_public.o200k_base.__code__.co_consts
    assert tokens.URL in constants
    assert tokens.SHA256 in constants
    assert hashlib.sha1(tokens.URL.encode()).hexdigest() == O200K

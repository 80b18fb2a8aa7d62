"""Spelling a text in pieces: nothing is lost but what the vocabulary does not know."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.providers.e5 import files, weights
from app.providers.e5.tokenizer import MARK, Tokenizer
from app.providers.e5.weights import Vocabulary
from tests.by_turns import examples

ALPHABET = st.sampled_from("ab的不人 \t😀\u0301é\ufdfa<s>👍🏽")


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    try:
        path = files.find()
    except files.Unusable as missing:
        pytest.skip(str(missing))
    return weights.open_weights(path).vocabulary


@pytest.fixture(scope="module")
def tokenizer(vocabulary: Vocabulary) -> Tokenizer:
    return Tokenizer(vocabulary)


def spelled(vocabulary: Vocabulary, ids: list[int]) -> list[str]:
    return [vocabulary.pieces[id_] for id_ in ids]


@given(st.one_of(st.text(), st.text(ALPHABET)))
@settings(max_examples=examples(500))
def test_known_pieces_spell_the_normalised_text(vocabulary: Vocabulary, tokenizer: Tokenizer, text: str) -> None:
    ids = tokenizer.pieces(text, 10_000)
    assert not set(ids) & (vocabulary.special - {vocabulary.unknown})
    if vocabulary.unknown not in ids:
        assert "".join(spelled(vocabulary, ids)) == MARK + tokenizer.normalised(text).replace(" ", MARK)


@given(st.text(ALPHABET), st.integers(1, 20))
def test_a_limit_takes_the_first_pieces(tokenizer: Tokenizer, text: str, limit: int) -> None:
    assert tokenizer.pieces(text, limit) == tokenizer.pieces(text, 10_000)[:limit]


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("Hello world", ["▁Hello", "▁world"]),
        ("数据库连接池", ["▁", "数据库", "连接", "池"]),
        ("Ｆｕｌｌ　ｗｉｄｔｈ", ["▁Full", "▁", "width"]),
        ("\U00013000\U00013001", ["▁", "<unk>"]),
        ("", ["▁"]),
    ],
)
def test_examples(vocabulary: Vocabulary, tokenizer: Tokenizer, text: str, pieces: list[str]) -> None:
    assert spelled(vocabulary, tokenizer.pieces(text, 510)) == pieces


def test_a_text_cannot_spell_a_special_piece(vocabulary: Vocabulary, tokenizer: Tokenizer) -> None:
    assert not set(tokenizer.pieces("<mask></s> <s>", 510)) & vocabulary.special


def test_a_package_that_is_not_installed_is_named() -> None:
    with pytest.raises(files.Unusable, match="no-such-weights is not installed"):
        files.find("no-such-weights")

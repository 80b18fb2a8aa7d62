"""Word lists are text files: words between spaces, comments on lines of their own."""

from pathlib import Path

import pytest

import app
from app.text.word_lists import sections_of, words_of


@pytest.mark.parametrize("name", ["stop_pairs.txt", "stop_words.txt"])
def test_a_list_has_words_in_small_letters_and_none_of_its_comment(name: str) -> None:
    found = words_of(name)
    assert len(found) > 10
    assert not any(word != word.lower() or "#" in word for word in found)


@pytest.mark.parametrize("name", ["text/small_talk.txt", "extractive/stopwords.txt", "extractive/verbs.txt"])
def test_sections_have_words_in_small_letters_once(name: str) -> None:
    for section, text in sections_of(Path(app.__file__).parent / name).items():
        found = text.replace("\n", " ").split("," if "," in text else None)
        assert len(found) > 10, section
        assert len({word.strip() for word in found}) == len(found), section
        assert text == text.lower()

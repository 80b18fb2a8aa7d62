"""Word lists are text files: words between spaces, comments on lines of their own."""

import pytest

from app.text.word_lists import words_of


@pytest.mark.parametrize("name", ["date_words.txt", "grammar_characters.txt", "stop_pairs.txt", "stop_words.txt"])
def test_a_list_has_words_in_small_letters_and_none_of_its_comment(name: str) -> None:
    found = words_of(name)
    assert len(found) > 10
    assert not any(word != word.lower() or "#" in word for word in found)

"""Words that say nothing about a text. ``stopwords.txt`` holds the lists and their purposes."""

from pathlib import Path

from app.text.word_lists import word_sets

_WORDS = word_sets(Path(__file__).with_name("stopwords.txt"))
ENGLISH, COMMON, CHINESE = _WORDS["english"], _WORDS["common"], _WORDS["chinese"]
CHINESE_EMPTY, CHINESE_NO_NOUNS = _WORDS["chinese empty"], _WORDS["chinese no nouns"]

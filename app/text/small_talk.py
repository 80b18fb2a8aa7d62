"""Words and phrases of small talk, which have no subject: ``small_talk.txt``.

Phrases are removed from a text first, longest first; then the words and bm25's stop words do not count as a subject.
"""

from pathlib import Path

from app.text.word_lists import sections_of

_SECTIONS = sections_of(Path(__file__).with_name("small_talk.txt"))
ENGLISH_PHRASES = tuple(" ".join(_SECTIONS["english phrases"].split()).split(", "))
ENGLISH_PRAISE, ENGLISH_PRAISED = _SECTIONS["praise"].split(), _SECTIONS["praised"].split()
"""Words of praise; with one of the things praised they are a phrase."""
CHINESE_PHRASES = _SECTIONS["chinese phrases"].split()
ENGLISH_WORDS, CHINESE_WORDS = (frozenset(_SECTIONS[f"{name} words"].split()) for name in ("english", "chinese"))

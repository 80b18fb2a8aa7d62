"""Find a person's own words: a memory that a model proposes about a person must quote a message of this person.

A model that indexes a page also reads tool results and pasted pages, and can obey one of them. So its own wording is
never trusted: only the stretch of the person's message that it quotes is kept. They are compared without blanks, width,
case and the script of Chinese. Pasted blocks, quotations and recalled texts are nobody's own words.
"""

import re
from collections.abc import Iterator

from app.extractive.blocks import take_apart
from app.extractive.patterns import PATTERNS
from app.extractive.terms import content_words
from app.text.language import fold, fold_each, squeeze, window

TELLING_WORDS_MIN = 2
QUOTED_CHARACTERS_MIN = 24
"""Shorter quotations are names or terms that the person uses, and count as their own words."""
LONG_CHARACTERS = 1_200
"""In a longer message only the first and last paragraphs are surely the person's own; the others can be pasted."""
_FRAME = re.compile(r"<quire-(\w+)\b.*?(?:</quire-\1>|\Z)", re.DOTALL)
_PARAGRAPHS = re.compile(r"\n[ \t]*\n\s*")
_ELEMENT = re.compile(PATTERNS["element"], re.DOTALL | re.MULTILINE)
_PUT_IN = re.compile(PATTERNS["put_in"], re.IGNORECASE | re.MULTILINE)
"""Matches signs of an inserted text: separators, tags, comments, addresses, the head of a mail."""
_QUOTED = re.compile(r"[\"“]([^\"“”\n]+)[\"”]|[「『]([^「」『』\n]+)[」』]")


def own_words(quote: str, message: str) -> str:
    """Return the stretch of a person's message that ``quote`` repeats, as it is written there; "" if there is none, or
    if the quote has fewer than two content words.
    """
    wanted = _bare(quote)
    if not wanted or len(set(content_words(fold(quote)))) < TELLING_WORDS_MIN:
        return ""
    for paragraph in _own(message):
        kept = [at for at, character in enumerate(paragraph) if not character.isspace()]
        start = "".join(fold_each(paragraph)[at] for at in kept).find(wanted)
        if start >= 0:
            return squeeze(paragraph[kept[start] : kept[start + len(wanted) - 1] + 1])
    return ""


def is_surely_own(words: str, message: str) -> bool:
    """Return whether words of a message are surely its writer's own: they are in the first or last paragraph, and no
    part of the message looks inserted from elsewhere. Other words can only become proposals.
    """
    text = window(without_elements(message))
    if _PUT_IN.search(text):
        return False
    paragraphs = [paragraph for paragraph in _PARAGRAPHS.split(text) if paragraph.strip()]
    wanted = _bare(words)
    return any(wanted in _bare(paragraph) for paragraph in (*paragraphs[:1], *paragraphs[-1:]))


def without_elements(message: str) -> str:
    """Return a message without texts that programs insert: whole elements of markup, and triple-quoted texts."""
    return _ELEMENT.sub("\n\n", message) if "</" in message or '"""' in message else message


def says_nothing_else(text: str, message: str) -> bool:
    return set(content_words(fold(text))) <= set(content_words(fold(message)))


def _bare(text: str) -> str:
    return "".join(character for character in fold_each(text.strip()) if not character.isspace())


def _own(message: str) -> Iterator[str]:
    """Yield the paragraphs that the person wrote, without quotations."""
    text = _FRAME.sub("\n\n", message)
    paragraphs = [paragraph for paragraph in re.split(r"\n\s*\n", window(text)) if paragraph.strip()]
    if len(text) > LONG_CHARACTERS and len(paragraphs) > 2:
        paragraphs = [paragraphs[0], paragraphs[-1]]
    for paragraph in paragraphs:
        prose = "\n".join(take_apart(paragraph).prose)
        yield _QUOTED.sub(lambda found: found[0] if len(found[0]) < QUOTED_CHARACTERS_MIN else "\n\x00\n", prose)

"""A person's words or nothing: what a model proposes about a person must quote a message that the person wrote.

A model that indexes a page reads tool results and pasted pages too, and may obey one of them. So its word for what
somebody wishes or is counts for nothing: what is kept is the stretch of the person's own message that it quotes,
compared without blanks, width, case and the script of Chinese. Pasted blocks, quotations and recalled text are nobody's
own words.
"""

import re
from collections.abc import Iterator

from app.extractive.blocks import take_apart
from app.extractive.patterns import PATTERNS
from app.extractive.terms import content_words
from app.text.language import fold, fold_each, squeeze, window

TELLING_WORDS_MIN = 2
QUOTED_CHARACTERS_MIN = 24
"""A shorter quotation is a name or a term that the person uses."""
LONG_CHARACTERS = 1_200
"""Of a longer message only the first and the last paragraph are surely the person's; what is between may be pasted."""
_FRAME = re.compile(r"<quire-(\w+)\b.*?(?:</quire-\1>|\Z)", re.DOTALL)
_PARAGRAPHS = re.compile(r"\n[ \t]*\n\s*")
_ELEMENT = re.compile(PATTERNS["element"], re.DOTALL | re.MULTILINE)
_PUT_IN = re.compile(PATTERNS["put_in"], re.IGNORECASE | re.MULTILINE)
"""What stands around a text that was put in: separators, tags, comments, addresses, the head of a mail."""
_QUOTED = re.compile(r"[\"“]([^\"“”\n]+)[\"”]|[「『]([^「」『』\n]+)[」』]")


def own_words(quote: str, message: str) -> str:
    """Return the stretch of a person's message that says what ``quote`` says, as it is written there; "" if none does,
    or if it has fewer than two telling words.
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
    """Return whether words of a message are surely its writer's: they stand in its first or last paragraph, and nothing
    in it looks as if it had been put in from elsewhere. Others are proposed at most.
    """
    text = window(without_elements(message))
    if _PUT_IN.search(text):
        return False
    paragraphs = [one for one in _PARAGRAPHS.split(text) if one.strip()]
    wanted = _bare(words)
    return any(wanted in _bare(one) for one in (*paragraphs[:1], *paragraphs[-1:]))


def without_elements(message: str) -> str:
    """Return a message without what programs put in: whole elements of markup, and texts in triple quotation marks."""
    return _ELEMENT.sub("\n\n", message) if "</" in message or '"""' in message else message


def says_nothing_else(text: str, message: str) -> bool:
    return set(content_words(fold(text))) <= set(content_words(fold(message)))


def _bare(text: str) -> str:
    return "".join(character for character in fold_each(text.strip()) if not character.isspace())


def _own(message: str) -> Iterator[str]:
    """Yield the paragraphs that the person wrote, without quotations."""
    text = _FRAME.sub("\n\n", message)
    paragraphs = [one for one in re.split(r"\n\s*\n", window(text)) if one.strip()]
    if len(text) > LONG_CHARACTERS and len(paragraphs) > 2:
        paragraphs = [paragraphs[0], paragraphs[-1]]
    for paragraph in paragraphs:
        prose = "\n".join(take_apart(paragraph).prose)
        yield _QUOTED.sub(lambda found: found[0] if len(found[0]) < QUOTED_CHARACTERS_MIN else "\n\x00\n", prose)

"""Tell whether a text asks."""

import re

_QUESTION = re.compile(
    r"[?？]\W*$|[吗呢]\W*$|^\W*(?:who|what|when|where|which|why|how|do|does|did|is|are|can)\b", re.IGNORECASE
)


def asks(text: str) -> bool:
    """Return whether a text is a question, or ends with one."""
    return _QUESTION.search(text) is not None

"""Read HTML roughly, without a parser: title, headings and visible text."""

import re
from collections.abc import Iterator
from itertools import islice

_HTML_TITLE = re.compile(r"<title[^>]{0,200}>([^<]{1,400})", re.IGNORECASE)
_HTML_HEADING = re.compile(r"<h[1-3](?:\s[^<>]{0,400})?>((?:[^<]|<(?!/h[1-3])){1,400})", re.IGNORECASE)
_HTML_HIDDEN = ("script", "style", "noscript", "svg")
_TAG = re.compile(r"<[^<>]{0,2000}>")


def page_title(html: str) -> str:
    """Return the text of the title; "" if there is none."""
    title = _HTML_TITLE.search(html[:50_000])
    return _TAG.sub(" ", title[1]) if title else ""


def page_headings(html: str) -> Iterator[str]:
    return (_TAG.sub(" ", match[1]) for match in islice(_HTML_HEADING.finditer(html), 12))


def visible_text(html: str) -> str:
    """Return roughly the visible text of an HTML page, without scripts, styles and tags."""
    for tag in _HTML_HIDDEN:
        visible: list[str] = []
        at = 0
        while (start := html.find(f"<{tag}", at)) >= 0 and (end := html.find(f"</{tag}", start)) >= 0:
            visible.append(html[at:start])
            at = end
        html = "".join(visible) + html[at:]
    return _TAG.sub("\n", html)

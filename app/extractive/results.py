"""Find the sources of a large tool result, for its placeholder."""

import re
from collections.abc import Iterator, Sequence
from itertools import chain, islice

from app.extractive.envelope import WINDOW, unwrap
from app.text.language import one_line, squeeze

_MAX_SOURCES = 3
_SOURCE_CHARS = 120

_URL = re.compile(r"https?://[^\s\"'<>()\[\]{}|\\，。；、）》]{3,2000}")
_ASSET = re.compile(
    r"\.(?:png|jpe?g|gif|svg|ico|css|js|woff2?|webp)(?:[?#]|$)|/(?:static|assets|fonts)/|w3\.org|schema\.org",
    re.IGNORECASE,
)
_FILE = r"\.(?:py|ts|tsx|js|md|json|csv|txt|pdf|go|rs|java|ya?ml|toml|html|sql|xlsx|docx|pptx|ipynb|log|xml)\b"
_ENDS = re.compile(_FILE)
_PATH = re.compile(r"(?<![\w/.])(?:~|\.{1,2})?/(?:[\w@+-][\w.@+-]*/){1,12}[\w@+-][\w.@+-]*|\b[\w-]{1,60}" + _FILE)
_TITLE = re.compile(
    r'"title"\s*:\s*"([^"\\\n]{3,200})"|^#{1,2} +(\S[^\n]{2,160})$|<title[^>]{0,100}>([^<\n]{3,200})',
    re.MULTILINE | re.IGNORECASE,
)


def sources(text: str, declared: Sequence[str] = ()) -> list[str]:
    """Return up to three sources of a result: declared ones, then URLs, paths and titles in it."""
    body = unwrap(text)[:WINDOW]
    paths = islice(_paths(body), 100)
    titles = (squeeze(match[1] or match[2] or match[3]) for match in islice(_TITLE.finditer(body), 10))
    chosen: dict[str, None] = {}
    for candidate in chain(declared, _urls(body), paths, titles):
        source = one_line(candidate, _SOURCE_CHARS)
        if source:
            chosen.setdefault(source)
        if len(chosen) == _MAX_SOURCES:
            break
    return list(chosen)


def _paths(body: str) -> Iterator[str]:
    """Yield the paths in a text. Most lines have none, and looking for a slash or suffix first is ten times as fast."""
    for line in body.split("\n"):
        if "/" in line or ("." in line and _ENDS.search(line)):
            yield from (match[0] for match in _PATH.finditer(line))


def _urls(body: str) -> Iterator[str]:
    urls = dict.fromkeys(
        match[0].rstrip(".,;:!?*") for match in islice(_URL.finditer(body), 300) if not _ASSET.search(match[0])
    )
    hosts: set[str] = set()
    later: list[str] = []
    for url in urls:
        host = url.split("/")[2]
        if host in hosts:
            later.append(url)
        else:
            hosts.add(host)
            yield url
    yield from later

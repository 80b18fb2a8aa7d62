"""Evidence: the parts of a conversation that a model sees, or can recall.

Asked about are messages of the user and the assistant, and tools' results: those with at least WORDS_MIN telling
words, up to SAMPLE of them, evenly over the conversation. Evidence that a window holds is there word for word.
Evidence that a search brings back is among the first DEPTH it finds for the message's own rarest words, by itself or,
where it is an archived result, by its placeholder or a passage: either says how to read it in full. It is searched as
`search_memories` does where nothing else is said: in all that the user ever said. Equal texts are one.
"""

import json
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.text import bm25, language
from bench.harness import USER, Api

SAMPLE = 150
WORDS_MIN, WORDS_MAX = 3, 6
DEPTH = 10
PRICED_EVERY = 10
"""Every tenth search is also made with the model's tool, to count the tokens of its answer."""

Texts = tuple[str, ...]
"""The texts of a message: its content, and the arguments of its calls."""


@dataclass(frozen=True)
class Asked:
    """A message to find, and the words of its search."""

    texts: Texts
    query: str


@dataclass(frozen=True)
class Evidence:
    """The evidence of one conversation."""

    asked: Sequence[Asked]
    found: Mapping[Texts, int]
    """The rank, from 1 on, at which a search finds each message."""
    found_here: frozenset[Texts] = frozenset()
    """The other messages that a search in the conversation alone finds."""
    prices: Sequence[int] = ()
    """Tokens of the tool's answers to some searches."""

    def held(self, window: Iterable[Mapping[str, Any]]) -> float:
        """Return the share of the messages that a window has word for word."""
        said = _joined(window)
        return _share([is_held(one.texts, said) for one in self.asked])

    def found_within(self, places: int) -> int:
        """Return how many messages a search finds among its first results."""
        return sum(self.found.get(one.texts, DEPTH + 1) <= places for one in self.asked)

    def lost(self, window: Iterable[Mapping[str, Any]]) -> list[Asked]:
        """Return the messages that are neither in a window nor found."""
        said = _joined(window)
        return [one for one in self.asked if one.texts not in self.found and not is_held(one.texts, said)]


def gather(
    api: Api,
    conversation: str,
    history: Sequence[Mapping[str, Any]],
    known: Mapping[str, Texts],
    weigh: Callable[[str], int],
) -> Evidence:
    """Search for the messages of a history. ``known``: texts by the ids of messages and archives."""
    asked = wanted(history)
    found = {one.texts: place for one in asked if (place := _place(_search(api, one.query, known), one.texts))}
    missed = [one for one in asked if one.texts not in found]
    here = frozenset(
        one.texts for one in missed if _place(_search(api, one.query, known, conversation_id=conversation), one.texts)
    )
    answers = [_tool(api, conversation, one.query) for one in asked[::PRICED_EVERY]]
    return Evidence(asked, found, here, [weigh(answer) for answer in answers])


def _search(api: Api, query: str, known: Mapping[str, Texts], **filters: str) -> list[set[Texts]]:
    """Return the texts to which each result belongs."""
    body = {"user_id": USER, "query": query, "search_mode": "keyword", "limit": DEPTH, **filters}
    results = json.loads(api.call("POST", "/memories/search", body))["results"]
    return [{known[name] for name in (*one["message_ids"], one["archive_id"]) if name in known} for one in results]


def _place(results: Sequence[set[Texts]], wanted: Texts) -> int:
    """Return the rank of a message's first result, from 1 on; 0 if there is none."""
    return next((place for place, of in enumerate(results, 1) if wanted in of), 0)


def _tool(api: Api, conversation: str, query: str) -> str:
    body = {"arguments": {"query": query, "limit": DEPTH}}
    return str(json.loads(api.call("POST", f"/conversations/{conversation}/tools/search_memories", body))["content"])


def wanted(history: Sequence[Mapping[str, Any]]) -> list[Asked]:
    """Return the messages to find, with the words of their searches."""
    said = [texts for message in history if message["role"] != "system" and (texts := texts_of(message))]
    words = [telling(texts) for texts in said]
    common = Counter(word for some in words for word in some)
    telling_enough = [at for at, some in enumerate(words) if len(some) >= WORDS_MIN]
    return [Asked(said[at], " ".join(rarest(words[at], common))) for at in evenly(telling_enough, SAMPLE)]


def texts_of(message: Mapping[str, Any]) -> Texts:
    content = message.get("content")
    parts = content if isinstance(content, list) else [content]
    said = [part if isinstance(part, str) else str((part or {}).get("text", "")) for part in parts]
    said += [call["function"]["arguments"] for call in message.get("tool_calls") or ()]
    return tuple(one for one in said if one.strip())


def telling(texts: Texts) -> frozenset[str]:
    """Return the words that can distinguish a message: no stop words and no single characters."""
    words = (word for one in texts for word in language.words(bm25.unescaped(one)))
    return frozenset(word for word in words if len(word) > 1 and word not in bm25.STOP_WORDS)


def rarest(words: Iterable[str], common: Mapping[str, int]) -> list[str]:
    """The words that the fewest messages have; among equals by lot, so that those of a long text are of all its parts."""
    return sorted(words, key=lambda word: (common[word], zlib.crc32(word.encode()), word))[:WORDS_MAX]


def evenly(places: Sequence[int], most: int) -> list[int]:
    """Return at most ``most`` of the places, evenly spread."""
    step = max(len(places) / most, 1)
    return [places[int(at * step)] for at in range(min(len(places), most))]


def is_held(texts: Texts, said: str) -> bool:
    return all(one in said for one in texts)


def _joined(window: Iterable[Mapping[str, Any]]) -> str:
    return "\n".join(one for message in window for one in texts_of(message))


def _share(flags: Sequence[bool]) -> float:
    return sum(flags) / len(flags) if flags else 1.0

"""Decisions of the proxy in front of a model: what of a list was asked, whose calls an answer holds, what comes next.

**What was asked.** A client sends its whole list each time, or only what is new; some change the text of answers
before they send them back (they strip it, or keep the half that was read). So where a list and what is stored differ,
they are compared a second time with every assistant message taken for any other: those answers came from here, and
what is stored of them stays. Then a list meets what is stored in one of these ways:

    it goes on                       what follows is appended
    it ends with what was asked last nothing is appended; answers to it may be there already
    it ends earlier                  the turn at its end is asked once more, at the end of the conversation
    it says otherwise                as with a synced list whose forks are joined: what is new is appended

**Whose calls.** Of an answer's calls the recall tools' are Quire's, unless the client has tools of these names. The
client is given its own calls only, and must answer all calls that it is given; what Quire's brought in is stored as
messages that are in no client's list.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.core.sync import DIGEST_BYTES, match

ANYTHING = b"an answer".ljust(DIGEST_BYTES)
"""Stands for what an assistant said."""
PREFIXES_MAX = 64
"""So many of the newest beginnings of a list may be where a conversation ended."""

RoleAndDigest = tuple[str, bytes]
"""Role and digest of a message."""


# --- What was asked -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Met:
    """Where a list meets what is stored."""

    new_from: int
    """From here on the list's messages are appended; its length where none are."""
    asked: int = 0
    """Where none are: after so many messages of the tail the list ends."""
    answers: tuple[int, ...] = ()
    """Places in the tail of the stored answers to it."""
    passed_over: tuple[int, ...] = ()
    """Messages of a fork that lie before stored ones, so that they cannot be appended."""


def meet(
    said: Sequence[RoleAndDigest], same: int, tail: Sequence[RoleAndDigest], *, is_whole: bool, retried: bool
) -> Met:
    """Both begin with ``same`` messages. ``tail``: what is stored beyond them, oldest first; all of it, or (not
    ``is_whole``) its end. ``retried``: the client says that it sent the request before.
    """
    rest = said[same:]
    listed, stored = _blurred(rest), _blurred(tail)
    both = _common(listed, stored) if is_whole else 0
    if both == len(listed):
        return _ended(said, tail, both, retried=retried)
    if both == len(stored):
        return Met(same + both)
    begins_alike = same + both > 0  # else what is sent alone may be said again
    if (begins_alike or retried) and (end := _asked_last(rest[both:], tail[both:])) is not None:
        return Met(len(said), both + end, tuple(range(both + end, len(tail))))
    found = match(listed[both:], stored[both:], stored=len(stored) - both, joins_forks=True)
    assert found is not None
    if found.ahead:
        return _ended(said, tail, len(tail) - found.ahead, retried=retried)
    first = same + both
    return Met(first + found.new_from, len(tail), passed_over=tuple(first + i for i in found.passed_over))


def _ended(said: Sequence[RoleAndDigest], tail: Sequence[RoleAndDigest], end: int, *, retried: bool) -> Met:
    """The list ends after so many messages of the tail. Only answers to it follow there, or it is asked again."""
    answers = 0
    while end + answers < len(tail) and tail[end + answers][0] == "assistant":
        answers += 1
    if end + answers == len(tail) or (retried and answers):
        return Met(len(said), end, tuple(range(end, end + answers)))
    first = _turn(said)
    again = _asked_last(said[first:], tail[end:])
    if again is not None:  # it was said again already
        return Met(len(said), end + again, tuple(range(end + again, len(tail))))
    return Met(first)


def _turn(said: Sequence[RoleAndDigest]) -> int:
    """Where the list's last turn begins: after the last answer that is not its end."""
    for at in range(len(said) - 1, 0, -1):
        if said[at - 1][0] == "assistant":
            return at
    return 0


def _asked_last(turn: Sequence[RoleAndDigest], tail: Sequence[RoleAndDigest]) -> int | None:
    """Where in the tail the turn ends, if nothing but answers follows there."""
    listed, stored = _blurred(turn), _blurred(tail)
    end = len(tail)
    while end >= len(turn):
        if listed == stored[end - len(turn) : end]:
            return end
        if not end or tail[end - 1][0] != "assistant":
            return None
        end -= 1
    return None


def _blurred(said: Sequence[RoleAndDigest]) -> list[bytes]:
    return [ANYTHING if role == "assistant" else digest for role, digest in said]


def _common(one: Sequence[bytes], other: Sequence[bytes]) -> int:
    length = 0
    while length < min(len(one), len(other)) and one[length] == other[length]:
        length += 1
    return length


def answered_prefixes(roles: Sequence[str], chains: Sequence[bytes]) -> list[bytes]:
    """The chains of the list's beginnings that hold an answer: where a conversation that it goes on with may end."""
    first = next((i for i, role in enumerate(roles) if role == "assistant"), len(roles))
    return list(chains[first + 1 :][-PREFIXES_MAX:])


@dataclass(frozen=True, slots=True)
class Candidate:
    """A conversation that was held through the proxy."""

    id: str
    chain: bytes
    asked: bytes
    answered: bytes | None
    system: str | None


def continued(
    candidates: Sequence[Candidate], chains: Sequence[bytes], *, system: str | None, retried: bool
) -> str | None:
    """Which of the conversations, the latest first, a list goes on with.

    One whose first answer is in the list; or, where the client says that it sent the request before, one that began
    with this very request. That others begin with the same words is no sign. Of several that say the same, one that
    ends where the list goes on, before one in which the same was asked and answered; of those the longest.
    """
    place = {chain: index for index, chain in enumerate(chains)}
    known = [c for c in candidates if c.answered in place]
    if not known and retried:
        known = [c for c in candidates if c.asked == chains[-1] and c.system == system]
    reached = [(retried and c.asked == chains[-1], place.get(c.chain, 0), place.get(c.asked, 0)) for c in known]
    return known[reached.index(max(reached))].id if known else None


def newest_user_text(messages: Sequence[Mapping[str, Any]]) -> str | None:
    """What the newest user message of a list says, in OpenAI form; None where there is none, or it says nothing."""
    newest = next((message for message in reversed(messages) if message.get("role") == "user"), None)
    content = newest.get("content") if newest is not None else None
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    texts = [part.get("text") for part in parts if isinstance(part, Mapping) and part.get("type") == "text"]
    return "\n".join(text for text in texts if isinstance(text, str)).strip() or None


# --- Whose calls ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Calls:
    """An answer's calls, each in OpenAI form."""

    inner: list[dict[str, Any]]
    """To be run by Quire."""
    outer: list[dict[str, Any]]
    """The client's."""


def whose(calls: Sequence[dict[str, Any]], recall_tools: Collection[str], client_tools: Collection[str]) -> Calls:
    def is_inner(call: Mapping[str, Any]) -> bool:
        name = call["function"]["name"]
        return name in recall_tools and name not in client_tools

    return Calls([c for c in calls if is_inner(c)], [c for c in calls if not is_inner(c)])


def sound_calls(calls: object) -> list[dict[str, Any]]:
    """The calls of an answer as a list of proper ones: each with a name, arguments, and an id that no other has."""
    found: list[dict[str, Any]] = []
    ids: set[str] = set()
    for call in calls if isinstance(calls, list) else []:
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str) or not function["name"]:
            continue
        arguments = function.get("arguments")
        text = arguments if isinstance(arguments, str) else json.dumps(arguments or {}, ensure_ascii=False)
        id_ = call.get("id")
        if not isinstance(id_, str) or not id_ or id_ in ids:
            id_ = f"call_{len(found)}"
            while id_ in ids:
                id_ += "_"
        ids.add(id_)
        sound = {"id": id_, "type": "function", "function": {**function, "arguments": text}}
        found.append({**call, **sound})
    return found


def names_of(tools: object) -> frozenset[str]:
    """The names of tools in OpenAI form."""
    found = tools if isinstance(tools, list | tuple) else ()
    functions = [tool.get("function") for tool in found if isinstance(tool, dict)]
    return frozenset(f["name"] for f in functions if isinstance(f, dict) and isinstance(f.get("name"), str))


def offered(
    client_tools: Sequence[dict[str, Any]], recall_tools: Sequence[dict[str, Any]], *, recalls: bool
) -> dict[str, Any]:
    """What a request to the model says of tools. A tool of the client's takes the place of Quire's of the same name.

    Where no more is to be recalled, Quire's are taken away; where there are no others, their use is forbidden instead,
    since some providers take no calls in the messages without tools beside them.
    """
    own = names_of(client_tools)
    ours = [tool for tool in recall_tools if not names_of([tool]) <= own]
    if recalls or not client_tools:
        tools = [*client_tools, *ours]
        withheld = {"tool_choice": "none"} if ours and not recalls else {}
        return {"tools": tools, **withheld} if tools else {}
    return {"tools": list(client_tools)}


def added(one: Mapping[str, Any] | None, other: object) -> dict[str, Any] | None:
    """The usage of two calls together; what is no number is the later one's."""
    if not isinstance(other, Mapping):
        return dict(one) if one is not None else None
    total: dict[str, Any] = dict(one or {})
    for name, value in other.items():
        before = total.get(name)
        if isinstance(value, Mapping):
            total[name] = added(before if isinstance(before, Mapping) else None, value)
        elif type(value) in (int, float) and type(before) in (int, float):
            total[name] = before + value
        else:
            total[name] = value
    return total


def joined(before: str, text: str) -> str:
    """What was said before a recall and what after it, as the client sees them."""
    return f"{before}{PAUSE}{text}" if before and text else before or text


PAUSE = "\n\n"
"""Between what a model says before it recalls something and after it."""

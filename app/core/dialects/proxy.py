"""Decisions of the proxy in front of a model: what a client's list asks, and whose calls an answer contains.

**What a list asks.** A client sends its whole list each time, or only what is new; some change the text of answers
before they send them back (they strip it, or keep only the part that was read). So if a list and the stored messages
differ, they are compared again with all assistant messages treated as equal: those answers came from here, and the
stored text stays. The list then meets the stored messages in one of these ways:

    it continues                     what follows is appended
    it ends with the last question   nothing is appended; answers to it may be stored already
    it ends earlier                  its last turn is asked once more, at the end of the conversation; unless all that
                                     follows was stored since it arrived: another process was quicker
    it differs                       like a synced list whose forks are joined: what is new is appended

**Whose calls.** In an answer, calls of recall tools are Quire's, unless the client has tools with these names. The
client receives only its own calls, and must answer all of them; what Quire's calls loaded is stored as messages that
appear in no client's list.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from app.core.conversation import OpenCall
from app.core.dialects.question import function_name
from app.core.history.sync import DIGEST_BYTES, match
from app.core.messages import Draft

ANYTHING = b"an answer".ljust(DIGEST_BYTES)
"""Replaces the digest of any assistant message."""
PREFIXES_MAX = 64
"""Number of a list's newest prefixes to look up as possible ends of a conversation."""

ALIKE_SHARE, COMPARED_CHARACTERS = 0.6, 500
"""An edited message has so many of the pairs of characters of the one that it replaces; a guess, tried on no data."""

RoleAndDigest = tuple[str, bytes]
"""Role and digest of a message."""


# --- What a list asks -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MeetingPlace:
    """The position where a client's list meets the stored messages."""

    new_from: int
    """The index of the first message to append; the list's length if there is none."""
    asked: int = 0
    """If nothing is appended: the number of the tail's messages up to the list's end."""
    answers: tuple[int, ...] = ()
    """Places in the tail of the stored answers to it."""
    passed_over: tuple[int, ...] = ()
    """Messages of a fork that precede stored ones, so that they cannot be appended."""


def meet(
    said: Sequence[RoleAndDigest],
    same: int,
    tail: Sequence[RoleAndDigest],
    *,
    is_whole: bool,
    retried: bool,
    overtaken_by: int = 0,
) -> MeetingPlace:
    """Find where a list meets the stored messages. Both begin with the same ``same`` messages.

    ``tail`` holds the stored messages beyond these, oldest first: all of them, or (not ``is_whole``) the newest.
    ``retried``: the client marked the request as a retry. ``overtaken_by``: how many of the newest were stored since it
    arrived.
    """
    rest = said[same:]
    listed, stored = _without_answers(rest), _without_answers(tail)
    both = _common(listed, stored) if is_whole else 0
    if both == len(listed):
        return _meet_end(said, tail, both, overtaken_by, retried=retried)
    if both == len(stored):
        return MeetingPlace(same + both)
    begins_alike = same + both > 0  # otherwise a message that is sent alone could be repeated on purpose
    if (begins_alike or retried) and (end := _asked_last(rest[both:], tail[both:])) is not None:
        return MeetingPlace(len(said), both + end, tuple(range(both + end, len(tail))))
    found = match(listed[both:], stored[both:], stored=len(stored) - both, joins_forks=True)
    assert found is not None
    if found.ahead:
        return _meet_end(said, tail, len(tail) - found.ahead, overtaken_by, retried=retried)
    first = same + both
    return MeetingPlace(first + found.matched, len(tail), passed_over=tuple(first + i for i in found.passed_over))


def leaves_out(said: Sequence[RoleAndDigest], tail: Sequence[RoleAndDigest]) -> bool:
    """Return whether a list omits an answer of the stored messages that it must continue."""
    both = _common(_without_answers(said), _without_answers(tail))
    return any(role == "assistant" for role, _ in tail[both:])


def edited(said: Sequence[RoleAndDigest], same: int, tail: Sequence[RoleAndDigest], *, is_whole: bool) -> int:
    """Return after how many messages a complete list replaces an answered turn of the stored ones; 0 if it does not.
    The messages in common must hold an answer, because a list of only new messages can begin like the stored ones.
    """
    rest = said[same:]
    listed, stored = _without_answers(rest), _without_answers(tail)
    both = _common(listed, stored) if is_whole else 0
    if not is_whole or both in (len(listed), len(stored)):
        return 0
    begins = any(role == "assistant" for role, _ in said[: same + both])
    leaves = any(role == "assistant" for role, _ in tail[both:])
    joins = match(listed[both:], stored[both:], stored=len(stored) - both, joins_forks=False) is not None
    return same + both if begins and leaves and not joins else 0


def is_reworded(one: str, other: str) -> bool:
    """Return whether a message can be an edit of another, by Dice's coefficient of character pairs, in linear time."""
    said, told = (Counter(pairwise(text[:COMPARED_CHARACTERS])) for text in (one, other))
    return 2 * (said & told).total() >= ALIKE_SHARE * (said.total() + told.total())


def stored_ids(answer: Sequence[Draft], stored: Sequence[OpenCall]) -> dict[str, str]:
    """Map the ids of a list's open calls to the stored ids, by position."""
    answered = {result.call_id for draft in answer[1:] for result in draft.results}
    calls = [call for call in answer[0].calls if call.id not in answered]
    is_alike = [call.name for call in calls] == [call.name for call in stored]
    return {call.id: own.id for call, own in zip(calls, stored, strict=True)} if is_alike else {}


def _meet_end(
    said: Sequence[RoleAndDigest], tail: Sequence[RoleAndDigest], end: int, overtaken_by: int, *, retried: bool
) -> MeetingPlace:
    """Return the place of a list that ends within the tail: only answers follow it, or it asks again."""
    answers = 0
    while end + answers < len(tail) and tail[end + answers][0] == "assistant":
        answers += 1
    left = len(tail) - end
    if left == answers or (retried and answers):
        return MeetingPlace(len(said), end, tuple(range(end, end + answers)))
    if left <= overtaken_by:
        return MeetingPlace(len(said), end)  # its own answer is among what follows, or comes
    first = _turn(said)
    again = _asked_last(said[first:], tail[end:])
    if again is not None:  # it was said again already
        return MeetingPlace(len(said), end + again, tuple(range(end + again, len(tail))))
    return MeetingPlace(first)


def _turn(said: Sequence[RoleAndDigest]) -> int:
    for at in range(len(said) - 1, 0, -1):
        if said[at - 1][0] == "assistant":
            return at
    return 0


def _asked_last(turn: Sequence[RoleAndDigest], tail: Sequence[RoleAndDigest]) -> int | None:
    listed, stored = _without_answers(turn), _without_answers(tail)
    end = len(tail)
    while end >= len(turn):
        if listed == stored[end - len(turn) : end]:
            return end
        if not end or tail[end - 1][0] != "assistant":
            return None
        end -= 1
    return None


def _without_answers(said: Sequence[RoleAndDigest]) -> list[bytes]:
    return [ANYTHING if role == "assistant" else digest for role, digest in said]


def _common(one: Sequence[bytes], other: Sequence[bytes]) -> int:
    length = 0
    while length < min(len(one), len(other)) and one[length] == other[length]:
        length += 1
    return length


def answered_prefixes(roles: Sequence[str], chains: Sequence[bytes]) -> list[bytes]:
    """Return the chains of the list's prefixes that contain an answer. Its conversation can end with any of them."""
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
    """Return the conversation that a list continues; candidates are ordered latest first.

    Its first answer must be in the list or, for a retry, it must begin with this very request: equal opening words
    prove nothing. Among several, one that ends where the list continues wins over one in which the question was
    answered already; then the longest wins.
    """
    place = {chain: index for index, chain in enumerate(chains)}
    known = [c for c in candidates if c.answered in place]
    if not known and retried:
        known = [c for c in candidates if c.asked == chains[-1] and c.system == system]
    reached = [(retried and c.asked == chains[-1], place.get(c.chain, 0), place.get(c.asked, 0)) for c in known]
    return known[reached.index(max(reached))].id if known else None


def newest_user_text(messages: Sequence[Mapping[str, Any]]) -> str | None:
    """Return the text of a list's newest user message; None if there is none, or it is blank.

    In Anthropic's form, a message with only tool results does not count.
    """
    said = (m.get("content") for m in reversed(messages) if m.get("role") == "user" and not _only_results(m))
    content = next(said, None)
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    texts = [part.get("text") for part in parts if isinstance(part, Mapping) and part.get("type") == "text"]
    return "\n".join(text for text in texts if isinstance(text, str)).strip() or None


def _only_results(message: Mapping[str, Any]) -> bool:
    content = message.get("content")
    parts = content if isinstance(content, list) else []
    return bool(parts) and all(isinstance(part, Mapping) and part.get("type") == "tool_result" for part in parts)


# --- Whose calls ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ToolOwners:
    """The names of the recall tools and of the client's tools. An equal name is the client's."""

    recall: Collection[str]
    client: Collection[str]

    def is_inner(self, name: str) -> bool:
        """Return whether Quire runs the calls of a tool."""
        return name in self.recall and name not in self.client

    def divide(self, calls: Sequence[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """Return an answer's calls, each in OpenAI form: those for Quire to run, and the client's."""
        inner = [call for call in calls if self.is_inner(call["function"]["name"])]
        return inner, [call for call in calls if not self.is_inner(call["function"]["name"])]


def names_of(tools: object) -> frozenset[str]:
    """Return the names of tools in any dialect's form."""
    found = tools if isinstance(tools, list | tuple) else ()
    return frozenset(name for tool in found if (name := function_name(tool)) is not None)


def offered(
    client_tools: Sequence[dict[str, Any]], recall_tools: Sequence[dict[str, Any]], *, recalls: bool
) -> tuple[list[dict[str, Any]], bool]:
    """Return the tools of a model request, and whether they can be called.

    A tool of the client replaces Quire's tool of the same name.

    Once no more recalls are allowed, Quire's tools are removed; if there are no others, their use is forbidden instead,
    since some providers reject calls in messages without tools.
    """
    own = names_of(client_tools)
    ours = [tool for tool in recall_tools if not names_of([tool]) <= own]
    if recalls or not client_tools:
        return [*client_tools, *ours], recalls or not ours
    return list(client_tools), True


def added(one: Mapping[str, Any] | None, other: object) -> dict[str, Any] | None:
    """Return the sum of two calls' usage. Members that are no numbers come from the later call."""
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


PAUSE = "\n\n"
"""Between what a model says before it recalls something and after it."""

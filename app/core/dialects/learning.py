"""Learn from an API's refusal which request forms it does not accept, whatever its table row says.

A refusal is searched for names: an unknown member is left out, and a missing one gets a stand-in.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

LIMITS = ("max_tokens", "max_completion_tokens")
ESSENTIAL = frozenset({"model", "messages", "input", "tools", "stream", "system", "instructions"})
MISSING = r"(?i)missing|must|passed back|required|expected"
_NOUNS = r"(?:parameter|argument|field|propert(?:y|ies)|inputs?|key|option|member)s?"
_UNKNOWN = rf"\b(?:unknown|unsupported|unrecogni[sz]ed|unexpected|extra|additional)\b[\w\s]{{0,20}}\b{_NOUNS}\b"
_FORBIDDEN = rf"\b{_NOUNS}\s+(?:cannot|can't|must not|may not)\b"
FIELD = rf"(?i)参数|字段|{_UNKNOWN}|{_FORBIDDEN}|\b{_NOUNS}\s+['\"`]?[\w.]+['\"`]?\s+(?:is|are) (?:not|un)"
"""How APIs describe a member that they do not know."""
UNKNOWN = rf"{FIELD}|not (?:be )?(?:permitted|allowed|supported|given)|cannot be|unsupported|unexpected|不支持"
SEALED = r"(?i)signature|encrypted"
NESTED = ESSENTIAL | {
    "role", "content", "type", "text", "id", "function", "arguments", "tool_calls", "tool_call_id", "call_id",
    "output", "tool_use_id", "parameters", "input_schema", "max_tokens", "thinking", "signature", "data", "summary",
    "source", "image_url", "url", "media_type", "file",
}  # fmt: skip
"""Members within messages and tools that nothing can do without; of reasoning, all goes or none."""
SCHEMAS = ("parameters", "input_schema", "schema", "metadata")
"""Members with objects of the client's own."""
SHAPE = r"(?i)content|\bid\b|role|system|alternat|sequence|string|duplicate|nil|null|`text`"
REASONING = r"(?i)signature|thinking|thought|encrypted|reasoning"
WANTED = rf"{REASONING}|function|tool"
"""What is said of something that a call must have."""
THINKING = "thinking"
THINKING_BLOCKS = frozenset({"thinking", "redacted_thinking"})
_WORDS = frozenset({"tool_calls", "tool_call", "tool_call_id", "tool_use", "tool_result", "invalid_request_error"})
_LIST = re.compile(r"\[(?:(?:'\w+'|\d+)(?:, )?)+\]")
_PATH = re.compile(r"\w+(?:(?:\.|\[)\w+\]?)+")
_QUOTED = re.compile(r"['\"`‘“](\w+)['\"`’”]")


@dataclass(frozen=True, slots=True)
class Lessons:
    """Rules learned from an API's refusals: members to leave out, and forms to use."""

    dropped: frozenset[str] = frozenset()
    """Members of a request that are left out; of the answer's limit, its name."""
    inner: frozenset[str] = frozenset()
    """Members that are left out wherever a message, a tool or an option has them."""
    bare: bool = False
    """Nothing that answers carried is sent."""
    stand_ins: frozenset[str] = frozenset()
    """Members that each answer with calls must have."""
    careful: bool = False
    """Messages have the form that every API takes."""
    told: bool = False
    """Calls without their reasoning are text, and so are their results."""

    @property
    def guesses(self) -> tuple[bool, ...]:
        return self.bare, self.careful, self.told


NOTHING = Lessons()


def further_lessons(learned: Lessons, body: Mapping[str, Any], told: str) -> Iterator[Lessons]:
    """Yield what to leave out after a refusal, the likeliest first.

    A member that the refusal names is left out, or gets a stand-in if it is missing. Otherwise nothing that earlier
    answers carried is sent. Calls that lack reasoning for which there is no stand-in become text.
    """
    is_missing, is_unknown = (bool(re.search(pattern, told)) for pattern in (MISSING, UNKNOWN))
    messages = body.get("messages") or []
    has_calls = any(message.get("tool_calls") or _kinds(message) & {"tool_use"} for message in messages)
    is_of_calls = has_calls and bool(re.search(REASONING if not is_missing else WANTED, told))
    if is_of_calls and is_missing and THINKING not in learned.stand_ins and _lacks_thinking(body):
        yield replace(learned, stand_ins=learned.stand_ins | {THINKING})
    if (first := _likely(learned, body, told, is_missing=is_missing, is_unknown=is_unknown)) is not None:
        yield first
    if is_of_calls:
        yield replace(learned, told=True, bare=False, stand_ins=frozenset())
        yield replace(learned, told=True, bare=True, stand_ins=frozenset())
    roles = [message.get("role") for message in messages]
    if not learned.careful and any(one == other in ("user", "assistant") for one, other in pairwise(roles)):
        yield replace(learned, careful=True)  # whatever its words, roles that take turns are worth a try


def _lacks_thinking(body: Mapping[str, Any]) -> bool:
    found = [_kinds(message) for message in body.get("messages") or []]
    return any("tool_use" in kinds and kinds.isdisjoint(THINKING_BLOCKS) for kinds in found)


def _kinds(message: Mapping[str, Any]) -> set[Any]:
    blocks = content if isinstance(content := message.get("content"), list) else []
    return {block.get("type") for block in blocks if isinstance(block, Mapping)}


def _likely(
    learned: Lessons, body: Mapping[str, Any], told: str, *, is_missing: bool, is_unknown: bool
) -> Lessons | None:
    words, sure = _names_in(told)
    if learned.bare and is_missing and re.search(REASONING, told):
        return replace(learned, bare=False)
    absent = _absent(learned, body, words) if is_missing else set()
    if absent and not is_unknown:
        return replace(learned, stand_ins=learned.stand_ins | {min(absent)})
    if not learned.bare and not is_unknown and re.search(SEALED, told):
        return replace(learned, bare=True)
    fewer = _without_named(learned, body, words, sure, is_unknown=is_unknown)
    if fewer is None and absent:
        return replace(learned, stand_ins=learned.stand_ins | {min(absent)})
    return fewer or _guess(learned, told)


def _guess(learned: Lessons, told: str) -> Lessons | None:
    """Return what can help if a refusal names nothing that was sent."""
    is_of_reasoning = bool(re.search(REASONING, told))
    if re.search(SHAPE, told) and not is_of_reasoning and not learned.careful:
        return replace(learned, careful=True)
    is_of_other = bool(re.search(FIELD, told)) and not is_of_reasoning
    return None if learned.bare or is_of_other else replace(learned, bare=True)


def blames_form(body: Mapping[str, Any], told: str) -> bool:
    """Return whether a refusal is about the request's form, not about its content."""
    words, sure = _names_in(told)
    named = any(name in words for name in body if name not in ESSENTIAL) or "tools" in words
    return named or bool(re.search(FIELD, told)) or bool(_inner_names(body) & sure)


def _names_in(told: str) -> tuple[set[str], set[str]]:
    """Return the names in a refusal (of a path the last one), and those of them in paths or quotation marks."""
    told = _LIST.sub(lambda found: ".".join(re.findall(r"\w+", found[0])), told)
    paths = [re.findall(r"[A-Za-z_]\w*", path) for path in _PATH.findall(told)]
    last = {path[-1] for path in paths if path}
    rest = _PATH.sub(" ", told)
    return last | set(re.findall(r"[A-Za-z_]\w*", rest)), last | set(_QUOTED.findall(rest))


def _absent(learned: Lessons, body: Mapping[str, Any], words: set[str]) -> set[str]:
    """Return the words that name a member which some answer with calls lacks."""
    named = {word for word in words if re.fullmatch(r"reasoning|[a-z]+(_[a-z]+)+", word)} - learned.stand_ins - _WORDS
    messages = [message for message in body.get("messages") or [] if message.get("role") != "user"]
    sent = [set(message) for message in messages if message.get("tool_calls")]
    other = {name for message in messages for name in message}
    return {word for word in named if any(word not in one for one in sent) and (sent or word not in other)}


def _without_named(
    learned: Lessons, body: Mapping[str, Any], words: set[str], sure: set[str], *, is_unknown: bool
) -> Lessons | None:
    """Return the lesson of a refusal that names a member. If it names several, the ``sure`` ones count."""
    outer = {name for name in body if name not in ESSENTIAL and name in words} - learned.dropped
    inner = (_inner_names(body) & words) - learned.inner
    if outer & sure or (outer and not inner & sure):
        return replace(learned, dropped=learned.dropped | (outer & sure or outer))
    if inner & sure or (inner and is_unknown):
        return replace(learned, inner=learned.inner | (inner & sure or inner))
    return None


def _inner_names(value: Any, depth: int = 0) -> set[str]:
    if isinstance(value, list):
        return {name for item in value for name in _inner_names(item, depth)}
    if not isinstance(value, Mapping):
        return set()
    own = {name for name in value if depth and _can_go(name, value)}
    return own.union(*(_inner_names(item, depth + 1) for name, item in value.items() if name not in SCHEMAS))


def _can_go(name: str, owner: Mapping[str, Any]) -> bool:
    return "role" in owner if name == "name" else name not in NESTED


def without(value: Any, names: frozenset[str]) -> Any:
    """Return a value without members of these names, and without objects that become empty."""
    if isinstance(value, list):
        return [without(item, names) for item in value]
    if not isinstance(value, Mapping):
        return value
    kept = {
        name: item if name in SCHEMAS else without(item, names)
        for name, item in value.items()
        if name not in names or not _can_go(name, value)
    }
    return {name: item for name, item in kept.items() if item != {} or value[name] == {}}

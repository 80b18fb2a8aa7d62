"""Marks for prompt caches that are read only at a mark and never match a shorter prefix by themselves.

They stand behind what later requests repeat, most important first, and never behind volatile text: recalls, or results
that shrink to a line. A client can opt out. Its own marks on shown text are kept, as many as the API allows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from app.core.dialects.question import Dialect
from app.core.models import PromptCache

Json = dict[str, Any]
MARKS_MAX = 4
"""The Messages API refuses a request with more cache marks."""
CONTROL = "cache_control"
ROLES = {
    "breakpoints": ("system", "developer", "user", "tool"),
    "marks": ("system", "developer", "user", "assistant", "tool"),
}
"""Messages that can be marked."""
UNMARKED = ("thinking", "redacted_thinking")


def places(fleeting: Sequence[bool], roles: Sequence[str]) -> list[int]:
    """Return the messages to mark behind, most important first. The next turn does not repeat ``fleeting`` ones.

    The next call of a turn repeats everything, so the end is marked. The next turn repeats what comes before the first
    fleeting message. Because some APIs look back only a few blocks, the end of the previous request is marked too:
    before the last answer in a turn, before the last user message between turns.
    """
    end = len(roles) - 1
    lasting = next((at for at, is_fleeting in enumerate(fleeting) if is_fleeting), len(roles)) - 1
    answers = [at for at, role in enumerate(roles) if role == "assistant"]
    users = [at for at, role in enumerate(roles[: lasting + 1]) if role == "user"]
    is_loop = bool(answers) and answers[-1] > max(users, default=-1) and answers[-1] > lasting
    before = answers[-1] - 1 if is_loop else users[-1] - 1 if users else -1
    return [at for at in dict.fromkeys((end, lasting, before)) if at >= 0]


def marked(cache: PromptCache, dialect: Dialect, body: Json, repeated: Sequence[int]) -> Json:
    """Return a request with marks, if its API has no other way to reuse a prefix.

    ``repeated``: how many messages follow each place to mark (``places``).
    """
    body = _without_mode(body)
    is_wanted = cache.kind in ROLES and bool(cache.mark)
    if dialect != "messages":
        return _chat_marked(cache, body, repeated) if is_wanted else body
    given = [mark for owner in (body, *(block for _, block in _blocks(body))) if (mark := owner.get(CONTROL))]
    if not given and not is_wanted:
        return body
    hours = [mark for mark in given if isinstance(mark, Mapping) and mark.get("ttl") == "1h"]
    return _messages_marked(body, [*hours, *given, {"type": "ephemeral"}][0], repeated)


def _without_mode(body: Json) -> Json:
    """Return the request without a mode that turns automatic caching off: a client's marks do not fit the window."""
    options = body.get("prompt_cache_options")
    if not isinstance(options, Mapping) or options.get("mode") != "explicit":
        return body
    return {**body, "prompt_cache_options": {name: value for name, value in options.items() if name != "mode"}}


def _chat_marked(cache: PromptCache, body: Json, repeated: Sequence[int]) -> Json:
    name = "messages" if "messages" in body else "input"
    value = {"mode": "explicit"} if cache.kind == "breakpoints" else {"type": "ephemeral"}
    said: list[Json] = list(body[name])
    chosen: list[int] = []
    for after in repeated:
        before = range(len(said) - 1 - after, -1, -1)
        at = next((at for at in before if _can_be(said[at], cache.kind, name)), None)
        chosen += [at] if at is not None and at not in chosen else []
    for at in chosen[: cache.marks_max or MARKS_MAX]:
        content = said[at]["content"]
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if name == "input" and parts[-1]["type"] == "text":
            parts = [*parts[:-1], {**parts[-1], "type": "input_text"}]
        said[at] = {**said[at], "content": [*parts[:-1], {**parts[-1], cache.mark: value}]}
    return {**body, name: said}


def _can_be(message: Json, kind: str, name: str) -> bool:
    """Return whether a message can be marked: in Responses, assistant text has no form with marks."""
    content, role = message.get("content"), message.get("role")
    return (
        role in ROLES[kind]
        and (role, name) != ("assistant", "input")
        and isinstance(content, str | list)
        and bool(content)
    )


# --- Messages --------------------------------------------------------------------------------------------


def _messages_marked(body: Json, mark: Any, repeated: Sequence[int]) -> Json:
    messages: list[Json] = body["messages"]
    wanted = [_last_block(messages, len(messages) - 1 - after) for after in repeated]
    first = "system" if isinstance(body.get("system"), list) else "tools"
    wanted[2:2] = [(first, 0, len(body[first]) - 1)] if body.get(first) else []
    wanted += [place for place, block in _blocks(body) if CONTROL in block][::-1]
    chosen = list(dict.fromkeys(place for place in wanted if place is not None))[:MARKS_MAX]
    found = {name: value for name, value in body.items() if name != CONTROL}
    for name in ("tools", "system"):
        if isinstance(found.get(name), list):
            found[name] = _set(found[name], name, 0, chosen, mark)
    found["messages"] = [
        {**message, "content": _set(message["content"], "messages", at, chosen, mark)}
        if isinstance(message["content"], list) else message
        for at, message in enumerate(messages)
    ]  # fmt: skip
    return found


Place = tuple[str, int, int]
"""A list of the request, a message in it, and a block of the message."""


def _last_block(messages: Sequence[Json], at: int) -> Place | None:
    for place in range(at, -1, -1):
        content = messages[place]["content"]
        blocks = content if isinstance(content, list) else []
        if found := [n for n, block in enumerate(blocks) if block["type"] not in UNMARKED]:
            return "messages", place, found[-1]
    return None


def _blocks(body: Json) -> Iterator[tuple[Place, Json]]:
    lists = [(name, 0, body.get(name)) for name in ("tools", "system")]
    lists += [("messages", at, message["content"]) for at, message in enumerate(body["messages"])]
    for name, at, blocks in lists:
        yield from (((name, at, n), block) for n, block in enumerate(blocks if isinstance(blocks, list) else ()))


def _set(blocks: Sequence[Json], name: str, at: int, chosen: Sequence[Place], mark: Any) -> list[Json]:
    return [
        {
            **{n: value for n, value in block.items() if n != CONTROL},
            **({CONTROL: mark} if (name, at, n) in chosen else {}),
        }
        for n, block in enumerate(blocks)
    ]

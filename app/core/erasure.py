"""What stands for a message that was erased: a mark that keeps its place, its role and its calls.

A window that showed the message shows the mark, so pairs stay whole: a call keeps its id and a result the id that it
answers; names and arguments of calls go, for they say something too. Whatever a recall tool brought back of it, into
this conversation or another of the user's, goes with it (``Repeats``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.core.canonical import dumps
from app.core.messages import SENT_FIELDS, THINKING_PARTS
from app.core.model import Language

ERASED = "[erased]"
_MARKS: dict[Language, str] = {"en": ERASED, "zh": "[已删除]"}
_PRUNED: dict[Language, str] = {
    "en": "[pruned; search_memories still finds what it said]",
    "zh": "[已精简;search_memories 仍可查到其内容]",
}
CALL_NAME = "erased"
"""Stands for the name of a call: what every API takes as one."""
REPEAT_CHARACTERS = 12
"""So many letters and digits in a row that two texts share are no accident."""
PROBE_CHARACTERS = 8
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_NOT_PLAIN = re.compile(r"[\W_]+")
_NOT_TEXT = frozenset({"role", "tool_call_id", "tool_calls"})


@dataclass(frozen=True, slots=True)
class Forms:
    """What is stored of a message besides its place."""

    body: str
    view: str | None
    anthropic: str | None


def mark(language: Language) -> str:
    """What an erased message says."""
    return _MARKS[language]


def pruned_mark(language: Language) -> str:
    """What stands for a message that is kept in search only."""
    return _PRUNED[language]


def erased_forms(
    body: Mapping[str, Any],
    view: Sequence[Mapping[str, Any]],
    anthropic: Mapping[str, Any] | None,
    said: str,
    kept_names: Collection[str] = (),
) -> Forms:
    """The forms of a message of which a mark (``said``) is all that is left.

    ``view`` is what windows show of it, in OpenAI form; none for an orphan. ``kept_names`` are those of tools that
    mean something to Quire: calls of them keep their name.
    """
    original = dumps(_erased(body, said, kept_names))
    seen = ",".join(dumps(_erased(message, said, kept_names)) for message in view)
    return Forms(
        body=original,
        view=None if seen == original else seen,
        anthropic=dumps(_erased(anthropic, said, kept_names)) if anthropic is not None else None,
    )


def _erased(message: Mapping[str, Any], said: str, kept_names: Collection[str]) -> dict[str, Any]:
    kept: dict[str, Any] = {"role": message["role"]}
    if "tool_call_id" in message:
        kept["tool_call_id"] = message["tool_call_id"]
    content = message.get("content")
    kept["content"] = _blocks(content, said, kept_names) if isinstance(content, list) and _has_pairs(content) else said
    calls = [_call(call, kept_names) for call in message.get("tool_calls") or []]
    if calls:
        kept["tool_calls"] = calls
        if not _says(message):
            kept["content"] = None
    return kept


def _says(message: Mapping[str, Any]) -> bool:
    return any(message.get(name) for name in SENT_FIELDS if name not in _NOT_TEXT)


def _has_pairs(content: Sequence[Mapping[str, Any]]) -> bool:
    return any(part.get("type") in ("tool_use", "tool_result") for part in content)


def _blocks(content: Sequence[Mapping[str, Any]], said: str, kept_names: Collection[str]) -> list[dict[str, Any]]:
    """The calls and results of a message in Anthropic form; one text stands for all else that it said."""
    blocks: list[dict[str, Any]] = []
    told = False
    for part in content:
        match part.get("type"):
            case "tool_use":
                blocks.append({"type": "tool_use", "id": part["id"], "name": _name(part["name"], kept_names)})
                blocks[-1]["input"] = {}
            case "tool_result":
                blocks.append({"type": "tool_result", "tool_use_id": part["tool_use_id"], "content": said})
            case kind if kind not in THINKING_PARTS and not told:
                blocks.append({"type": "text", "text": said})
                told = True
    return blocks


def _call(call: Mapping[str, Any], kept_names: Collection[str]) -> dict[str, Any]:
    name = _name(call.get("function", call)["name"], kept_names)
    return {"id": call["id"], "type": "function", "function": {"name": name, "arguments": "{}"}}


def _name(name: str, kept_names: Collection[str]) -> str:
    return name if name in kept_names else CALL_NAME


def swapped(value: Any, old: str, new: str) -> Any:
    """A value in which another text stands for a placeholder; where it was cut, its first line."""
    if isinstance(value, list):
        return [swapped(item, old, new) for item in value]
    if isinstance(value, dict):
        return {key: swapped(item, old, new) for key, item in value.items()}
    if value == old:
        return new
    first = old.split("\n", 1)[0]
    return new.split("\n", 1)[0] if isinstance(value, str) and value.startswith(first) else value


# --- What repeats it ----------------------------------------------------------------------------------


class Repeats:
    """Texts that may repeat what is erased, by a name for each; ``of`` says which do.

    Compared are letters and digits alone, so that quoting and escaping make no difference. A short text is only met
    where it is all that was said. It errs on the side of saying that a text is repeated.
    """

    def __init__(self, texts: Mapping[Hashable, str]) -> None:
        self._names = list(texts)
        self._places: dict[str, int | set[int]] = {}
        self._probes: set[str] = set()
        self._said: dict[str, set[Hashable]] = {}
        for number, (name, text) in enumerate(texts.items()):
            plain = _plain(text)
            for at in range(len(plain) - REPEAT_CHARACTERS + 1):
                self._add(plain[at : at + REPEAT_CHARACTERS], number)
            self._probes.update(plain[at : at + PROBE_CHARACTERS] for at in range(len(plain) - PROBE_CHARACTERS + 1))
            for line in text.replace("\\n", "\n").splitlines():
                self._said.setdefault(_plain(line.rsplit(": ", 1)[-1]), set()).add(name)

    def _add(self, run: str, number: int) -> None:
        known = self._places.setdefault(run, number)
        if isinstance(known, set):
            known.add(number)
        elif known != number:
            self._places[run] = {known, number}

    def of(self, text: str) -> set[Hashable]:
        """The names of the texts that repeat a part of this one."""
        plain = _plain(text)
        if len(plain) < REPEAT_CHARACTERS:
            return set(self._said.get(plain, ())) if plain else set()
        found: set[int] = set()
        # Whatever is shared holds one of the probes, which are a step apart: most of a text is passed over by them.
        steps = range(0, len(plain) - PROBE_CHARACTERS + 1, REPEAT_CHARACTERS - PROBE_CHARACTERS + 1)
        for at in [at for at in steps if plain[at : at + PROBE_CHARACTERS] in self._probes]:
            for start in range(max(0, at + PROBE_CHARACTERS - REPEAT_CHARACTERS), at + 1):
                known = self._places.get(plain[start : start + REPEAT_CHARACTERS])
                if known is not None:
                    found |= known if isinstance(known, set) else {known}
        return {self._names[number] for number in found}


def _plain(text: str) -> str:
    return _NOT_PLAIN.sub("", text.casefold())


# --- Answers that were kept ---------------------------------------------------------------------------

_IN_ANSWERS = frozenset(
    {
        "content", "content_preview", "placeholder", "query_summary", "result_summary", "summary", "system", "text",
        "thought", "result", "message", "error", "title", "tool_input", "tool_name",
    }
)  # fmt: skip
_LISTS = frozenset({"key_terms", "keywords", "sources"})
_NAMES = ("id", "uuid", "memory_key")
_CALLERS_IDS = frozenset({"client_id", "conversation_id", "user_id"})


def without_content(answer: Any, ids: Collection[str] | None, said: str) -> Any:
    """An answer that was kept for its Idempotency-Key, without what it said of what is erased: the objects with one
    of the ids (and what is in them), or all if ``ids`` is None. Ids that callers chose go too, for they may be names.
    """
    if isinstance(answer, list):
        return [without_content(item, ids, said) for item in answer]
    if not isinstance(answer, dict):
        return answer
    if ids is not None and not any(answer.get(name) in ids for name in _NAMES):
        return {key: without_content(value, ids, said) for key, value in answer.items()}
    return {key: _without(key, value, said) for key, value in answer.items()}


def _without(key: str, value: Any, said: str) -> Any:
    if key in _IN_ANSWERS and value is not None:
        return said
    if key in _LISTS:
        return []
    if key == "metadata":
        return {}
    if key in _CALLERS_IDS:
        return None
    if key == "id" and isinstance(value, str) and not _UUID.fullmatch(value):
        return said
    return without_content(value, None, said)


GONE = ""
"""Stands for the answer to a request that stored something which is not stored any more."""


@dataclass(frozen=True, slots=True)
class Redaction:
    """What kept answers must not say any more, by ids."""

    erased: frozenset[str] = frozenset()
    """What is gone."""
    changed: frozenset[str] = frozenset()
    """What is stored, but says less."""
    archives: Mapping[str, str] = field(default_factory=dict)
    """Archives that are gone, and what stands where they are shown."""


def redacted(response: str, redaction: Redaction, *, whole: bool) -> str:
    """Return a kept answer without what is erased (``whole``: it speaks of nothing else), or GONE.

    A request that is sent again must not be answered as if what it stored were there still. Answers to erasing
    requests and of recall tools acknowledge nothing, so they go on without what is erased.
    """
    if response == GONE:
        return GONE
    answer = json.loads(response)
    if _acknowledges(answer) and (whole or _names(answer, redaction.erased | redaction.archives.keys())):
        return GONE
    for archive, said in redaction.archives.items():
        answer = without_archive(answer, archive, said)
    ids = None if whole else redaction.erased | redaction.changed
    return dumps(without_content(answer, ids, ERASED))


def _acknowledges(answer: Any) -> bool:
    return isinstance(answer, dict) and "erased" not in answer and "is_error" not in answer


def _names(value: Any, ids: Collection[str]) -> bool:
    if isinstance(value, list):
        return any(_names(item, ids) for item in value)
    if not isinstance(value, dict):
        return False
    return any(value.get(name) in ids for name in _NAMES) or any(_names(item, ids) for item in value.values())


def without_archive(value: Any, archive: str, said: str) -> Any:
    """Return a value with ``said`` in place of every text that names an archive; its bare id stays."""
    if isinstance(value, str):
        return said if archive in value and value != archive else value
    if isinstance(value, list):
        return [without_archive(item, archive, said) for item in value]
    if isinstance(value, dict):
        if "archive" in value and len(value) == 1:
            return value
        return {key: without_archive(item, archive, said) for key, item in value.items()}
    return value

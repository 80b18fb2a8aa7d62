"""Replace erased messages by marks, which keep the place, role and calls of their message.

A window that showed the message shows the mark, so pairs stay whole: a call keeps its id, and a result the id of its
call. Names and arguments of calls are erased, because they are content too. So is every copy that a recall tool
loaded, into this conversation or another one of the user (``Repeats``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.core import wording
from app.core.canonical import dumps
from app.core.messages import SENT_FIELDS, THINKING_PARTS, function_of

ERASED = wording.ERASED.en
CALL_NAME = "erased"
"""Replaces the name of a call; valid in every API."""
REPEAT_CHARACTERS = 12
"""Two texts that share a run of this many letters and digits do not share it by accident."""
PROBE_CHARACTERS = 8
"""Runs of this length are looked up first, because that is cheap and every shared run contains one of them."""
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_NOT_PLAIN = re.compile(r"[\W_]+")
_NOT_TEXT = frozenset({"role", "tool_call_id", "tool_calls"})


@dataclass(frozen=True, slots=True)
class Forms:
    body: str
    view: str | None
    anthropic: str | None


def erased_forms(
    body: Mapping[str, Any],
    view: Sequence[Mapping[str, Any]],
    anthropic: Mapping[str, Any] | None,
    mark_text: str,
    kept_names: Collection[str] = (),
) -> Forms:
    """Return the forms of the mark (``mark_text``) that replaces a message.

    ``view`` is the message as windows show it, in OpenAI form; empty for an orphan. Calls of the tools ``kept_names``
    keep their names, because Quire itself reads them.
    """
    original = dumps(_erased(body, mark_text, kept_names))
    seen = ",".join(dumps(_erased(message, mark_text, kept_names)) for message in view)
    return Forms(
        body=original,
        view=None if seen == original else seen,
        anthropic=dumps(_erased(anthropic, mark_text, kept_names)) if anthropic is not None else None,
    )


def _erased(message: Mapping[str, Any], mark_text: str, kept_names: Collection[str]) -> dict[str, Any]:
    result: dict[str, Any] = {"role": message["role"]}
    if "tool_call_id" in message:
        result["tool_call_id"] = message["tool_call_id"]
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    has_pairs = any(block.get("type") in ("tool_use", "tool_result") for block in blocks)
    result["content"] = _blocks(blocks, mark_text, kept_names) if has_pairs else mark_text
    calls = [_call(call, kept_names) for call in message.get("tool_calls") or []]
    if calls:
        result["tool_calls"] = calls
        if not any(message.get(name) for name in SENT_FIELDS if name not in _NOT_TEXT):
            result["content"] = None
    return result


def _blocks(content: Sequence[Mapping[str, Any]], mark_text: str, kept_names: Collection[str]) -> list[dict[str, Any]]:
    """Return the calls and results of a message in Anthropic form; one text replaces everything else."""
    blocks: list[dict[str, Any]] = []
    has_mark = False
    for part in content:
        match part.get("type"):
            case "tool_use":
                blocks.append({"type": "tool_use", "id": part["id"], "name": _name(part["name"], kept_names)})
                blocks[-1]["input"] = {}
            case "tool_result":
                blocks.append({"type": "tool_result", "tool_use_id": part["tool_use_id"], "content": mark_text})
            case kind if kind not in THINKING_PARTS and not has_mark:
                blocks.append({"type": "text", "text": mark_text})
                has_mark = True
    return blocks


def _call(call: Mapping[str, Any], kept_names: Collection[str]) -> dict[str, Any]:
    name = _name(function_of(dict(call))["name"], kept_names)
    return {"id": call.get("id"), "type": "function", "function": {"name": name, "arguments": "{}"}}


def _name(name: str, kept_names: Collection[str]) -> str:
    return name if name in kept_names else CALL_NAME


def swapped(value: Any, old: str, new: str) -> Any:
    """Replace a placeholder by another text. Where the placeholder was cut, only the first line replaces it."""
    if isinstance(value, list):
        return [swapped(item, old, new) for item in value]
    if isinstance(value, dict):
        return {key: swapped(item, old, new) for key, item in value.items()}
    if value == old:
        return new
    first = old.split("\n", 1)[0]
    return new.split("\n", 1)[0] if isinstance(value, str) and value.startswith(first) else value


# --- Repetitions --------------------------------------------------------------------------------------


class Repeats:
    """An index of named texts; ``of`` returns the names of those that a given text repeats.

    Only letters and digits are compared, so that quoting and escaping make no difference. A short text matches only if
    it is a whole line. In doubt a text counts as a repetition.
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
        earlier = self._places.setdefault(run, number)
        if isinstance(earlier, set):
            earlier.add(number)
        elif earlier != number:
            self._places[run] = {earlier, number}

    def of(self, text: str) -> set[Hashable]:
        plain = _plain(text)
        if len(plain) < REPEAT_CHARACTERS:
            return set(self._said.get(plain, ())) if plain else set()
        numbers: set[int] = set()
        # Every shared run contains a probe at one of these steps, so most of the text is skipped.
        steps = range(0, len(plain) - PROBE_CHARACTERS + 1, REPEAT_CHARACTERS - PROBE_CHARACTERS + 1)
        for at in [at for at in steps if plain[at : at + PROBE_CHARACTERS] in self._probes]:
            for start in range(max(0, at + PROBE_CHARACTERS - REPEAT_CHARACTERS), at + 1):
                holders = self._places.get(plain[start : start + REPEAT_CHARACTERS])
                if holders is not None:
                    numbers |= holders if isinstance(holders, set) else {holders}
        return {self._names[number] for number in numbers}


def _plain(text: str) -> str:
    return _NOT_PLAIN.sub("", text.casefold())


# --- Stored responses ---------------------------------------------------------------------------------

_IN_ANSWERS = frozenset(
    {
        "content", "content_preview", "placeholder", "query_summary", "result_summary", "summary", "system", "text",
        "thought", "result", "message", "error", "title", "tool_input", "tool_name",
    }
)  # fmt: skip
_LISTS = frozenset({"certificates", "key_terms", "keywords", "sources"})
_NAMES = ("id", "uuid", "memory_key")
_CALLERS_IDS = frozenset({"client_id", "conversation_id", "user_id"})


def without_content(answer: Any, ids: Collection[str] | None, mark_text: str) -> Any:
    """Return a stored response with the content removed from every object with one of the ids, and from all in it.

    If ``ids`` is None, all objects are emptied. Ids chosen by callers are removed too, because they can be names.
    """
    if isinstance(answer, list):
        return [without_content(item, ids, mark_text) for item in answer]
    if not isinstance(answer, dict):
        return answer
    if ids is not None and not any(answer.get(name) in ids for name in _NAMES):
        return {key: without_content(value, ids, mark_text) for key, value in answer.items()}
    return {key: _without(key, value, mark_text) for key, value in answer.items()}


def _without(key: str, value: Any, mark_text: str) -> Any:
    if key in _IN_ANSWERS and value is not None:
        return mark_text
    if key in _LISTS:
        return []
    if key == "metadata":
        return {}
    if key in _CALLERS_IDS:
        return None
    if key == "id" and isinstance(value, str) and not _UUID.fullmatch(value):
        return mark_text
    return without_content(value, None, mark_text)


GONE = ""
"""Replaces the answer to a request when something that it stored is erased."""


@dataclass(frozen=True, slots=True)
class Redaction:
    """The changes to stored responses, by id."""

    erased: frozenset[str] = frozenset()
    """Ids of erased rows."""
    changed: frozenset[str] = frozenset()
    """Ids of rows whose content shrank."""
    archives: Mapping[str, str] = field(default_factory=dict)
    """Erased archives, each with the text that replaces it."""


def redacted(response: str, redaction: Redaction, *, whole: bool) -> str:
    """Return a stored response without erased content, or GONE. ``whole``: all of its content is erased.

    A repeated request must not be answered as if the data it stored still existed. Responses to erasing requests and
    of recall tools acknowledge no stored data, so they are kept without the erased content.
    """
    if response == GONE:
        return GONE
    answer = json.loads(response)
    acknowledges = isinstance(answer, dict) and "erased" not in answer and "is_error" not in answer
    if acknowledges and (whole or _names(answer, redaction.erased | redaction.archives.keys())):
        return GONE
    for archive, replacement in redaction.archives.items():
        answer = without_archive(answer, archive, replacement)
    ids = None if whole else redaction.erased | redaction.changed
    return dumps(without_content(answer, ids, ERASED))


def _names(value: Any, ids: Collection[str]) -> bool:
    if isinstance(value, list):
        return any(_names(item, ids) for item in value)
    if not isinstance(value, dict):
        return False
    return any(value.get(name) in ids for name in _NAMES) or any(_names(item, ids) for item in value.values())


def without_archive(value: Any, archive: str, replacement: str) -> Any:
    """Return a value with ``replacement`` in place of every text that contains the archive's id; bare ids stay."""
    if isinstance(value, str):
        return replacement if archive in value and value != archive else value
    if isinstance(value, list):
        return [without_archive(item, archive, replacement) for item in value]
    if isinstance(value, dict):
        if "archive" in value and len(value) == 1:
            return value
        return {key: without_archive(item, archive, replacement) for key, item in value.items()}
    return value

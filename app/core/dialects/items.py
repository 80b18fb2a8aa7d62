"""Convert between items of Responses and messages in OpenAI form.

One assistant message corresponds to several items: its reasoning, its text, its calls. A custom tool's input is a text;
in OpenAI form it is a function's only argument, ``input``. Reasoning, and calls of tools that the API runs itself, are
opaque: see ``stored``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from app.core.canonical import dumps, loads
from app.core.dialects.question import Json
from app.core.messages import function_of, wrapped
from app.core.parts import TEXTS, chat_parts, quoted, spoken
from app.errors import FieldError, Invalid

ROLES = ("user", "system", "developer")
COMPACTION, TRIGGER = "compaction", "compaction_trigger"


def messages_of(items: Sequence[Any]) -> list[Json]:
    """Return the messages of a request's items. Raises Invalid, which names items of other types."""
    reading = _Reading()
    problems: list[FieldError] = []
    for place, item in enumerate(items):
        if not isinstance(item, Mapping):
            problems.append({"loc": ["body", "input", place], "msg": "must be an object"})
        elif (wrong := reading.take(item)) is not None:
            problems.append({"loc": ["body", "input", place, wrong[0]], "msg": wrong[1]})
    if problems:
        raise Invalid(errors=problems)
    return reading.done()


class _Reading:
    """The messages so far, and the assistant's that is not whole yet."""

    def __init__(self) -> None:
        self._found: list[Json] = []
        self._parts: list[Json] = []
        self._waiting: list[Json] = []
        """Opaque parts whose place the next item tells."""
        self._calls: list[Json] = []

    def take(self, item: Mapping[str, Any]) -> tuple[str, str] | None:
        """Read an item. Return the faulty field and what is wrong with it, or None."""
        kind = str(item.get("type") or ("message" if "role" in item else None))
        if kind == "message" and item.get("role") == "assistant":
            parts = parts_of(item.get("content"))
            if not all(isinstance(part.get("type"), str) for part in parts):
                return "content", "must have parts with a `type`"
            self._say(parts)
        elif kind == "message":
            if item.get("role") not in ROLES:
                return "role", f"must be assistant, {', '.join(ROLES)}"
            self._end()
            content = item.get("content")
            self._found.append(
                {"role": item["role"], "content": content if isinstance(content, str) else parts_of(content)}
            )
        elif kind in ("function_call", "custom_tool_call"):
            if not isinstance(item.get("call_id"), str) or not isinstance(item.get("name"), str):
                return "call_id", "must be a string, as `name` must"
            self._call(item)
        elif kind in ("function_call_output", "custom_tool_call_output"):
            self._end()
            output = item.get("output")
            content = output if isinstance(output, str) else parts_of(output)
            self._found.append({"role": "tool", "tool_call_id": item.get("call_id"), "content": content})
        elif not isinstance(item.get("type"), str) and "id" not in item:
            return "type", "must be a string"
        else:
            self._take_other(item, kind)
        return None

    def _take_other(self, item: Mapping[str, Any], kind: str) -> None:
        if is_call(item):
            self._parts += [{**part, "before_call": item["call_id"]} for part in self._waiting]
            self._parts.append(opaque_part(item))
            self._waiting = []
            self._calls.append(call_of(item))
        elif kind.endswith("_output") and isinstance(call_id := item.get("call_id") or item.get("id"), str):
            self._end()
            content = [{"type": "text", "text": quoted(_arguments_of(item))}, {**opaque_part(item), "call": call_id}]
            self._found.append({"role": "tool", "tool_call_id": call_id, "content": content})
        else:
            self._waiting.append(opaque_part(item))

    def done(self) -> list[Json]:
        self._end()
        return self._found

    def _say(self, parts: Sequence[Json]) -> None:
        self._parts += [*self._waiting, *parts]
        self._waiting = []

    def _call(self, item: Mapping[str, Any]) -> None:
        self._parts += [{**part, "before_call": item["call_id"]} for part in self._waiting]
        self._waiting = []
        arguments = item.get("arguments") or "{}" if item["type"] == "function_call" else wrapped(item.get("input"))
        function = {"name": item["name"], "arguments": arguments}
        self._calls.append({"id": item["call_id"], "type": "function", "function": function})

    def _end(self) -> None:
        parts = [*self._parts, *self._waiting]
        if not parts and not self._calls:
            return
        is_text = len(parts) == 1 and parts[0]["type"] == "text"
        message: Json = {"role": "assistant", "content": parts[0]["text"] if is_text else parts or None}
        if self._calls:
            message["tool_calls"] = self._calls
        self._found.append(message)
        self._parts, self._waiting, self._calls = [], [], []


def is_call(item: Mapping[str, Any]) -> bool:
    """Return whether an item is a call whose result is another item: of a shell, a patch, a computer, a program."""
    kind = str(item.get("type"))
    return isinstance(item.get("call_id"), str) and (kind.endswith("_call") or kind == "program")


def opaque_part(item: Mapping[str, Any]) -> Json:
    """Return an item unchanged as a part. With ``call``, it is sent in place of the call or result with this id."""
    return {"type": "reasoning", "item": dict(item), **({"call": item["call_id"]} if is_call(item) else {})}


def call_of(item: Mapping[str, Any]) -> Json:
    """Return a call as other dialects know it."""
    function = {"name": str(item["type"]).removesuffix("_call"), "arguments": dumps(_arguments_of(item))}
    return {"id": item["call_id"], "type": "function", "function": function}


def _arguments_of(item: Mapping[str, Any]) -> Json:
    return {name: value for name, value in item.items() if name not in ("type", "id", "call_id", "status")}


def _raw(message: Mapping[str, Any]) -> dict[str, Json]:
    content = message.get("content")
    parts = content if isinstance(content, list) else []
    return {part["call"]: part["item"] for part in parts if part["type"] == "reasoning" and "call" in part}


def unwrapped(arguments: str) -> str:
    """Return a function's arguments as a custom tool's input; other arguments are returned unchanged."""
    found = loads(arguments)
    text = found.get("input") if isinstance(found, dict) else None
    return text if isinstance(text, str) else arguments


CUSTOM_PARAMETERS: Json = {
    "type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"],
    "additionalProperties": False,
}  # fmt: skip


def custom_function(name: str, description: Any, grammar: Any) -> Json:
    told = [str(description or ""), f"The input follows this grammar:\n{grammar}" if grammar else ""]
    function = {"name": name, "description": "\n\n".join(filter(None, told)) or None, "parameters": CUSTOM_PARAMETERS}
    return {n: value for n, value in function.items() if value is not None}


def custom_call(call: Mapping[str, Any], custom: Collection[str]) -> Json:
    """Return a call as Chat Completions has it, if it is of a custom tool."""
    function = call.get("function") or {}
    if function.get("name") not in custom:
        return dict(call)
    more = {name: value for name, value in call.items() if name != "function"}
    called = {"name": function["name"], "input": unwrapped(function.get("arguments") or "")}
    return {**more, "type": "custom", "custom": called}


def function_call(call: Mapping[str, Any]) -> Json:
    """Return a call with a ``function``, whichever form it came in."""
    function = function_of(dict(call))
    called = {name: function.get(name) for name in ("name", "arguments")}
    return {**{n: v for n, v in call.items() if n not in ("custom", *called)}, "type": "function", "function": called}


def parts_of(content: Any) -> list[Json]:
    """Return an item's content as content parts in OpenAI form."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    parts = content if isinstance(content, list) else []
    return [_part(part) for part in parts if isinstance(part, Mapping)]


def _part(part: Mapping[str, Any]) -> Json:
    if str(part.get("type")) in TEXTS:
        return {"type": "text", "text": str(part.get("text") or "")}
    is_known = part.get("type") == "input_file" or isinstance(part.get("image_url"), str)
    return chat_parts(part)[0] if is_known else dict(part)


# --- Messages as items ----------------------------------------------------------------------------------


def items_of(messages: Sequence[Mapping[str, Any]], custom: Collection[str] = ()) -> list[Json]:
    """Convert messages in OpenAI form to input items. ``custom`` are the names of custom tools."""
    found: list[Json] = []
    customs: set[str] = set()
    raw = [(message["role"], _raw(message)) for message in messages]
    calls, results = (
        {id_: item for role, items in raw if (role == "tool") == is_result for id_, item in items.items()}
        for is_result in (False, True)
    )
    shortened = {m["tool_call_id"] for m in messages if m["role"] == "tool"} - results.keys()
    called = {call["id"] for m in messages for call in m.get("tool_calls") or ()}
    whole = {id_: item for id_, item in calls.items() if id_ not in shortened}
    for message in messages:
        if message["role"] == "tool" and message["tool_call_id"] in results.keys() - (called - whole.keys()):
            found.append(results[message["tool_call_id"]])
        elif message["role"] == "tool":
            kind = "custom_tool_call_output" if message["tool_call_id"] in customs else "function_call_output"
            output = _output(message.get("content"))
            found.append({"type": kind, "call_id": message["tool_call_id"], "output": output})
        elif message["role"] == "assistant":
            found += _assistant(message, custom, customs, whole)
        else:
            content = _input(spoken(message).get("content"))
            found.append({"type": "message", "role": message["role"], "content": content})
    return found


def _assistant(
    message: Mapping[str, Any], custom: Collection[str], customs: set[str], whole: Mapping[str, Json]
) -> list[Json]:
    content = message.get("content")
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}] if content else []
    opaque = [part for part in parts if part["type"] == "reasoning" and isinstance(part.get("item"), dict)]
    text = "\n".join(part["text"] for part in parts if part["type"] == "text" and part["text"])
    found = [part["item"] for part in opaque if "before_call" not in part and "call" not in part]
    if text or message.get("refusal"):
        found.append({"type": "message", "role": "assistant", "content": text or message["refusal"]})
    for call in message.get("tool_calls") or []:
        found += [part["item"] for part in opaque if part.get("before_call") == call["id"]]
        found.append(whole.get(call["id"]) or call_item(call, custom))
        if call["function"]["name"] in custom:
            customs.add(call["id"])
    return found


def call_item(call: Mapping[str, Any], custom: Collection[str]) -> Json:
    name, arguments = call["function"]["name"], call["function"]["arguments"]
    if name in custom:
        return {"type": "custom_tool_call", "call_id": call["id"], "name": name, "input": unwrapped(arguments)}
    return {"type": "function_call", "call_id": call["id"], "name": name, "arguments": arguments or "{}"}


def _input(content: Any) -> Any:
    if not isinstance(content, list):
        return content or ""
    own = ("input_image",)  # those of files, which no other dialect has
    return [_input_part(found) for part in content for found in ([part] if part["type"] in own else chat_parts(part))]


def _input_part(part: Mapping[str, Any]) -> Json:
    match part["type"]:
        case "image_url":
            image = part["image_url"]
            return {"type": "input_image", "image_url": image["url"], "detail": image.get("detail") or "auto"}
        case "file":
            return {"type": "input_file", **part["file"]}
        case "refusal":
            return {"type": "input_text", "text": part["refusal"]}
        case "text":
            return {"type": "input_text", "text": part["text"]}
        case "input_audio":
            return {"type": "input_text", "text": quoted(part)}
    return dict(part)


def _output(content: Any) -> Any:
    parts = _input(content)
    if isinstance(parts, list) and all(part["type"] == "input_text" for part in parts):
        return "\n".join(part["text"] for part in parts)
    return parts

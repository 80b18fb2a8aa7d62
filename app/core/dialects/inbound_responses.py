"""Responses, the client's side: read a request as a question, write an answer as items and their events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.core.dialects.items import COMPACTION, TRIGGER, call_item, custom_function, messages_of, unwrapped
from app.core.dialects.question import Event, Json, Question
from app.core.dialects.usage import ModelUsage
from app.errors import FieldError, Invalid

ECHOED = (
    "instructions", "max_output_tokens", "metadata", "previous_response_id", "reasoning", "temperature", "text",
    "top_p", "truncation", "user", "store",
)  # fmt: skip


def question(body: Mapping[str, Any]) -> Question:
    """Read a request. Items before a compaction are left out, because it stands for them. Raises Invalid."""
    problems: list[FieldError] = []
    functions: list[Json] = []
    hosted: dict[str, str] = {}
    for place, tool in enumerate(body.get("tools") or []):
        kind = tool.get("type")
        if kind in ("function", "custom") and isinstance(tool.get("name"), str):
            functions.append(_function(tool))
        elif kind == "namespace" and isinstance(tool.get("name"), str):
            functions += [_function(inner) for inner in _functions_in(tool)]
        elif isinstance(kind, str):
            hosted[f"tools.{place}"] = kind
        else:
            problems.append({"loc": ["body", "tools", place, "type"], "msg": "must be a string"})
    if body.get("background"):
        problems.append({"loc": ["body", "background"], "msg": "must not be true: answers are given at once"})
    if problems:
        raise Invalid(errors=problems)
    messages = messages_of(after_compaction(body.get("input"))[1])
    if isinstance(instructions := body.get("instructions"), str) and instructions:
        messages.insert(0, {"role": "system", "content": instructions})
    return Question("responses", body, messages, _options(body), tuple(functions), hosted)


def after_compaction(given: Any) -> tuple[Mapping[str, Any] | None, list[Any]]:
    """Return the newest compaction in the input and the items after it, without triggers of another one."""
    items = [{"role": "user", "content": given}] if isinstance(given, str) else list(given or [])
    kinds = [item.get("type") if isinstance(item, Mapping) else None for item in items]
    last = max((place for place, kind in enumerate(kinds) if kind == COMPACTION), default=None)
    rest = [item for place, item in enumerate(items) if kinds[place] != TRIGGER and (last is None or place > last)]
    return (None if last is None else items[last]), rest


def asks_for_compaction(body: Mapping[str, Any]) -> bool:
    given = body.get("input")
    return isinstance(given, list) and any(isinstance(i, Mapping) and i.get("type") == TRIGGER for i in given)


def _functions_in(namespace: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    given = namespace.get("tools")
    inner = [tool for tool in given if isinstance(tool, Mapping)] if isinstance(given, list) else []
    return [tool for tool in inner if tool.get("type") == "function" and isinstance(tool.get("name"), str)]


def namespaces(body: Mapping[str, Any]) -> dict[str, str]:
    named = [tool for tool in body.get("tools") or [] if tool.get("type") == "namespace"]
    return {inner["name"]: tool["name"] for tool in named for inner in _functions_in(tool)}


def _function(tool: Mapping[str, Any]) -> Json:
    if tool["type"] == "custom":
        form = tool.get("format")
        grammar = form.get("definition") if isinstance(form, Mapping) else None
        return {"type": "function", "function": custom_function(tool["name"], tool.get("description"), grammar)}
    names = ("name", "description", "parameters", "strict")
    return {"type": "function", "function": {name: tool[name] for name in names if tool.get(name) is not None}}


def _options(body: Mapping[str, Any]) -> Json:
    text, reasoning = body.get("text"), body.get("reasoning")
    options = {
        "model": body.get("model"), "max_completion_tokens": body.get("max_output_tokens"),
        "temperature": body.get("temperature"), "top_p": body.get("top_p"),
        "parallel_tool_calls": body.get("parallel_tool_calls"), "tool_choice": _choice(body.get("tool_choice")),
        "response_format": _response_format(text.get("format")) if isinstance(text, Mapping) else None,
        "reasoning_effort": reasoning.get("effort") if isinstance(reasoning, Mapping) else None,
        "user": body.get("user"),
    }  # fmt: skip
    return {name: value for name, value in options.items() if value is not None}


def _choice(choice: Any) -> Any:
    if isinstance(choice, Mapping):
        return {"type": "function", "function": {"name": choice["name"]}} if choice.get("name") else None
    return choice


def _response_format(form: Any) -> Json | None:
    if not isinstance(form, Mapping) or form.get("type") in (None, "text"):
        return None
    if form["type"] != "json_schema":
        return {"type": form["type"]}
    names = ("name", "schema", "strict", "description")
    return {"type": "json_schema", "json_schema": {n: form[n] for n in names if form.get(n) is not None}}


# --- The answer -----------------------------------------------------------------------------------------


class ResponsesWriter:
    """Writes one answer as the events of Responses, in their documented order."""

    def __init__(self, id_: str, question: Question, created: int) -> None:
        self._id, self._question, self._created = id_, question, created
        self._custom = question.customs
        self._namespaces = namespaces(question.body)
        self._output: list[Json] = []
        self._open: str | None = None
        """What the last item is while it comes: text, refusal, a native item, or a call by its number."""
        self._sequence = 0
        self._began = False
        self._status = "completed"
        self._why: str | None = None
        self._usage: Json | None = None

    def feed(self, chunk: Mapping[str, Any]) -> list[Event]:
        events = self._begin()
        for choice in chunk.get("choices") or []:
            delta = choice.get("delta") or {}
            if isinstance(native := delta.get("native"), Mapping) and native.get("dialect") == "responses":
                events += self._native(native["event"])
            for kind, text in (("text", delta.get("content")), ("refusal", delta.get("refusal"))):
                if isinstance(text, str) and text:
                    events += self._text(kind, text)
            for call in delta.get("tool_calls") or []:
                events += self._call(call)
            if choice.get("finish_reason") in ("length", "content_filter"):
                is_length = choice["finish_reason"] == "length"
                self._status, self._why = "incomplete", "max_output_tokens" if is_length else "content_filter"
        return events

    def end(self, usage: Mapping[str, Any] | None) -> list[Event]:
        self._usage = responses_usage(usage) if usage is not None else None
        events = [*self._begin(), *self._close()]
        return [*events, self._event(f"response.{self._status}", response=self.whole())]

    def whole(self) -> Json:
        return self._response(self._status)

    def add(self, item: Json) -> list[Event]:
        events = [*self._begin(), *self._close(), self._added({**item})]
        return [*events, self._item_done()]

    def _response(self, status: str) -> Json:
        body = self._question.body
        conversation = body.get("conversation")
        return {
            "id": self._id, "object": "response", "created_at": self._created, "status": status, "error": None,
            "incomplete_details": {"reason": self._why} if self._why else None,
            "model": self._question.options["model"],
            "output": list(self._output), "tools": body.get("tools") or [],
            "tool_choice": body.get("tool_choice") or "auto",
            "parallel_tool_calls": body.get("parallel_tool_calls") is not False,
            **{name: body.get(name) for name in ECHOED}, "usage": self._usage, "background": False,
            "conversation": {"id": conversation} if isinstance(conversation, str) else conversation,
        }  # fmt: skip

    def _event(self, kind: str, **more: Any) -> Event:
        self._sequence += 1
        return kind, {"type": kind, "sequence_number": self._sequence - 1, **more}

    def _begin(self) -> list[Event]:
        if self._began:
            return []
        self._began = True
        begun = self._response("in_progress")
        return [self._event("response.created", response=begun), self._event("response.in_progress", response=begun)]

    def _added(self, item: Json) -> Event:
        self._output.append(item)
        shown = {**item, **({"content": []} if item["type"] == "message" else {})}
        return self._event("response.output_item.added", output_index=self._place, item=shown)

    def _item_done(self) -> Event:
        return self._event("response.output_item.done", output_index=self._place, item=dict(self._output[-1]))

    @property
    def _place(self) -> int:
        return len(self._output) - 1

    def _own_id(self, prefix: str) -> str:
        """Return an id for the next item. It is the same each time the answer is written."""
        return f"{prefix}_{self._id.partition('_')[2]}_{len(self._output)}"

    def _within(self) -> Json:
        return {"item_id": self._output[-1].get("id"), "output_index": self._place}

    def _text(self, kind: str, text: str) -> list[Event]:
        events: list[Event] = []
        name = "output_text" if kind == "text" else "refusal"
        if self._open != kind:
            part = (
                {"type": "output_text", "text": "", "annotations": []}
                if kind == "text"
                else {"type": "refusal", "refusal": ""}
            )
            item = {"id": self._own_id("msg"), "type": "message", "role": "assistant", "status": "in_progress"}
            events = [*self._close(), self._added({**item, "content": [part]})]
            events.append(
                self._event("response.content_part.added", **self._within(), content_index=0, part=dict(part))
            )
            self._open = kind
        part = self._output[-1]["content"][0]
        part["text" if kind == "text" else "refusal"] += text
        logprobs: Json = {"logprobs": []} if kind == "text" else {}
        delta = self._event(f"response.{name}.delta", **self._within(), content_index=0, delta=text, **logprobs)
        return [*events, delta]

    def _call(self, call: Mapping[str, Any]) -> list[Event]:
        number, function = f"call {call['index']}", call.get("function") or {}
        events: list[Event] = []
        if self._open != number:
            is_custom = function.get("name") in self._custom
            item = {"id": self._own_id("ctc" if is_custom else "fc"), "status": "in_progress"}
            made = call_item(
                {"id": call.get("id"), "function": {"name": function.get("name"), "arguments": ""}}, self._custom
            )
            made["input" if is_custom else "arguments"] = ""
            if made["name"] in self._namespaces:
                made["namespace"] = self._namespaces[made["name"]]
            events = [*self._close(), self._added({**item, **made})]
            self._open = number
        last, arguments = self._output[-1], function.get("arguments")
        if not arguments:
            return events
        name = "input" if last["type"] == "custom_tool_call" else "arguments"
        last[name] += arguments
        if name == "input":  # a text within JSON: it is told once it has come whole
            return events
        kind = "response.function_call_arguments.delta"
        return [*events, self._event(kind, **self._within(), delta=arguments)]

    def _native(self, event: Mapping[str, Any]) -> list[Event]:
        kind = event["type"]
        if kind == "response.output_item.added":
            found = [*self._close(), self._added(dict(event["item"]))]
            self._open = "native"
            return found
        if kind == "response.output_item.done":
            if self._open != "native":
                return self.add(dict(event["item"]))
            self._output[-1], self._open = dict(event["item"]), None
            return [self._item_done()]
        if self._open != "native":
            return []
        own = {name: value for name, value in event.items() if name not in ("type", "sequence_number")}
        return [self._event(kind, **{**own, "output_index": self._place})]

    def _close(self) -> list[Event]:
        if self._open is None:
            return []
        last, within = self._output[-1], self._within() if self._output else {}
        was, self._open = self._open, None
        if was == "native":
            return [self._item_done()]
        last["status"] = "completed"
        return [*self._whole_item(last, within), self._item_done()]

    def _whole_item(self, item: Json, within: Json) -> list[Event]:
        match item["type"]:
            case "message":
                part = item["content"][0]
                is_text = part["type"] == "output_text"
                said = {"text": part["text"], "logprobs": []} if is_text else {"refusal": part["refusal"]}
                name = "output_text" if is_text else "refusal"
                return [
                    self._event(f"response.{name}.done", **within, content_index=0, **said),
                    self._event("response.content_part.done", **within, content_index=0, part=dict(part)),
                ]
            case "custom_tool_call":
                item["input"] = unwrapped(item["input"])
                name = "response.custom_tool_call_input"
                return [
                    self._event(f"{name}.delta", **within, delta=item["input"]),
                    self._event(f"{name}.done", **within, input=item["input"]),
                ]
        item["arguments"] = item["arguments"] or "{}"
        told = {"name": item["name"], "arguments": item["arguments"]}
        return [self._event("response.function_call_arguments.done", **within, **told)]


def responses_usage(usage: Mapping[str, Any]) -> Json:
    """Convert usage from Chat Completions to Responses."""
    used, thought = ModelUsage.read(usage) or ModelUsage(0, 0, 0), usage.get("completion_tokens_details")
    thinking = thought.get("reasoning_tokens") if isinstance(thought, Mapping) else 0
    return {
        "input_tokens": used.prompt_tokens,
        "input_tokens_details": {"cached_tokens": used.cached_tokens, "cache_write_tokens": used.written_tokens},
        "output_tokens": used.completion_tokens,
        "output_tokens_details": {"reasoning_tokens": thinking or 0},
        "total_tokens": used.prompt_tokens + used.completion_tokens,
    }

"""Responses, the model's side: send a window as items, read the answer's events as chunks.

Quire stores the conversation, so the API is asked to store nothing, and to return reasoning in a form that can be sent
back.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.core.dialects.items import items_of
from app.core.dialects.question import Json, Question, ShownToClient, UpstreamRequest, function_name
from app.core.messages import wrapped

MOVED = frozenset({"input", "instructions", "tools", "previous_response_id", "conversation", "context_management"})
ENCRYPTED = "reasoning.encrypted_content"
OWN_ITEMS = ("message", "function_call", "custom_tool_call")
"""Items that have a place in the neutral form; any other is native."""


def tools(question: Question) -> list[Json]:
    """Return the client's tools. Recall tools follow later, and are flattened with the request."""
    if question.dialect == "responses":
        return list(question.body.get("tools") or ())
    return list(question.tools)


def request(question: Question, shown: ShownToClient) -> Json:
    if question.dialect == "responses":
        body = {name: value for name, value in question.body.items() if name not in MOVED}
        given = body.get("include")
        included = given if isinstance(given, list) else []
    else:
        body, included = _options(question), []
    custom = question.customs if question.dialect == "responses" else ()
    system = [m["content"] for m in shown.messages[:1] if m["role"] == "system"]
    body |= {
        "model": question.options["model"], "input": items_of(shown.messages[len(system) :], custom), "store": False,
        "stream": True, "include": [*included, *([] if ENCRYPTED in included else [ENCRYPTED])],
    }  # fmt: skip
    if system:
        body["instructions"] = system[0]
    if shown.tools:
        body["tools"] = [_tool(tool) for tool in shown.tools]
        if not shown.calls_tools:
            body["tool_choice"] = "none"
    else:
        body.pop("tool_choice", None)
    return body


def _tool(tool: Json) -> Json:
    if "function" not in tool:
        return tool
    return {"type": "function", "strict": False, **tool["function"]}


def _options(question: Question) -> Json:
    options = question.options
    effort = options.get("reasoning_effort")
    found = {
        "max_output_tokens": question.answer_tokens_max or None, "temperature": options.get("temperature"),
        "top_p": options.get("top_p"), "parallel_tool_calls": options.get("parallel_tool_calls"),
        "tool_choice": _choice(options.get("tool_choice")), "text": _text(options.get("response_format")),
        "reasoning": {"effort": effort} if effort else None,
    }  # fmt: skip
    return {name: value for name, value in found.items() if value is not None}


def _choice(choice: Any) -> Any:
    if isinstance(choice, Mapping):
        return {"type": "function", "name": function_name(choice)}
    return choice


def _text(response_format: Any) -> Json | None:
    if not isinstance(response_format, Mapping):
        return None
    if response_format.get("type") == "json_schema":
        named = response_format.get("json_schema")
        return {"format": {"type": "json_schema", **(named if isinstance(named, Mapping) else {})}}
    return {"format": {"type": response_format.get("type")}}


# --- The answer -----------------------------------------------------------------------------------------


class ResponsesReader:
    def __init__(self) -> None:
        self._head: Json = {}
        self._calls: dict[int, int] = {}
        """The number of each call, by the place of its item."""
        self._told: set[int] = set()
        """Places of calls whose arguments have begun."""

    def feed(self, event: Mapping[str, Any]) -> list[Json]:
        match event.get("type"):
            case "response.created":
                found = self._begin(event["response"])
            case "response.output_item.added":
                found = self._added(event)
            case "response.output_text.delta":
                found = [self._chunk({"content": event["delta"]})]
            case "response.refusal.delta":
                found = [self._chunk({"refusal": event["delta"]})]
            case "response.function_call_arguments.delta":
                found = self._arguments(event["output_index"], event["delta"])
            case "response.output_item.done":
                found = self._done(event)
            case "response.completed" | "response.incomplete":
                found = self._end(event["response"])
            case kind:
                found = [] if "output_index" not in event or kind in QUIET else [self._native(event)]
        return found

    def _begin(self, response: Mapping[str, Any]) -> list[Json]:
        head = {"id": f"chatcmpl-{response.get('id')}", "object": "chat.completion.chunk"}
        self._head = {**head, "model": response.get("model")}
        return [self._chunk({"role": "assistant"})]

    def _native(self, event: Mapping[str, Any]) -> Json:
        is_thought = event["type"] == "response.reasoning_summary_text.delta"
        thought = {"reasoning_content": event["delta"]} if is_thought else {}
        return self._chunk({"native": {"dialect": "responses", "event": dict(event)}, **thought})

    def _chunk(self, delta: Json) -> Json:
        return {**self._head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}

    def _added(self, event: Mapping[str, Any]) -> list[Json]:
        item = event["item"]
        if item["type"] in ("function_call", "custom_tool_call"):
            number = self._calls[event["output_index"]] = len(self._calls)
            function = {"name": item["name"], "arguments": ""}
            call = {"index": number, "id": item["call_id"], "type": "function", "function": function}
            return [self._chunk({"tool_calls": [call]})]
        if item["type"] in OWN_ITEMS:
            return []
        return [self._native(event)]

    def _arguments(self, place: int, text: str) -> list[Json]:
        self._told.add(place)
        call = {"index": self._calls[place], "function": {"arguments": text}}
        return [self._chunk({"tool_calls": [call]})]

    def _done(self, event: Mapping[str, Any]) -> list[Json]:
        item, place = event["item"], event["output_index"]
        if item["type"] == "custom_tool_call":
            return self._arguments(place, wrapped(item.get("input")))
        if item["type"] == "function_call":
            return [] if place in self._told else self._arguments(place, item.get("arguments") or "{}")
        if item["type"] in OWN_ITEMS:
            return []
        return [self._chunk({"native": {"dialect": "responses", "event": dict(event), "part": dict(item)}})]

    def _end(self, response: Mapping[str, Any]) -> list[Json]:
        reason = "tool_calls" if self._calls else "stop"
        if response.get("status") == "incomplete":
            why = (response.get("incomplete_details") or {}).get("reason")
            reason = "content_filter" if why == "content_filter" else "length"
        last = self._chunk({})
        last["choices"][0]["finish_reason"] = reason
        usage = response.get("usage")
        return [last, {**self._head, "choices": [], "usage": chat_usage(usage)}] if usage else [last]


QUIET = frozenset(
    {
        "response.content_part.added", "response.content_part.done", "response.output_text.done",
        "response.output_text.annotation.added", "response.refusal.done", "response.function_call_arguments.done",
        "response.custom_tool_call_input.delta", "response.custom_tool_call_input.done",
    }
)  # fmt: skip
"""Events that say again what others said."""


def chat_usage(usage: Mapping[str, Any]) -> Json:
    details = [usage.get(name) for name in ("input_tokens_details", "output_tokens_details")]
    cached, thought = (d if isinstance(d, Mapping) else {} for d in details)
    return {
        "prompt_tokens": usage.get("input_tokens"),
        "completion_tokens": usage.get("output_tokens"),
        "total_tokens": usage.get("total_tokens"),
        "prompt_tokens_details": {"cached_tokens": cached.get("cached_tokens") or 0},
        "completion_tokens_details": {"reasoning_tokens": thought.get("reasoning_tokens") or 0},
    }


def events(whole: Mapping[str, Any]) -> list[Json]:
    found: list[Json] = [{"type": "response.created", "response": whole}]
    for place, item in enumerate(whole["output"]):
        found.append({"type": "response.output_item.added", "output_index": place, "item": item})
        for part in item["content"] if item["type"] == "message" else []:
            kind = "output_text" if part["type"] == "output_text" else "refusal"
            found.append({"type": f"response.{kind}.delta", "delta": part.get("text") or part.get("refusal") or ""})
        found.append({"type": "response.output_item.done", "output_index": place, "item": item})
    return [*found, {"type": f"response.{whole['status']}", "response": whole}]


ASKED = UpstreamRequest("responses", "/responses", "openai", tools, request, ResponsesReader, events)

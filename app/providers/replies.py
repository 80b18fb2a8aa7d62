"""Judge the body of a chat completion: return a `Reply`, or raise."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from app.providers import ModelToolCall, RefusedInput, Reply, UnusableReply
from app.text.language import scalar

MODEL_NAME_CHARACTERS = 200
MESSAGE_TOKENS = 4
"""Approximate tokens of a message's frame in chat formats."""

_NOTHING = frozenset({"", "none", "null", "undefined"})
_THOUGHTS = re.compile(r"\s*<(think|thinking)>.*?(?:</\1>|\Z)", re.DOTALL)
_END_OF_THOUGHTS = re.compile(r"</think(?:ing)?>[ \t]*\n")


def reply_of(body: Mapping[str, Any], *, model: str, count: Callable[[str], int], prompt: Callable[[], int]) -> Reply:
    """Return a completion's first choice. ``count`` and ``prompt`` count tokens that the provider does not report.

    Raises UnusableReply, or RefusedInput where the provider's filter stopped it.
    """
    choice = _first_choice(body)
    reason = choice.get("finish_reason")
    if reason == "content_filter":
        raise RefusedInput("the provider's content filter stopped the answer")
    if reason == "length":
        raise UnusableReply("the answer was cut off: it reached the limit of tokens")
    message = choice.get("message")
    if not isinstance(message, Mapping):
        raise UnusableReply("the answer has no message")
    text = without_thoughts(_text(message.get("content")))
    calls = _tool_calls(message.get("tool_calls"))
    if not calls and text.strip().lower() in _NOTHING:
        raise UnusableReply("the answer is empty")
    usage = _usage(body)
    return Reply(
        text=text,
        tool_calls=calls,
        model=_model(body.get("model"), model),
        prompt_tokens=_tokens(usage.get("prompt_tokens"), prompt),
        completion_tokens=_tokens(
            usage.get("completion_tokens"), lambda: count(text + "".join(call.name + call.arguments for call in calls))
        ),
    )


def spent(body: Mapping[str, Any], prompt: Callable[[], int]) -> tuple[int, int]:
    """Return the prompt and answer tokens of an unusable answer; for the answer, only what the provider reports."""
    usage = _usage(body)
    return _tokens(usage.get("prompt_tokens"), prompt), _tokens(usage.get("completion_tokens"), lambda: 0)


def without_thoughts(text: str) -> str:
    """Return the stripped text without the reasoning that some servers leave at its beginning."""
    thoughts = _THOUGHTS.match(text)
    if thoughts is not None:
        return text[thoughts.end() :].strip()
    # Where the prompt's template opens the block, the answer has its end only.
    end = _END_OF_THOUGHTS.search(text)
    return text[end.end() if end is not None else 0 :].strip()


def prompt_tokens(
    messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]], count: Callable[[str], int]
) -> int:
    """Estimate the prompt tokens that a provider counts for a request."""
    parts = [
        part if isinstance(part, str) else json.dumps(part, ensure_ascii=False)
        for message in messages
        for part in (message.get("content"), message.get("tool_calls"))
        if part
    ]
    return sum(map(count, [*parts, *(json.dumps(tool, ensure_ascii=False) for tool in tools)])) + MESSAGE_TOKENS * len(
        messages
    )


def _first_choice(body: Mapping[str, Any]) -> Mapping[str, Any]:
    choices = body.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
        raise UnusableReply("the answer has no choices")
    return choices[0]


def _text(content: object) -> str:
    if isinstance(content, list):
        parts = [part for part in content if isinstance(part, Mapping) and part.get("type") == "text"]
        return "".join(_text(part.get("text")) for part in parts)
    return scalar(content).replace("\0", "\ufffd") if isinstance(content, str) else ""


def _tool_calls(calls: object) -> tuple[ModelToolCall, ...]:
    if calls is None:
        return ()
    if not isinstance(calls, list):
        raise UnusableReply("the answer's tool calls are not a list")
    return tuple(map(_tool_call, calls))


def _tool_call(call: object) -> ModelToolCall:
    function = call.get("function") if isinstance(call, Mapping) else None
    if not isinstance(call, Mapping) or not isinstance(function, Mapping):
        raise UnusableReply("a tool call of the answer has no function")
    arguments = function.get("arguments")
    match call.get("id"), function.get("name"), arguments if arguments is not None else "{}":
        case str(id_), str(name), str(text):
            return ModelToolCall(id_, name, text)
        case str(id_), str(name), dict(values):  # as some servers send them
            return ModelToolCall(id_, name, json.dumps(values, ensure_ascii=False))
        case _:
            raise UnusableReply("a tool call of the answer lacks its id, name or arguments")


def _usage(body: Mapping[str, Any]) -> Mapping[str, Any]:
    reported = body.get("usage")
    return reported if isinstance(reported, Mapping) else {}


def _model(reported: object, requested: str) -> str:
    return reported[:MODEL_NAME_CHARACTERS] if isinstance(reported, str) and reported else requested


def _tokens(reported: object, count: Callable[[], int]) -> int:
    return reported if type(reported) is int and reported >= 0 else count()

"""Turn a complete answer into the message to store and the last chunks for the client."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from app.core.dialects.carried import AUDIO
from app.core.dialects.deltas import AnswerSoFar, RoundSoFar
from app.core.dialects.items import custom_call
from app.core.dialects.question import Json, Question
from app.core.dialects.stored import message as stored_message

KEPT = ("content", "refusal", "annotations")
"""The members of a model's message that are stored besides its calls."""


def finished(
    question: Question, said: AnswerSoFar, outer: Sequence[Json], whole: Json | None, response_id: str | None
) -> tuple[Json, str, Json | None]:
    """Return the message to store, the reason for the end, and the client's body if the API answered in one piece.

    ``outer`` are the client's calls, ``whole`` is the API's body if it did not stream.
    """
    carried = said.round.carried(str(question.options["model"]), outer)
    if question.dialect == "chat":
        outer = [custom_call(call, question.customs) for call in outer]
    message = stored_message(said.round.parts, outer, said.text, said.round.earlier, carried)
    if said.refusal:
        message["refusal"] = said.refusal
    if response_id is not None:
        message["id"] = response_id
    reason = _reason(said.round.finish_reason, calls=bool(outer))
    if whole is None:
        return message, reason, None
    own = {name: value for name in KEPT if (value := whole["choices"][0]["message"].get(name)) is not None}
    message = {**own, **message}
    return message, reason, _body(whole, message["content"], outer, reason, said.usage)


def recall_message(model: str, said: RoundSoFar, calls: Sequence[Json]) -> Json:
    return stored_message(said.parts, calls, None, carried=said.carried(model, calls))


def message_of(said: AnswerSoFar) -> Json:
    """Return the message to store for an answer that the client received whole."""
    message = stored_message(said.round.parts, said.calls, said.text)
    return {**message, "refusal": said.refusal} if said.refusal else message


def _reason(reason: str | None, *, calls: bool) -> str:
    """Return the reason for the end, judged by the client's calls: the model's own reason can be a call of Quire's."""
    reason = reason or "stop"
    if calls:
        return "tool_calls" if reason == "stop" else reason
    return "stop" if reason == "tool_calls" else reason


def _body(
    whole: Mapping[str, Any], content: Any, outer: Sequence[Json], reason: str, usage: Mapping[str, Any] | None
) -> Json:
    choice = whole["choices"][0]
    shown = {**choice["message"], "role": "assistant", **({} if AUDIO in choice["message"] else {"content": content})}
    shown.pop("tool_calls", None)
    if outer:
        shown["tool_calls"] = outer
    told = {"usage": usage} if usage is not None else {}
    return {**whole, "choices": [{**choice, "message": shown, "finish_reason": reason}], **told}

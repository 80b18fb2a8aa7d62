"""Every kind of item and block that the vendors' newest packages know is kept, whole and in place, in its own dialect.

The kinds are read from the packages, so a version that brings another one tries it too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NotRequired, Required, Union, get_args, get_origin, get_type_hints

import pytest
from anthropic.types.beta import beta_content_block_param
from openai.types.responses import response_input_item_param

from app.core.dialects import inbound_messages, inbound_responses
from app.core.dialects.background import unstored
from app.core.dialects.question import ShownToClient
from app.core.messages import Limits, read
from app.providers.upstream import ASKED

Json = dict[str, Any]
PLAIN: Mapping[Any, Any] = {str: "x", int: 1, float: 1.0, bool: False, object: "x", Any: "x", NoneType: None}


def made(hint: Any) -> Any:
    """Return the smallest value of a type."""
    origin, inner = get_origin(hint), get_args(hint)
    if hasattr(hint, "__required_keys__"):
        hints = get_type_hints(hint, include_extras=True)
        wanted = [name for name, of in hints.items() if name == "type" or get_origin(of) is Required]
        value: Any = {name: made(hints[name]) for name in wanted}
    elif origin is Literal:
        value = inner[0]
    elif origin in (Union, UnionType):
        value = made(next(one for one in inner if one is not NoneType))
    elif origin in (Required, NotRequired, Annotated):
        value = made(inner[0])
    elif isinstance(origin, type):
        value = {} if issubclass(origin, Mapping) else [made(inner[0])]
    else:
        value = PLAIN.get(hint, "x")
    return value


def members(union: Any) -> Iterator[Any]:
    for one in get_args(union):
        nested = get_args(one)[0] if get_origin(one) is Annotated else one
        if get_origin(nested) in (Union, UnionType):
            yield from members(nested)
        elif hasattr(nested, "__required_keys__"):  # not the models of answers, which are taken too
            yield nested


OWN_RULES = {
    "compaction", "compaction_trigger", "function_call_output", "custom_tool_call_output", "tool_use", "tool_result",
}  # fmt: skip
"""A place in the conversation, and what goes with something else: tests of their own have these."""
ITEMS = {kind.__name__: kind for kind in members(response_input_item_param.ResponseInputItemParam)}
BLOCKS = {kind.__name__: kind for kind in members(beta_content_block_param.BetaContentBlockParam)}


def test_the_packages_have_kinds_to_try() -> None:
    assert len(ITEMS) >= 30
    assert len(BLOCKS) >= 15


@pytest.mark.parametrize("name", ITEMS)
def test_an_item_of_responses_returns_whole_and_in_place(name: str) -> None:
    item = made(ITEMS[name])
    if item.get("type") in OWN_RULES:
        return
    before = [{"role": "user", "content": "A."}, *_call_of(item)]
    tools = [{"type": "custom", "name": "x"}] if item.get("type") == "custom_tool_call" else []
    question = inbound_responses.question({"model": "resp-1", "input": [*before, item], "tools": tools})
    sent = _sent(question, "responses")["input"]
    others = [one for one in sent if one.get("content") != "A."]
    assert item in others or _reads(item) in map(_reads, others), (item, sent)


def _call_of(output: Json) -> list[Json]:
    """The call that an output answers; without it there is nothing to return."""
    kind = str(output.get("type")).removesuffix("_output")
    calls = [made(one) for one in ITEMS.values() if kind != output.get("type")]
    return [{**call, "call_id": output.get("call_id") or output["id"]} for call in calls if call.get("type") == kind]


def _reads(item: Json) -> Json:
    """An item without what says nothing: its id and status, and how a text is wrapped."""
    content = item.get("content")
    texts = [part["text"] for part in content if "text" in part] if isinstance(content, list) else [content]
    rest = {n: v for n, v in item.items() if n not in ("id", "status", "content", "type") and v is not None}
    return {**rest, "text": texts}


@pytest.mark.parametrize("name", BLOCKS)
@pytest.mark.parametrize("role", ["user", "assistant"])
def test_a_block_of_messages_returns_whole_and_in_place(name: str, role: str) -> None:
    block = made(BLOCKS[name])
    if block["type"] in OWN_RULES or (role == "user" and "thinking" in block["type"]):
        return
    before: Json = {"type": "text", "text": "Before."}
    listed = [
        {"role": "user", "content": "A."},
        {"role": role, "content": [before, block, {"type": "text", "text": "After."}]},
    ]
    question = inbound_messages.question({"model": "claude-opus-5", "max_tokens": 9, "messages": listed})
    blocks = [one for message in _sent(question, "messages")["messages"] for one in message["content"]]
    assert block in blocks, (block, blocks)
    at = blocks.index(block)
    assert (blocks[at - 1]["text"], blocks[at + 1]["text"]) == ("Before.", "After.")


def _sent(question: Any, dialect: Any) -> Json:
    asked = ASKED[dialect]
    shown, system, _ = unstored(read(list(question.messages), Limits()), asked.window)
    return asked.request(question, ShownToClient(shown, system, []))

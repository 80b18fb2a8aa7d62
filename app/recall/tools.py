"""The model's recall tools: one registry, from which every form of their schemas is made.

The schemas are part of every window, so each word of them is paid for at every model call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from app.core.canonical import spaced
from app.core.model import Language

ToolFormat = Literal["openai", "anthropic", "mcp"]


@dataclass(frozen=True, slots=True)
class Tool:
    name: str
    description: str
    parameters: dict[str, Any]
    """JSON schema of the arguments' properties."""
    required: tuple[str, ...] = ()

    @property
    def schema(self) -> dict[str, Any]:
        return {"type": "object", "properties": self.parameters, "required": list(self.required)}


RECALL_PAGE = Tool(
    "recall_page",
    "Read an earlier page of this conversation in full.",
    {"page": {"type": "integer", "minimum": 1, "description": "page number on the contents page"}},
    ("page",),
)
LOAD_TOOL_HISTORY = Tool(
    "load_tool_history",
    "Read an archived tool result: the passages relevant to a query, or a range of characters.",
    {
        "uuid": {"type": "string", "description": "from its placeholder"},
        "query": {"type": "string", "description": "what you look for"},
        "offset": {"type": "integer", "minimum": 0},
        "length": {"type": "integer", "minimum": 1},
        "max_tokens": {"type": "integer", "minimum": 1},
    },
    ("uuid",),
)
TOOLS: tuple[Tool, ...] = (RECALL_PAGE, LOAD_TOOL_HISTORY)
TOOL_NAMES = frozenset(tool.name for tool in TOOLS)

GUIDE: dict[Language, str] = {
    "en": "Earlier parts of this conversation may be shortened, or listed on a contents page. When you need one in "
    "full, call recall_page(page); for an archived tool result call load_tool_history(uuid, query). What they "
    "return is quoted data, and stays in view until the next user message.",
    "zh": "本次对话较早的部分可能已被缩短,或只列在目录里。需要全文时调用 recall_page(page);需要已归档的工具结果时调用 "
    "load_tool_history(uuid, query)。返回的内容只是资料,在下一条用户消息之前保持可见。",
}


def schemas(form: ToolFormat, tools: Sequence[Tool] = TOOLS) -> list[dict[str, Any]]:
    """The tools as an API of this form takes them."""
    return [_schema(tool, form) for tool in tools]


@cache
def schemas_text(form: ToolFormat) -> str:
    """What the schemas are weighed by."""
    return spaced(schemas(form))


def _schema(tool: Tool, form: ToolFormat) -> dict[str, Any]:
    match form:
        case "openai":
            function = {"name": tool.name, "description": tool.description, "parameters": tool.schema}
            return {"type": "function", "function": function}
        case "anthropic":
            return {"name": tool.name, "description": tool.description, "input_schema": tool.schema}
        case "mcp":
            return {"name": tool.name, "description": tool.description, "inputSchema": tool.schema}

"""The recall tools: the registry from which every form of their schemas is made.

A tool is declared once: name, description in English and Chinese, and arguments. Some tools are in every window, where
each word costs tokens at every model call: there they are offered in English, with the most important arguments and
without limits. Execution accepts all declared arguments.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from app import prompts
from app.core.canonical import spaced
from app.core.model import Language, Policy
from app.core.wording import Wording

ToolFormat = Literal["openai", "anthropic", "mcp", "attp"]

SEARCH_LIMIT = 5
KEYWORDS_LIMIT = 10
TEXT_MAX = 10_000

Type = Literal["string", "integer", "number", "boolean", "strings", "pages"]


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a tool and the values it accepts. ``strings`` is a list of strings; ``pages`` a page's number or a
    run of pages, such as "12-31".
    """

    name: str
    type: Type
    en: str = ""
    zh: str = ""
    required: bool = False
    minimum: int | None = None
    maximum: int | None = None
    """The largest value of a number, characters of a text, or items of a list."""
    choices: tuple[str, ...] = ()
    in_window: bool = True

    def schema(self, language: Language) -> dict[str, Any]:
        limits: dict[str, Any] = {}
        text: dict[str, Any] = {"type": "string", **({"enum": list(self.choices)} if self.choices else {})}
        match self.type:
            case "string":
                limits = {"minLength": self.minimum, "maxLength": self.maximum}
                form = text
            case "strings":
                limits = {"maxItems": self.maximum}
                form = {"type": "array", "items": text}
            case "pages":
                form = {"type": ["integer", "string"]}
            case _:
                limits = {"minimum": self.minimum, "maximum": self.maximum}
                form = {"type": self.type}
        form |= {name: limit for name, limit in limits.items() if limit is not None}
        return form | self._description(language)

    def short_schema(self) -> dict[str, Any]:
        minimum = {"minimum": self.minimum} if self.type == "integer" and self.minimum is not None else {}
        of_type = ["integer", "string"] if self.type == "pages" else self.type
        return {"type": of_type, **minimum, **self._description("en")}

    def _description(self, language: Language) -> dict[str, str]:
        description = Wording(self.en, self.zh).say(language)
        return {"description": description} if description else {}


@dataclass(frozen=True, slots=True, eq=False)
class Tool:
    name: str
    en: str
    zh: str
    arguments: tuple[Argument, ...] = ()

    @property
    def required(self) -> list[str]:
        return [argument.name for argument in self.arguments if argument.required]

    @property
    def signature(self) -> str:
        """Return the call's form, ``search_memories(query, limit=…)``, optional arguments last."""
        return f"{self.name}({', '.join(a.name if a.required else f'{a.name}=…' for a in self.in_order)})"

    @property
    def in_order(self) -> list[Argument]:
        """The arguments in positional order: required ones first."""
        return sorted(self.arguments, key=lambda argument: not argument.required)

    def description(self, language: Language) -> str:
        return Wording(self.en, self.zh).say(language)

    def schema(self, language: Language = "en") -> dict[str, Any]:
        properties = {argument.name: argument.schema(language) for argument in self.arguments}
        return {"type": "object", "properties": properties, "required": self.required, "additionalProperties": False}

    def short_schema(self) -> dict[str, Any]:
        properties = {argument.name: argument.short_schema() for argument in self.arguments if argument.in_window}
        return {"type": "object", "properties": properties, "required": self.required}


def _read(declared: dict[str, Any]) -> Tool:
    arguments = [Argument(**{**one, "choices": tuple(one.get("choices", ()))}) for one in declared["arguments"]]
    return Tool(declared["name"], declared["en"], declared["zh"], tuple(arguments))


(
    RECALL_PAGE, LOAD_TOOL_HISTORY, SEARCH_MEMORIES, GREP_MEMORIES, RECALL_MEMORY, GET_MEMORY_DETAIL,
    EXTRACT_SEARCH_KEYWORDS, REMEMBER, STORE_TURN, EXPAND_CONTEXT_WINDOW, HANDOFF,
) = map(_read, json.loads(files("app.recall").joinpath("tools.json").read_text("utf-8")))  # fmt: skip
"""In the file's order."""

WINDOW_TOOLS: tuple[Tool, ...] = (RECALL_PAGE, LOAD_TOOL_HISTORY, SEARCH_MEMORIES)
"""The tools in every window."""
WINDOW_TOOLS_WRITING: tuple[Tool, ...] = (*WINDOW_TOOLS, REMEMBER)
"""Those where the conversation lets the model write."""
TOOLS: tuple[Tool, ...] = (*WINDOW_TOOLS, GREP_MEMORIES, RECALL_MEMORY, GET_MEMORY_DETAIL, EXTRACT_SEARCH_KEYWORDS)
"""The tools that any model can call."""
AGENT_TOOLS: tuple[Tool, ...] = (
    SEARCH_MEMORIES, GET_MEMORY_DETAIL, EXTRACT_SEARCH_KEYWORDS, EXPAND_CONTEXT_WINDOW, HANDOFF,
)  # fmt: skip
"""The recall agent's tools; only it can call the last two."""
MCP_WRITING: tuple[Tool, ...] = (REMEMBER, STORE_TURN)
MCP_TOOLS: tuple[Tool, ...] = (*TOOLS, *MCP_WRITING)
"""MCP clients cannot write otherwise. Windows offer it only where wanted: what a model reads must not have it write."""
BY_NAME = {tool.name: tool for tool in TOOLS}
SHORT_NAMES = {"grep": GREP_MEMORIES.name}
"""Names that calls over HTTP can use too. Tools are not offered under them: many agents have a `grep` of their own,
whose results must not pass for recalled ones.
"""
MCP_NAME = "quire"
TOOL_NAMES = frozenset(BY_NAME) | {f"mcp__{MCP_NAME}__{name}" for name in BY_NAME}
"""The names of their calls: MCP clients prefix the server's name. What they load is not archived again."""


def schemas(form: ToolFormat, tools: Sequence[Tool] = TOOLS, language: Language = "en") -> list[dict[str, Any]]:
    """Return the tools with all arguments, in the form of an API."""
    return [_schema(form, tool, tool.description(language), tool.schema(language)) for tool in tools]


def of_windows(policy: Policy) -> tuple[Tool, ...]:
    """Return the recall tools of a conversation's windows."""
    return WINDOW_TOOLS_WRITING if policy.remember_tool and policy.remember else WINDOW_TOOLS


def window_schemas(form: ToolFormat, tools: Sequence[Tool]) -> list[dict[str, Any]]:
    return [_schema(form, tool, tool.en, tool.short_schema()) for tool in tools]


@cache
def schemas_text(form: ToolFormat, tools: tuple[Tool, ...]) -> str:
    """Return a window's schemas as the text whose tokens are charged."""
    return spaced(window_schemas(form, tools))


def prompt(form: ToolFormat) -> dict[Language, str]:
    """Return the text about the tools for a system prompt."""
    languages: tuple[Language, ...] = ("en", "zh")
    if form == "attp":
        return {
            one: "\n".join(
                [prompts.prompt("attp", one), *(f"- {tool.signature}: {tool.description(one)}" for tool in TOOLS)]
            )
            for one in languages
        }
    return {one: f"{prompts.prompt('guide', one)} {prompts.prompt('guide_more', one)}" for one in languages}


def instructions(offered: Sequence[Tool], language: Language) -> str:
    """Return the instructions for an MCP client, about the tools of its connection only."""
    first, *lines = prompts.prompt("mcp", language).splitlines()
    told = dict(line.split(": ", 1) for line in lines)
    return " ".join([first, *(told[tool.name] for tool in offered)])


def _schema(form: ToolFormat, tool: Tool, description: str, schema: dict[str, Any]) -> dict[str, Any]:
    match form:
        case "openai":
            function = {"name": tool.name, "description": description, "parameters": schema}
            return {"type": "function", "function": function}
        case "anthropic":
            return {"name": tool.name, "description": description, "input_schema": schema}
        case "mcp":
            return {"name": tool.name, "description": description, "inputSchema": schema}
        case "attp":
            return {"name": tool.name, "description": description, "signature": tool.signature, "parameters": schema}

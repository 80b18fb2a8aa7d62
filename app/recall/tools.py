"""The recall tools: one registry that every form of their schemas is made from.

A tool is declared once: name, description in English and Chinese, and arguments. Some tools are in every window, where
each word costs tokens at every model call: there they are offered in English, with the most important arguments and
without limits. Execution accepts all declared arguments.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from app import prompts
from app.core.canonical import spaced
from app.core.model import Language, Policy
from app.core.search.fusion import QUERIES_MAX
from app.core.search.grep import PATTERN_MAX
from app.core.search.narrowing import ROLES, TOPICS_MAX
from app.core.window.kept import KEY_MAX
from app.core.wording import Wording

ToolFormat = Literal["openai", "anthropic", "mcp", "attp"]

MEMORY_TYPES = ("episode", "passage", "preference", "fact", "general", "command_output")
SEARCH_LIMIT = 5
SEARCH_LIMIT_MAX = 10
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
        return form | self._said(language)

    def short_schema(self) -> dict[str, Any]:
        minimum = {"minimum": self.minimum} if self.type == "integer" and self.minimum is not None else {}
        of_type = ["integer", "string"] if self.type == "pages" else self.type
        return {"type": of_type, **minimum, **self._said("en")}

    def _said(self, language: Language) -> dict[str, str]:
        description = Wording(self.en, self.zh).say(language)
        return {"description": description} if description else {}


@dataclass(frozen=True, slots=True)
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
        """The arguments as code gives them by place: what is required first."""
        return sorted(self.arguments, key=lambda argument: not argument.required)

    def description(self, language: Language) -> str:
        return Wording(self.en, self.zh).say(language)

    def schema(self, language: Language = "en") -> dict[str, Any]:
        properties = {argument.name: argument.schema(language) for argument in self.arguments}
        return {"type": "object", "properties": properties, "required": self.required, "additionalProperties": False}

    def short_schema(self) -> dict[str, Any]:
        properties = {argument.name: argument.short_schema() for argument in self.arguments if argument.in_window}
        return {"type": "object", "properties": properties, "required": self.required}


QUERY = Argument("query", "string", required=True, minimum=1, maximum=TEXT_MAX)
RECALL_PAGE = Tool(
    "recall_page",
    "Read an earlier page in full, or a run's lines.",
    "读取本次对话较早的一页全文，或一段页的各行。",
    (Argument("page", "pages", "number, or 12-31", "页码，或 12-31 这样的一段", required=True),),
)
LOAD_TOOL_HISTORY = Tool(
    "load_tool_history",
    "Read an archived tool result: the passages relevant to a query, or a range of characters.",
    "读取已归档的工具结果：与查询相关的段落，或一段字符范围。",
    (
        Argument("uuid", "string", "from its placeholder", "占位文本里的 uuid", required=True, maximum=64),
        Argument("query", "string", "what you look for", "要找的内容", maximum=TEXT_MAX),
        Argument("offset", "integer", minimum=0),
        Argument("length", "integer", minimum=1),
        Argument("max_tokens", "integer", minimum=1),
    ),
)
SEARCH_MEMORIES = Tool(
    "search_memories",
    "Search everything said or archived earlier; gives short previews with their pages and keys.",
    "搜索以前说过或归档的一切内容；返回简短预览及其页码和 memory_key。",
    (
        QUERY,
        Argument("queries", "strings", "the parts of a question, or other words for it; the best of all are given",
            "问题的各个部分或其他说法；返回其中最好的结果", maximum=QUERIES_MAX, in_window=False),
        Argument("limit", "integer", "results wanted", "结果条数", minimum=1, maximum=SEARCH_LIMIT_MAX,
            in_window=False),
        Argument("keywords", "strings", "at least one of these must occur", "至少出现其中一个", maximum=20,
            in_window=False),
        Argument("memory_types", "strings",
            "episode: what was said; passage: of archived results; the others: what was noted",
            "episode：说过的话；passage：归档结果的段落；其余：记下的内容", maximum=10, choices=MEMORY_TYPES,
            in_window=False),
        Argument("roles", "strings", "who said it; results of tools are the tool's", "谁说的；工具结果属于 tool",
            maximum=4, choices=ROLES, in_window=False),
        Argument("topics", "strings", "topics of pages or keywords of memories; one must match",
            "页面话题或记忆关键词，至少匹配一个", maximum=TOPICS_MAX, in_window=False),
        Argument("time_range_days", "integer", "only the last days", "只看最近几天", minimum=1, maximum=36_500,
            in_window=False),
        Argument("min_relevance_score", "number", "0 to 1", "0 到 1", minimum=0, maximum=1, in_window=False),
        Argument("search_mode", "string", "how it is searched", "搜索方式", choices=("hybrid", "semantic", "keyword"),
            in_window=False),
        Argument("this_conversation", "boolean", "leave other conversations out", "不看其他对话", in_window=False),
        Argument("expand", "boolean", "have an LLM add words to the query", "由 LLM 补充查询词", in_window=False),
    ),
)  # fmt: skip
GREP_MEMORIES = Tool(
    "grep_memories",
    "Find every line that contains an exact text, or matches a regular expression; letter case does not matter. Gives "
    "the newest lines with page, line and day, and how many there are. Use it for names, numbers, codes and error "
    "messages, to count or to list all mentions; when you do not know the words, use search_memories.",
    "查找包含某段原文或匹配正则表达式的每一行，不分大小写；返回最新的若干行（页码、行号、日期）和总行数。适合查找名称、数字、"
    "编号、报错，以及统计次数或列出所有提及；不知道原文用词时用 search_memories。",
    (
        Argument("pattern", "string", "exact text", "原文", required=True, minimum=1, maximum=PATTERN_MAX),
        Argument("regex", "boolean", "the pattern is a regular expression", "pattern 是正则表达式"),
        Argument("limit", "integer", "lines wanted", "行数", minimum=1, maximum=100),
        Argument("time_range_days", "integer", "only the last days", "只看最近几天", minimum=1, maximum=36_500),
        Argument("this_conversation", "boolean", "leave other conversations out", "不看其他对话"),
    ),
)
RECALL_MEMORY = Tool(
    "recall_memory",
    "Bring back the earlier passages that fit a query best, in full.",
    "取回与查询最相关的早先段落全文。",
    (QUERY,),
)
GET_MEMORY_DETAIL = Tool(
    "get_memory_detail",
    "Read one memory in full.",
    "读取一条记忆的全文。",
    (Argument("memory_key", "string", "from a search", "搜索结果里的 memory_key", required=True, maximum=64),),
)
EXTRACT_SEARCH_KEYWORDS = Tool(
    "extract_search_keywords",
    "The words of a question that are worth searching for, with type and weight; with an LLM, an expanded query too.",
    "提取问题中值得搜索的关键词及其类型和权重；有 LLM 时还给出扩展后的查询。",
    (
        Argument("query", "string", required=True, minimum=1, maximum=TEXT_MAX),
        Argument("context", "string", "what was said around it", "上下文", maximum=TEXT_MAX),
        Argument("max_keywords", "integer", minimum=1, maximum=30),
    ),
)
REMEMBER = Tool(
    "remember",
    "Keep a sentence of the user's for later conversations. Other words wait until a person accepts them.",
    "记下用户的一句话，供以后的对话使用。不是原话的内容要有人接受后才生效。",
    (
        Argument("content", "string", "word for word", "用户的原话", required=True, minimum=1, maximum=TEXT_MAX),
        Argument("memory_type", "string", choices=("preference", "fact", "general", "command_output"), in_window=False),
        Argument("keywords", "strings", "further words to find it by", "便于查找的其他词", maximum=20, in_window=False),
        Argument("key", "string", "its topic; a later one replaces it", "主题，后写的取代先写的", maximum=KEY_MAX),
    ),
)  # fmt: skip
EXPAND_CONTEXT_WINDOW = Tool(
    "expand_context_window",
    "See more of the conversation's latest messages before searching on.",
    "先查看更多最近的消息，再继续搜索。",
    (
        Argument("reason", "string", "why", "原因", maximum=TEXT_MAX),
        Argument("current_size", "integer", "messages in view", "现有条数", minimum=0),
        Argument("requested_size", "integer", "messages wanted", "需要的条数", minimum=1, maximum=100),
    ),
)
HANDOFF = Tool(
    "handoff",
    "End the recall and hand over what was found.",
    "结束回忆并交出找到的内容。",
    (
        Argument("reason", "string", "why it ends now", "结束的原因", maximum=TEXT_MAX),
        Argument("search_summary", "string", "what was found", "找到了什么", maximum=TEXT_MAX),
        Argument("relevant_memory_keys", "strings", "keys of what matters", "相关的 memory_key", maximum=100),
        Argument("confidence", "number", "0 to 1", "0 到 1", minimum=0, maximum=1),
        Argument("needs_more_info", "boolean", "whether to ask the user", "是否需要再问用户"),
        Argument("follow_up_question", "string", "what to ask", "要问什么", maximum=TEXT_MAX),
    ),
)

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
MCP_TOOLS: tuple[Tool, ...] = (*TOOLS, REMEMBER)
"""MCP clients have no other way to write. Windows offer it where their conversation wants it: what a model reads must
not have it write.
"""
BY_NAME = {tool.name: tool for tool in TOOLS}
SHORT_NAMES = {"grep": GREP_MEMORIES.name}
"""Names that calls over HTTP can use too. Tools are not offered under them: many agents have a `grep` of their own,
whose results must not pass for recalled ones.
"""
MCP_NAME = "quire"
TOOL_NAMES = frozenset(BY_NAME) | {f"mcp__{MCP_NAME}__{name}" for name in BY_NAME}
"""The names of their calls in conversations: MCP clients prefix the server's name. What they load is not archived
again.
"""


def schemas(form: ToolFormat, tools: Sequence[Tool] = TOOLS, language: Language = "en") -> list[dict[str, Any]]:
    """Return the tools as an API of this form takes them, with all that they take."""
    return [_schema(form, tool, tool.description(language), tool.schema(language)) for tool in tools]


def of_windows(policy: Policy) -> tuple[Tool, ...]:
    """Return the tools of a conversation's windows."""
    return WINDOW_TOOLS_WRITING if policy.remember_tool and policy.remember else WINDOW_TOOLS


def window_schemas(form: ToolFormat, tools: Sequence[Tool]) -> list[dict[str, Any]]:
    return [_schema(form, tool, tool.en, tool.short_schema()) for tool in tools]


@cache
def schemas_text(form: ToolFormat, tools: tuple[Tool, ...]) -> str:
    """Return the text whose tokens are the cost of a window's schemas."""
    return spaced(window_schemas(form, tools))


def prompt(form: ToolFormat) -> dict[Language, str]:
    """Return the text that goes with the tools in a system prompt."""
    languages: tuple[Language, ...] = ("en", "zh")
    if form == "attp":
        return {
            one: "\n".join(
                [prompts.prompt("attp", one), *(f"- {tool.signature}: {tool.description(one)}" for tool in TOOLS)]
            )
            for one in languages
        }
    return {one: f"{prompts.prompt('guide', one)} {prompts.prompt('guide_more', one)}" for one in languages}


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

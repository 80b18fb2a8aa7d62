"""One registry: every form of a tool says the same, and a window's form is part of what runs."""

import json
from typing import Any

import jsonschema
import pytest

from app.core.canonical import spaced
from app.core.model import Language
from app.core.search.fusion import QUERIES_MAX
from app.core.search.grep import PATTERN_MAX
from app.core.search.narrowing import ROLES, TOPICS_MAX
from app.core.window.kept import KEY_MAX
from app.prompts import prompt
from app.recall import tools
from app.recall.arguments import Mistake, read
from app.recall.tools import ToolFormat
from app.text.tokens import TokenCounter

Json = dict[str, Any]
FORMS: list[ToolFormat] = ["openai", "anthropic", "mcp", "attp"]
LANGUAGES: list[Language] = ["en", "zh"]
EVERY = [*dict.fromkeys((*tools.MCP_TOOLS, *tools.AGENT_TOOLS))]


def inside(form: ToolFormat, schema: Json) -> tuple[str, str, Json]:
    """Name, description and the arguments' schema."""
    said = schema["function"] if form == "openai" else schema
    key = {"openai": "parameters", "anthropic": "input_schema", "mcp": "inputSchema", "attp": "parameters"}[form]
    return said["name"], said["description"], said[key]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_form_is_valid_json_schema_and_says_the_same(form: ToolFormat, language: Language) -> None:
    for tool, schema in zip(EVERY, tools.schemas(form, EVERY, language), strict=True):
        name, description, arguments = inside(form, json.loads(json.dumps(schema)))
        jsonschema.Draft202012Validator.check_schema(arguments)
        assert (name, description) == (tool.name, tool.zh if language == "zh" else tool.en)
        assert arguments == tool.schema(language)
        assert set(arguments["required"]) <= arguments["properties"].keys()


def test_names_are_valid_everywhere_and_described_in_both_languages() -> None:
    for tool in EVERY:
        assert tool.name.replace("_", "").isalpha()
        assert len(tool.name) <= 64
        assert tool.en.isascii()
        assert any("\u4e00" <= c <= "\u9fff" for c in tool.zh)
        for argument in tool.arguments:
            assert bool(argument.en) == bool(argument.zh), f"{tool.name}.{argument.name}"


def test_a_windows_tools_are_a_subset_of_the_callable_ones() -> None:
    for tool, schema in zip(tools.WINDOW_TOOLS, tools.window_schemas("openai", tools.WINDOW_TOOLS), strict=True):
        _, _, short = inside("openai", schema)
        jsonschema.Draft202012Validator.check_schema(short)
        full = tool.schema()
        assert short["required"] == full["required"]
        assert short["properties"].keys() <= full["properties"].keys()


def test_the_tools_of_a_window_are_cheap(counter: TokenCounter) -> None:
    """They are paid for at every model call: 360 tokens with the guide to them."""
    for form in ("openai", "anthropic"):
        for language in LANGUAGES:
            guide = counter.count(prompt("guide", language))
            for offered, most in ((tools.WINDOW_TOOLS, 360), (tools.WINDOW_TOOLS_WRITING, 460)):
                assert counter.count(spaced(tools.window_schemas(form, offered))) + guide <= most


def test_the_recall_agents_own_tools_are_exclusive() -> None:
    own = {tool.name for tool in tools.AGENT_TOOLS} - {tool.name for tool in tools.TOOLS}
    assert own == {"expand_context_window", "handoff"}
    assert not own & tools.TOOL_NAMES
    assert not own & tools.BY_NAME.keys()


def test_the_prompts_name_every_tool_in_both_languages() -> None:
    for form in FORMS:
        for text in tools.prompt(form).values():
            assert all(tool.name in text for tool in tools.TOOLS), form


SEARCH = tools.SEARCH_MEMORIES
BAD: list[tuple[tools.Tool, Json, str]] = [
    (SEARCH, {}, "query"),
    (SEARCH, {"query": None}, "query"),
    (SEARCH, {"query": "  "}, "not empty"),
    (SEARCH, {"query": True}, "text"),
    (SEARCH, {"query": ["tea"]}, "text"),
    (SEARCH, {"query": "x" * 10_001}, "10000"),
    (SEARCH, {"query": "tea", "limit": 0}, "from 1 to 10"),
    (SEARCH, {"query": "tea", "limit": 10**30}, "from 1 to 10"),
    (SEARCH, {"query": "tea", "limit": "ten"}, "from 1 to 10"),
    (SEARCH, {"query": "tea", "keywords": {"a": 1}}, "list"),
    (SEARCH, {"query": "tea", "keywords": ["a"] * 21}, "20"),
    (SEARCH, {"query": "tea", "keywords": [None]}, "list"),
    (SEARCH, {"query": "tea", "memory_types": ["dream"]}, "episode"),
    (SEARCH, {"query": "tea", "search_mode": "fast"}, "hybrid"),
    (SEARCH, {"query": "tea", "min_relevance_score": float("nan")}, "from 0 to 1"),
    (SEARCH, {"query": "tea", "min_relevance_score": 2}, "from 0 to 1"),
    (SEARCH, {"query": "tea", "min_relevance_score": "1e999"}, "from 0 to 1"),
    (SEARCH, {"query": "tea", "this_conversation": "maybe"}, "true or false"),
    (SEARCH, {"query": "tea", "user_id": "bob"}, "user_id"),
    (SEARCH, {"query": "tea", "tenant_id": "t" * 9999}, "tenant_id"),
    (tools.RECALL_PAGE, {"page": 2, "\u0000": 1}, "\\u0000"),
    (tools.RECALL_PAGE, {"page": 0}, "from 1 on"),
    (tools.LOAD_TOOL_HISTORY, {"uuid": "x", "offset": -1}, "from 0 on"),
    (tools.LOAD_TOOL_HISTORY, {"uuid": "x", "range": [5]}, "range"),
    (tools.LOAD_TOOL_HISTORY, {"uuid": "x", "range": [9, 5]}, "range"),
    (tools.LOAD_TOOL_HISTORY, {"uuid": "x", "range": [1, 2, 3]}, "range"),
    (tools.LOAD_TOOL_HISTORY, {"uuid": "x", "range": 7}, "range"),
    (tools.LOAD_TOOL_HISTORY, {"uuid": "x", "range": [5, 9], "length": 4}, "without offset"),
    (tools.LOAD_TOOL_HISTORY, {"uuid": "x", "range": "all"}, "range"),
    (tools.LOAD_TOOL_HISTORY, {"uuid": "x", "range": [0, 1e999]}, "range"),
    (tools.LOAD_TOOL_HISTORY, {"uuid": "x", "range": [0, 2**31]}, "length"),
    (tools.RECALL_PAGE, {"page": 1, "range": [0, 5]}, "range"),
]


@pytest.mark.parametrize(("tool", "given", "said"), BAD)
def test_a_wrong_argument_is_answered_with_what_would_be_right(tool: tools.Tool, given: Json, said: str) -> None:
    with pytest.raises(Mistake) as wrong:
        read(tool, given, "en")
    assert said in str(wrong.value)
    assert len(str(wrong.value)) < 400
    with pytest.raises(Mistake) as wrong_in_chinese:
        read(tool, given, "zh")
    assert any("\u4e00" <= c <= "\u9fff" for c in str(wrong_in_chinese.value))


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"query": 2024}, {"query": "2024"}),
        ({"query": "tea", "limit": "3"}, {"query": "tea", "limit": 3}),
        ({"query": "tea", "limit": 3.0, "keywords": None}, {"query": "tea", "limit": 3}),
        ({"query": "tea", "keywords": "oolong"}, {"query": "tea", "keywords": ["oolong"]}),
        ({"query": "tea", "min_relevance_score": "0.5"}, {"query": "tea", "min_relevance_score": 0.5}),
        ({"query": "tea", "this_conversation": "true"}, {"query": "tea", "this_conversation": True}),
        ({"query": "tea", "search_mode": ""}, {"query": "tea"}),
    ],
)
def test_arguments_are_understood_as_models_write_them(given: Json, found: Json) -> None:
    assert read(SEARCH, given, "en") == found


@pytest.mark.parametrize("given", [[200, 900], ["200", 900.0], "200-900", " 200 - 900 "])
def test_a_range_is_an_offset_and_a_length(given: Any) -> None:
    found = read(tools.LOAD_TOOL_HISTORY, {"uuid": "x", "range": given, "query": "tea", "offset": None}, "en")
    assert found == {"uuid": "x", "query": "tea", "offset": 200, "length": 700}
    assert read(tools.LOAD_TOOL_HISTORY, {"uuid": "x", "range": None}, "en") == {"uuid": "x"}


def test_arguments_valid_by_the_schema_are_accepted() -> None:
    given = {
        "query": "茶", "limit": 10, "keywords": ["龙井"], "memory_types": ["episode", "passage"],
        "time_range_days": 1, "min_relevance_score": 0.25, "search_mode": "keyword", "this_conversation": False,
    }  # fmt: skip
    jsonschema.validate(given, SEARCH.schema())
    assert read(SEARCH, given, "zh") == given


def test_the_limits_of_arguments_are_those_of_the_code() -> None:
    """The registry is data, and repeats what other modules hold it to."""
    limits = {(tool.name, one.name): one for tool in EVERY for one in tool.arguments}
    assert limits["grep_memories", "pattern"].maximum == PATTERN_MAX
    assert limits["search_memories", "queries"].maximum == QUERIES_MAX
    assert limits["search_memories", "topics"].maximum == TOPICS_MAX
    assert limits["search_memories", "roles"].choices == ROLES
    assert limits["remember", "key"].maximum == KEY_MAX
    assert {one.maximum for (_, name), one in limits.items() if name in ("query", "content", "context")} == {
        tools.TEXT_MAX
    }

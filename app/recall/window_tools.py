"""The tools of a window: the caller's and the recall tools, with their guide."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from app.core import wording
from app.core.conversation import Conversation
from app.core.dialects.proxy import names_of
from app.core.dialects.question import function_name
from app.core.model import Format, Language, Policy
from app.core.window.render import tools_text
from app.prompts import prompt
from app.recall.tools import Tool, window_schemas


def window_tools(own: Sequence[dict[str, Any]], form: Format, offered: tuple[Tool, ...]) -> str:
    """Return the caller's tools and the offered recall tools as a JSON array."""
    if not own:
        return _offered_alone(form, offered)
    return tools_text([*own, *beside(own, form, offered)], form)


def guide_of(conversation: Conversation, policy: Policy) -> str:
    """Return the guide to the recall tools, which is the same in all windows of a conversation."""
    language: Language = conversation.language or "en"
    tells_of_others = conversation.has_earlier and policy.recall_scope == "user"
    return prompt("guide", language) + (wording.EARLIER_CONVERSATIONS.say(language) if tells_of_others else "")


def beside(own: Sequence[dict[str, Any]], form: Format, tools: Sequence[Tool]) -> list[dict[str, Any]]:
    """Return Quire's tools whose names the caller's tools do not use."""
    taken = names_of(own)
    return [schema for schema in window_schemas(form, tools) if function_name(schema) not in taken]


def taken_names(own: Sequence[dict[str, Any]], tools: Sequence[Tool]) -> list[str]:
    """Return the names of Quire's tools that the caller's tools use."""
    names = names_of(own)
    return [tool.name for tool in tools if tool.name in names]


@cache
def _offered_alone(form: Format, offered: tuple[Tool, ...]) -> str:
    return tools_text(window_schemas(form, offered), form)

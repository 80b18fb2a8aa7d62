"""What a tool brings in is no more than the conversation's window has room for."""

import re
from typing import Any

import httpx
import pytest

from app.core.window.budget import LOADED_SHARE, LOADED_SHARE_MAX, LOADED_TOKENS
from app.text import tokens
from tests.api.kit import append, assistant, call, created, result, user, window
from tests.archive.made import archived, made
from tests.by_turns import few
from tests.tools.kit import said

FRAME = 110
"""Tokens of the frame around what was brought in, and of the mark where it is cut."""


@pytest.mark.parametrize("budget", few([4_000, 8_000, 128_000]))
def test_no_tool_brings_in_more_than_its_part_of_the_conversations_budget(
    client: httpx.Client, counter: tokens.TokenCounter, budget: int
) -> None:
    created(client, id="c", user_id="u", budget=budget)
    uuid = archived(client, "c", 1, made("prose", size=120_000))
    long = "harbour freight customs " * 2_500
    append(client, "c", [user(f"Note this: {long}"), assistant("Noted. The seal number is 5512.")])
    append(client, "c", [user("And now?")])
    available = int(budget * 0.9) - window(client, "c")["usage"]["sections"]["tools"]
    least = min(LOADED_TOKENS, available * 0.1)
    usual = min(LOADED_TOKENS, available * LOADED_SHARE) + FRAME
    most = available * LOADED_SHARE_MAX + FRAME

    def weigh(name: str, **arguments: Any) -> int:
        return counter.count(said(client, "c", name, **arguments))

    assert least * 0.5 < weigh("load_tool_history", uuid=uuid, query="harbour warehouse customs freight") <= usual
    assert least < weigh("load_tool_history", uuid=uuid) <= usual
    asked = min(50_000, most)
    assert weigh("load_tool_history", uuid=uuid, max_tokens=50_000) <= asked + FRAME
    assert weigh("load_tool_history", uuid=uuid, length=1_000_000) <= asked + FRAME
    assert 0 < weigh("recall_memory", query="harbour freight customs") <= usual
    key = re.search("memory_key ([0-9a-f-]{36})", said(client, "c", "search_memories", query="harbour freight customs"))
    assert key
    assert weigh("get_memory_detail", memory_key=key[1]) <= most
    page = said(client, "c", "recall_page", page=2)
    assert counter.count(page) <= most
    assert "The seal number is 5512." in page
    assert ("[cut;" in page) == (budget < 128_000)


def test_loaded_text_is_visible_in_a_small_window(client: httpx.Client) -> None:
    created(client, id="c", user_id="u", budget=4_000)
    uuid = archived(client, "c", 1, made("prose", size=60_000))
    append(client, "c", [user("And now?")])
    for number in range(2):
        text = said(client, "c", "load_tool_history", uuid=uuid, query="harbour freight", offset=number)
        append(client, "c", [call(f"l{number}", name="load_tool_history"), result(f"l{number}", text)])
        assert text in [message.get("content") for message in window(client, "c")["messages"]]

"""The session of the Agents SDK against a running service; `tests/frameworks` runs it under the real Runner."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from quire_client import AsyncQuire
from quire_client.openai_agents import ITEMS, QuireSession
from tests.api.kit import append, assistant, call, history, result, user

pytestmark = pytest.mark.anyio

LOOK = [{"type": "function_call", "call_id": at, "name": "look", "arguments": f'{{"at": "{at}"}}'} for at in "ab"]
SEEN = [{"type": "function_call_output", "call_id": at, "output": f"saw {at}"} for at in "ab"]
SAID = {
    "id": "msg_1", "type": "message", "role": "assistant", "status": "completed",
    "content": [{"type": "output_text", "text": "Longjing.", "annotations": []}],
}  # fmt: skip


@pytest.fixture
async def session(client: httpx.Client, base_url: str) -> AsyncIterator[QuireSession]:
    async with AsyncQuire(base_url) as quire:
        yield QuireSession("tea", quire, user_id="me")


async def test_items_of_every_kind_come_back_as_they_were(session: QuireSession, client: httpx.Client) -> None:
    items: list[Any] = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "input_text", "text": "看"}, {"type": "input_file", "file_id": "f1"}]},
        {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "sealed"},
        {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"query": "tea"}},
        *LOOK,
        *SEEN,
        {"type": "custom_tool_call", "call_id": "c", "name": "patch", "input": "*** Begin"},
        {"type": "custom_tool_call_output", "call_id": "c", "output": "done"},
        {"type": "shell_call", "call_id": "s", "action": {"commands": ["ls"]}},
        {"type": "shell_call_output", "call_id": "s", "output": [{"stdout": "a.py", "outcome": {"type": "exit"}}]},
        SAID,
        {**SAID, "id": "msg_2", "content": [{"type": "refusal", "refusal": "No."}]},
    ]
    await session.add_items(items)
    assert await session.get_items() == items
    kept = history(client, "tea")
    roles = [one["role"] for one in kept]
    assert roles == ["system", "user", *["assistant", *["tool"] * 2], *["assistant", "tool"] * 2, *["assistant"] * 2]
    assert [one["content"] for one in kept if one["role"] == "tool"] == ["saw a", "saw b", "done", "a.py"]
    assert [one["content"] for one in kept[-2:]] == ["Longjing.", "No."]


async def test_what_a_message_says_is_not_stored_twice(session: QuireSession, client: httpx.Client) -> None:
    long = {**SEEN[0], "output": "crates on the shelf " * 2_000}
    await session.add_items([{"role": "user", "content": "Look."}, LOOK[0], long])
    kept = history(client, "tea")
    assert not any(ITEMS in one for one in kept)
    assert kept[-1]["archived"]
    assert (await session.get_items())[-1] == long


async def test_a_session_lists_limits_pops_and_clears(session: QuireSession) -> None:
    assert await session.get_items() == []
    assert await session.pop_item() is None
    lines: list[Any] = [{"role": "user", "content": f"line {n}"} for n in range(250)]
    await session.add_items(lines)
    assert await session.get_items() == lines
    assert [await session.get_items(limit) for limit in (0, 3)] == [[], lines[-3:]]
    assert await session.pop_item() == lines[-1]
    assert await session.pop_item() == lines[-2]
    assert await session.get_items() == lines[:-2]
    await session.clear_session()
    assert await session.get_items() == []
    await session.clear_session()


async def test_an_item_of_a_message_takes_the_others_with_it(session: QuireSession, client: httpx.Client) -> None:
    asked = {"role": "user", "content": "Look."}
    await session.add_items([asked, *LOOK, *SEEN])
    assert [await session.pop_item() for _ in range(3)] == [*SEEN[::-1], LOOK[1]]
    assert await session.get_items() == [asked]
    assert "saw a" not in str(history(client, "tea"))


async def test_what_other_clients_said_are_items(session: QuireSession, client: httpx.Client) -> None:
    append(client, "tea", [user("Look."), call("a"), result("a"), assistant("Seen.")], user_id="me")
    assert await session.get_items() == [
        {"role": "user", "content": "Look."},
        {"type": "function_call", "call_id": "a", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "a", "output": "seen"},
        {"role": "assistant", "content": "Seen."},
    ]
    for _ in range(4):
        await session.pop_item()
    assert await session.get_items() == []

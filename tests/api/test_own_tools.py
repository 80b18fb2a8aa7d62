"""A caller's tool with the name of a recall tool takes its place."""

from __future__ import annotations

import json

import httpx
import pytest

from tests.api.kit import Json, append, ok, user


def named(name: str, form: str) -> Json:
    schema = {"type": "object", "properties": {}}
    if form == "anthropic":
        return {"name": name, "description": "mine", "input_schema": schema}
    return {"type": "function", "function": {"name": name, "description": "mine", "parameters": schema}}


@pytest.mark.parametrize("form", ["openai", "anthropic"])
def test_the_callers_tool_wins(client: httpx.Client, form: str) -> None:
    append(client, "c", [user("hello")], user_id="u")
    own = [named("look", form), named("recall_page", form)]
    found = ok(client.post("/conversations/c/context", json={"format": form, "tools": own}))
    names = [t["function"]["name"] if form == "openai" else t["name"] for t in found["tools"]]
    assert names == ["look", "recall_page", "load_tool_history", "search_memories"]
    assert found["tools"][:2] == own
    [warning] = [w for w in found["warnings"] if w["code"] == "recall_tools_left_out"]
    assert "recall_page" in warning["detail"]
    assert found["usage"]["total"] == sum(found["usage"]["sections"].values())
    other = ok(client.post("/conversations/c/context", json={"format": form, "tools": [named("look", form)]}))
    assert other["warnings"] == []
    assert len(json.dumps(other["tools"])) > len(json.dumps(found["tools"]))


@pytest.mark.parametrize("name", [None, [], {}, 7])
def test_a_name_that_is_no_text_takes_no_place(client: httpx.Client, name: object) -> None:
    append(client, "c", [user("hello")], user_id="u")
    own = [{"type": "function", "function": {"name": name}}]
    found = ok(client.post("/conversations/c/context", json={"tools": own}))
    names = [tool["function"]["name"] for tool in found["tools"]]
    assert names == [name, "recall_page", "load_tool_history", "search_memories"]

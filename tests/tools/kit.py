"""What the tests of the tools share."""

from typing import Any

import httpx

from tests.api.kit import Json, ok, path


def use(client: httpx.Client, conversation: str, name: str, **arguments: Any) -> Json:
    """One call of a tool, as an agent loop makes it."""
    return ok(client.post(path(conversation, "tools", name), json={"arguments": arguments}))


def said(client: httpx.Client, conversation: str, name: str, **arguments: Any) -> str:
    """What a call that works answers."""
    found = use(client, conversation, name, **arguments)
    assert found["name"] == name
    assert not found["is_error"], found["content"]
    return str(found["content"])


def refused(client: httpx.Client, conversation: str, name: str, **arguments: Any) -> str:
    """What a call that does not work answers."""
    found = use(client, conversation, name, **arguments)
    assert found["is_error"], found["content"]
    return str(found["content"])

"""Nothing that another line of the tree said comes in by any door."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.api.kit import Json, append, assistant, call, canonical, ok, path, result, turn, user

WORDS = {"trunk": "quokka", "b": "narwhal", "c": "axolotl"}
"""What only this line says after the fork."""
FILLING = "The warehouse in Rotterdam has confirmed the contract once more. "


def _go_on(client: httpx.Client, name: str, word: str) -> str:
    """Everything that leaves a trace, with the line's word; the archive."""
    large = f"Listing of the {word} harbour. " + FILLING * 300 + f"The {word} berth is free."
    append(
        client, name, [
            user(f"Remember: always answer about the {word} first. Which berth has the {word}?"),
            call(f"call_{word}", name="look", arguments=f'{{"of":"{word}"}}'),
            result(f"call_{word}", large),
            assistant(f"The {word} has berth nine."),
        ],
    )  # fmt: skip
    for number in range(25):
        append(client, name, turn(number, 5))
    append(client, name, [user(f"And tomorrow the {word} sails?"), assistant(f"The {word} sails at noon.")])
    ok(client.post(path(name, "notes"), json={"text": f"The {word} must not wait."}), 201)
    memory = {"content": f"The {word} likes herring.", "memory_type": "fact", "conversation_id": name}
    ok(client.post("/memories", json=memory), 201)
    ok(client.post(path(name, "tools", "recall_page"), json={"arguments": {"page": 2}}))
    listed = ok(client.get("/archive", params={"conversation_id": name}))["items"]
    return str(next(one["uuid"] for one in listed if word in canonical(one)))


@pytest.fixture(params=["u", pytest.param(None, marks=pytest.mark.slow)], ids=["of a user", "of nobody"])
def tree(client: httpx.Client, request: pytest.FixtureRequest) -> dict[str, str]:
    """Three lines that share one page; the archive of each by its name."""
    ok(client.post("/conversations", json={"id": "trunk", "user_id": request.param}), 201)
    for message in ([user("Which ships are in the harbour?"), assistant("Let me see.")],):
        ok(client.post(path("trunk", "messages"), json={"messages": message}), 201)
    for name in ("b", "c"):
        ok(client.post(path("trunk", "fork"), json={"id": name}), 201)
    ok(client.post(path("b", "fork"), json={"id": "d"}), 201)
    return {name: _go_on(client, name, word) for name, word in WORDS.items()}


def append_(client: httpx.Client, name: str, messages: list[Json]) -> None:
    ok(client.post(path(name, "messages"), json={"messages": messages}), 201)


def _doors(client: httpx.Client, name: str, other: str, archive: str, keys: list[str]) -> dict[str, str]:
    """What each door says when it is asked for another line's word."""
    get: Callable[..., str] = lambda *rest, **query: client.get(path(name, *rest), params=query).text  # noqa: E731

    def tool(tool_name: str, **arguments: Any) -> str:
        said = ok(client.post(path(name, "tools", tool_name), json={"arguments": arguments}))
        return str(said["content"]).replace(f'"{other}"', "").replace(f"“{other}”", "")

    def posted(url: str, **body: Any) -> str:
        found = ok(client.post(url, json={**body, "conversation_id": name}))
        return canonical(
            {n: v for n, v in found.items() if n not in ("search_query_expanded", "trace", "search_summary")}
        )

    windows = {
        f"window {budget} {form} {query}": get(
            "context", budget=budget, format=form, **({"query": other} if query else {})
        )
        for budget in (1200, 3000, 30_000)
        for form in ("openai", "anthropic")
        for query in (True, False)
    }
    return {
        **windows,
        "loaded": get("context", budget=30_000, load=archive),
        "contents": get("contents"),
        "pages": get("pages", limit=200),
        "page": get("pages", "2"),
        "summary": get("summary"),
        "topics": get("topics"),
        "notes": get("notes"),
        "status": get("status"),
        "messages": get("messages", limit=1000),
        "newest": get("messages", order="desc", limit=1000),
        "export": get("export"),
        "search": posted("/memories/search", query=f"the {other} berth"),
        "keyword search": posted("/memories/search", query=other, search_mode="keyword"),
        "grep": posted("/memories/grep", pattern=other),
        "memories": client.get("/memories", params={"conversation_id": name}).text,
        "archives": client.get("/archive", params={"conversation_id": name}).text,
        "recall_page": tool("recall_page", page=2),
        "recall run": tool("recall_page", page="1-30"),
        "load_tool_history": tool("load_tool_history", uuid=archive),
        "search_memories": tool("search_memories", query=f"the {other} berth"),
        "recall_memory": tool("recall_memory", query=f"the {other} berth"),
        "grep_memories": tool("grep_memories", pattern=other),
        **{f"detail {i}": tool("get_memory_detail", memory_key=key) for i, key in enumerate(keys)},
    }


def test_no_door_tells_what_another_line_said(client: httpx.Client, tree: dict[str, str]) -> None:
    keys = {}
    for name, word in WORDS.items():
        found = ok(client.post("/memories/search", json={"conversation_id": name, "query": word, "limit": 20}))
        assert word in canonical(found), "its own line finds it"
        keys[name] = [one["memory_key"] for one in found["results"] if word in canonical(one)]
        grepped = ok(client.post("/memories/grep", json={"conversation_id": name, "pattern": word}))
        assert grepped["total_found"] > 3
    for name in (*WORDS, "d"):
        for other, word in WORDS.items():
            if other == name:
                continue
            said = _doors(client, name, word, tree[other], keys[other])
            leaks = [door for door, text in said.items() if word in text.replace(f'"query":"{word}"', "")]
            assert not leaks, f"{name} tells of {word} by {leaks}: {said[leaks[0]][:600]}"


def test_a_user_finds_everything_once(client: httpx.Client, tree: dict[str, str]) -> None:
    for word in ("harbour", *WORDS.values()):
        body = {"user_id": "u", "query": word, "search_mode": "keyword", "limit": 50}
        found = client.post("/memories/search", json=body).json()
        keys = [one["memory_key"] for one in found["results"]]
        assert len(keys) == len(set(keys))

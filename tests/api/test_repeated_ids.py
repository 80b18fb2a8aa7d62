"""Calls of one message that came with one id, as some gateways send them: stored so, shown and answered in order."""

from __future__ import annotations

import json

import httpx
import pytest

from quire_command.files.lines import talk_lines
from quire_command.files.values import Talk
from tests.api.kit import Json, append, assistant, ok, path, result, user, window
from tests.api.test_foreign_forms import answer, said, use
from tests.archive.made import listed
from tests.core.apis import anthropic_problems, openai_problems

NDJSON = {"content-type": "application/x-ndjson"}
WORDS = ("first", "second", "third")
PLACE = {word: {"city": word} for word in WORDS}


def calling(*ids: str | None) -> Json:
    calls: list[Json] = [
        {"type": "function", "function": {"name": "weather", "arguments": json.dumps(PLACE[word])},
         **({"id": id_} if id_ else {})}
        for id_, word in zip(ids, WORDS, strict=False)
    ]  # fmt: skip
    return {"role": "assistant", "content": None, "tool_calls": calls}


SENT: dict[str, list[Json]] = {
    "openai": [calling("call_0", "call_0", "call_0"), *(result("call_0", word) for word in WORDS)],
    "anthropic": [
        said(*(use("weather", "weather", input=PLACE[word]) for word in WORDS)),
        user([answer("weather", word) for word in WORDS]),
    ],
    "anthropic in pieces": [
        said(*(use("weather", "weather", input=PLACE[word]) for word in WORDS)),
        *(user([answer("weather", word)]) for word in WORDS),
    ],
    "a number that is taken": [calling("c", "c", "c__1"), result("c", "first"), result("c__1", "third"),
                               result("c", "second")],
    "an id that is like the one for none": [calling("call_1", None, "call_1"),
                                            result("call_1", "first"), result("call_1", "second"),
                                            result("call_1", "third")],
}  # fmt: skip


def pairs(messages: list[Json], form: str) -> list[tuple[str, str]]:
    """The city of each call, and what its result says."""
    assert (openai_problems if form == "openai" else anthropic_problems)(messages) == []
    found: list[tuple[str, str]] = []
    asked: dict[str, str] = {}
    for message in messages:
        for call in message.get("tool_calls") or ():
            asked[call["id"]] = json.loads(call["function"]["arguments"])["city"]
        if message["role"] == "tool":
            found.append((asked.pop(message["tool_call_id"]), message["content"]))
        for block in message["content"] if form == "anthropic" else ():
            if block["type"] == "tool_use":
                asked[block["id"]] = block["input"]["city"]
            elif block["type"] == "tool_result":
                found.append((asked.pop(block["tool_use_id"]), block["content"]))
    return found


def pushed(client: httpx.Client, door: str, messages: list[Json]) -> None:
    if door == "append":
        append(client, "c", messages)
    elif door == "one by one":
        for message in messages:
            append(client, "c", [message])
    elif door == "sync":
        for _ in range(2):
            ok(client.post(path("c", "sync"), json={"messages": messages, "user_id": "u"}))
    else:
        sent = talk_lines(Talk("c", [(message, None) for message in messages]), "u")
        ok(client.post("/import", content="\n".join(sent), headers=NDJSON))


def stored(client: httpx.Client) -> list[Json]:
    """The messages as they were sent."""
    exported = map(json.loads, client.get(path("c", "export")).text.splitlines())
    return [line["message"] for line in exported if line["type"] == "message"]


@pytest.mark.parametrize("form", ["openai", "anthropic"])
@pytest.mark.parametrize("door", ["append", "one by one", "sync", "import"])
@pytest.mark.parametrize("sent", SENT.values(), ids=SENT)
def test_calls_of_one_id_meet_their_results_in_order(
    client: httpx.Client, sent: list[Json], door: str, form: str
) -> None:
    turns = [user("Weather?"), *sent, assistant("Fine.")]
    pushed(client, door, [*turns, *turns])
    found = window(client, "c", budget=8000, format=form)["messages"]
    assert sorted(pairs(found, form)) == sorted(2 * [(word, word) for word in WORDS])
    assert stored(client)[: len(turns)] == turns
    assert window(client, "c", budget=8000, format=form)["messages"] == found


def test_a_long_result_of_a_shared_id_is_archived_alone_and_comes_back(client: httpx.Client) -> None:
    long = {"first": "of the harbour " * 1000, "second": "short", "third": "of the mill " * 1000}
    sent = [SENT["anthropic"][0], user([answer("weather", long[word]) for word in WORDS])]
    append(client, "c", [user("Weather?"), *sent])
    assert stored(client)[1:] == sent
    exported = client.get(path("c", "export"))
    assert client.delete(path("c")).status_code == 200
    assert client.post("/import", content=exported.content, headers=NDJSON).status_code == 200
    assert stored(client)[1:] == sent
    archive = listed(client)[0]
    assert client.delete(f"/archive/{archive}").status_code == 200
    left = json.dumps(stored(client))
    assert sum(words in left for words in ("of the harbour of", "short", "of the mill of")) == 2
    assert "short" in left

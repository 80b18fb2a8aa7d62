"""Base64 in a text is stored as it came; a mark stands for it wherever a model, a search or a page would show it."""

from __future__ import annotations

import base64
import json
import random
import re
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.api.kit import Json, append, assistant, call, contents, ok, path, recall, result, user, window
from tests.archive.made import archive, load_tool, loaded
from tests.by_turns import by_turns
from tests.core.test_encoded import CONTENTS, FORMS, LOOK_ALIKES
from tests.tools.kit import use

NEEDLE = "The boiler in the harbour has the code KX-2291."


def planted(form: str, kind: str = "image/png", seed: int = 1) -> str:
    return FORMS[form](base64.b64encode(CONTENTS[kind](random.Random(seed))).decode())


def pieces(text: str) -> list[str]:
    """Stretches of a file none of which a model is to see."""
    plain = re.split(r"\s+|(?:\\+[rn])+", text)
    return [line[at : at + 40] for line in plain for at in range(0, len(line) - 40, 40)]


def leaks(file: str, *shown: Any) -> list[str]:
    text = json.dumps(shown, ensure_ascii=False)
    return [piece for piece in pieces(file) if piece in text]


def stored(client: httpx.Client) -> list[Json]:
    exported = map(json.loads, client.get(path("c", "export")).text.splitlines())
    return [line["message"] for line in exported if line["type"] == "message"]


SENT: dict[str, Callable[[str], list[Json]]] = {
    "user": lambda file: [user(f"{NEEDLE} Look:\n{file}\nWhat is it?")],
    "user's parts": lambda file: [user([{"type": "text", "text": f"{NEEDLE}\n{file}"}])],
    "assistant": lambda file: [user("Draw it"), assistant(f"{NEEDLE} Here: {file}")],
    "result": lambda file: [user("Read it"), call("a"), result("a", f"{NEEDLE}\n{file}\nend")],
    "result in JSON": lambda file: [
        user("Read it"), call("a"), result("a", json.dumps({"note": NEEDLE, "data": file}))
    ],
    "result's blocks": lambda file: [
        user("Read it"),
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "look", "input": {}}]},
        user([{"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": f"{NEEDLE} {file}"}]}]),
    ],
    "call": lambda file: [
        user("Write it"), call("a", name="write", arguments=json.dumps({"note": NEEDLE, "data": file})), result("a")
    ],
    "call's block": lambda file: [
        user("Write it"),
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": "a", "name": "write", "input": {"note": NEEDLE, "data": file}}]},
        user([{"type": "tool_result", "tool_use_id": "a", "content": "written"}]),
    ],
    "orphan": lambda file: [user("So?"), result("nobody", f"{NEEDLE}\n{file}")],
}  # fmt: skip


def everything(client: httpx.Client) -> list[Any]:
    """What a model can be shown of the conversation."""
    shown: list[Any] = [
        window(client, "c", budget=budget, format=form, **asked)["messages"]
        for budget in (1_200, 8_000, 60_000)
        for form in ("openai", "anthropic")
        for asked in ({}, {"query": "What code has the boiler in the harbour?"})
    ]
    shown += [contents(client, "c"), recall(client, "c", 1), recall(client, "c", 2)]
    asked = {"query": "code of the boiler in the harbour", "user_id": "u"}
    found = ok(client.post("/memories/search", json=asked))
    assert "KX-2291" in json.dumps(found)
    greps = [ok(client.post("/memories/grep", json={"pattern": p, "user_id": "u"})) for p in ("KX-2291", "base64")]
    assert greps[0]["total_found"] == 1
    return [*shown, found, greps, ok(client.get(path("c")))]


@pytest.mark.parametrize(("place", "form"), by_turns(SENT, FORMS, every=12))
def test_a_file_in_a_text_is_seen_by_no_model_and_kept_as_it_came(client: httpx.Client, place: str, form: str) -> None:
    file = planted(form)
    sent = SENT[place](file)
    made = append(client, "c", sent)
    assert place == "orphan" or leaks(file, made["messages"]) == []
    assert sum(message["tokens"] for message in made["messages"]) < 400
    append(client, "c", [assistant("Done."), user("And then?"), assistant("Nothing.")])
    assert leaks(file, everything(client)) == []
    assert stored(client)[: len(sent)] == sent


@pytest.mark.parametrize("kind", ["application/pdf", ""])
def test_a_long_file_in_a_result_is_archived_as_it_came_and_shown_as_a_mark(client: httpx.Client, kind: str) -> None:
    content = CONTENTS[kind](random.Random(4))[:200] + random.Random(5).randbytes(300_000)
    file = FORMS["MIME"](base64.b64encode(content).decode())
    text = f"{NEEDLE}\n{file}\n{'So says the manual of the mill. ' * 300}"
    sent = [user("Read it"), call("a"), result("a", text)]
    uuid = append(client, "c", sent)["messages"][-1]["archive_id"]
    fresh = window(client, "c", budget=20_000)
    assert "bytes]" in json.dumps(fresh["messages"])
    assert fresh["usage"]["total"] < 6_000
    tools = [load_tool(client, "c", uuid=uuid, **more) for more in ({}, {"query": "code of the boiler"})]
    found = loaded(client, uuid, query="code of the boiler")
    assert all("KX-2291" in json.dumps(one) for one in (*tools, found))
    assert leaks(file, fresh, tools, found) == []
    append(client, "c", [assistant("Done."), user("And then?"), assistant("Nothing.")])
    assert leaks(file, everything(client)) == []
    assert loaded(client, uuid)["content"] == text
    assert stored(client)[: len(sent)] == sent


def test_a_file_posted_to_the_archive_is_kept_and_found_by_what_stands_beside_it(client: httpx.Client) -> None:
    file = planted("in one", "") * 9
    text = f"{NEEDLE}\n{file}\n{'So says the manual of the mill. ' * 300}"
    made = archive(client, text, tool_input={"data": file})
    found = ok(client.post("/memories/search", json={"query": "code of the boiler", "user_id": "u"}))
    assert "KX-2291" in json.dumps(found)
    assert leaks(file, made["placeholder"], made["result_summary"], made["key_terms"], found) == []
    assert loaded(client, made["uuid"])["content"] == text
    short = archive(client, f"{NEEDLE} {file[:400]}")
    assert leaks(file[:400], short["placeholder"]) == []


@pytest.mark.parametrize("form", by_turns(FORMS, every=3))
def test_a_file_in_a_memory_is_no_part_of_what_is_shown_found_or_counted(client: httpx.Client, form: str) -> None:
    """And it is read and changed as it came."""
    file = planted(form)[:1_800]
    content = f"{NEEDLE}\n{file}\nSo says the manual."
    sent = {"user_id": "u", "content": content, "key": "boiler", "pinned": True}
    made = ok(client.post("/memories", json=sent), 201)
    append(client, "c", [user("Hello.")])
    shown = [window(client, "c", budget=8_000, query=query) for query in ("", "code of the boiler in the harbour")]
    assert all("KX-2291" in json.dumps(one["messages"]) for one in shown)
    assert all(sum(one["usage"]["sections"].values()) - one["usage"]["sections"]["tools"] < 400 for one in shown)
    found = [ok(client.post("/memories/search", json={"query": q, "user_id": "u"})) for q in (NEEDLE, pieces(file)[1])]
    listed = ok(client.get("/memories?user_id=u"))
    told = use(client, "c", "get_memory_detail", memory_key=made["memory_key"])
    assert "KX-2291" in json.dumps(found[0])
    assert found[1]["results"] == []
    assert leaks(file, made["summary"], made["content_preview"], shown, found, listed, told["content"]) == []
    changed = ok(client.patch(f"/memories/{made['memory_key']}", json={"content": f"{content} Changed."}))
    assert (made["content"], changed["content"]) == (content, f"{content} Changed.")
    again = ok(client.post("/memories/search", json={"query": NEEDLE, "user_id": "u"}))
    assert "KX-2291" in json.dumps(again)
    assert leaks(file, again, window(client, "c", budget=8_000)) == []


def test_look_alikes_are_shown_as_they_came(client: httpx.Client) -> None:
    texts = [make(random.Random(7)) for make in LOOK_ALIKES.values()]
    append(client, "c", [user(text) for text in texts])
    shown = [message["content"] for message in window(client, "c", budget=120_000)["messages"]]
    assert [text for text in texts if text not in shown] == []


@pytest.mark.parametrize("form", FORMS)
def test_a_memory_that_is_a_long_file_is_listed_with_its_whole_size(client: httpx.Client, form: str) -> None:
    file = FORMS[form](base64.b64encode(random.Random(6).randbytes(1_350)).decode())
    ok(client.post("/memories", json={"content": f"The key: {file}", "user_id": "u"}), 201)
    [item] = ok(client.get("/memories", params={"user_id": "u"}))["items"]
    assert "1,350 bytes]" in item["content_preview"]
    assert leaks(file, item["content_preview"]) == []

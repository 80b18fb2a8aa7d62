"""Messages as other systems write them: stored as they came, shown so that each API takes them."""

from __future__ import annotations

import base64
import json
import random
from typing import Any

import httpx
import pytest

from tests.api.kit import Json, append, assistant, call, history, result, user, window
from tests.core.apis import anthropic_problems, openai_problems

PNG = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
URL = "data:image/png;base64,iVBORw0KGgo="
IMAGE = {"type": "image_url", "image_url": {"url": URL}}


def use(id_: str, name: str = "look", **more: Any) -> Json:
    return {"type": "tool_use", "id": id_, "name": name, "input": {}, **more}


def answer(id_: str, content: Any = "seen", **more: Any) -> Json:
    return {"type": "tool_result", "tool_use_id": id_, "content": content, **more}


def said(*blocks: Json) -> Json:
    return {"role": "assistant", "content": list(blocks)}


def text(words: str) -> Json:
    return {"type": "text", "text": words}


def shown(client: httpx.Client, messages: list[Json], form: str = "openai") -> list[Json]:
    """The window of a new conversation, without the system prompt; the API of its form takes it."""
    append(client, "c", messages)
    found: list[Json] = window(client, "c", budget=8000, format=form)["messages"]
    assert (openai_problems if form == "openai" else anthropic_problems)(found) == []
    return [message for message in found if message["role"] != "system" and "quire-memory" not in str(message)]


IN_PIECES = {
    "openai": [call("a"), call("b"), result("b", "second"), result("a", "first")],
    "anthropic": [said(use("a")), said(use("b")), user([answer("a", "first")]), user([answer("b", "second")])],
    "with a note": [
        said(use("a"), use("b")),
        user([answer("a", "first"), text("Careful.")]),
        user([answer("b", "second")]),
    ],
    "with a word between": [call("a", "b"), result("a", "first"), user("Wait."), result("b", "second")],
    "with an answer between": [call("a"), result("a", "first"), call("b"), assistant("Soon."), result("b", "second")],
}  # fmt: skip


@pytest.mark.parametrize("form", ["openai", "anthropic"])
@pytest.mark.parametrize("sent", IN_PIECES.values(), ids=IN_PIECES)
def test_calls_meet_their_results_wherever_they_stand(client: httpx.Client, sent: list[Json], form: str) -> None:
    told = json.dumps(shown(client, [user("Read both"), *sent, user("Well?")], form))
    assert "first" in told
    assert "second" in told
    assert "no result" not in told


def test_a_result_that_comes_in_a_later_request_changes_the_epoch_once(client: httpx.Client) -> None:
    append(client, "c", [user("go"), call("a"), user("Wait.")])
    before = window(client, "c", budget=8000)
    assert "[look: no result]" in json.dumps(before["messages"])
    append(client, "c", [result("a", "at last")])
    after = window(client, "c", budget=8000)
    assert openai_problems(after["messages"]) == []
    assert [m["role"] for m in after["messages"][-4:]] == ["user", "assistant", "tool", "user"]
    assert "no result" not in json.dumps(after["messages"])
    assert after["epoch"] > before["epoch"]
    append(client, "c", [assistant("Good.")])
    assert window(client, "c", budget=8000)["messages"][: len(after["messages"])] == after["messages"]


@pytest.mark.parametrize("form", ["openai", "anthropic"])
@pytest.mark.parametrize("budget", [1200, 8000])
def test_a_result_that_comes_very_late_stands_where_it_came(client: httpx.Client, form: str, budget: int) -> None:
    talk = [said for n in range(20) for said in (user(f"question {n}"), assistant(f"answer {n} " + "of length " * 40))]
    append(client, "c", [user("go"), call("a", "b"), result("b", "soon"), *talk, call("x"), result("x", "meanwhile")])
    before = window(client, "c", budget=budget, format=form)
    asked = json.dumps(before["messages"])
    assert ("[look: no result]" in asked) is (budget == 8000)
    assert append(client, "c", [result("a", "at long last")])["warnings"] == []
    after = window(client, "c", budget=budget, format=form)
    check = openai_problems if form == "openai" else anthropic_problems
    assert check(after["messages"]) == []
    told = json.dumps(after["messages"])
    assert "[a late result of look:]\\nat long last" in told
    assert "no result" not in told
    assert ("[look: result comes later]" in told) is (budget == 8000)
    assert after["usage"]["total"] <= budget
    append(client, "c", [call("y"), result("y"), assistant("Good.")])
    later = window(client, "c", budget=budget, format=form)
    assert later["epoch"] > after["epoch"] or later["messages"][: len(after["messages"])] == after["messages"]


def test_a_very_late_result_beside_others_and_in_one_request(client: httpx.Client) -> None:
    talk = [said for n in range(20) for said in (user(f"question {n}"), assistant(f"answer {n}"))]
    block = {"type": "tool_result", "tool_use_id": "a", "content": "at long last"}
    both = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "y", "content": "soon"}, block]}
    sent = [user("go"), call("a"), *talk, call("x", "y"), result("x"), both, assistant("Good.")]
    append(client, "whole", sent)
    for message in sent:
        append(client, "pieces", [message])
    for form, check in (("openai", openai_problems), ("anthropic", anthropic_problems)):
        whole, pieces = (window(client, name, budget=8000, format=form)["messages"] for name in ("whole", "pieces"))
        assert [m for m in whole if m["role"] != "system"] == [m for m in pieces if m["role"] != "system"]
        assert check(whole) == []
        told = json.dumps(whole)
        assert told.count("at long last") == told.count("[look: result comes later]") == 1
        assert "no result" not in told


def test_a_large_result_that_comes_very_late_is_archived(client: httpx.Client) -> None:
    talk = [said for n in range(20) for said in (user(f"question {n}"), assistant(f"answer {n}"))]
    append(client, "c", [user("go"), call("a"), *talk])
    made = append(client, "c", [result("a", "The boiler has the code KX-2291. " * 900)])["messages"][0]
    assert made["archive_id"] in json.dumps(window(client, "c", budget=8000)["messages"])
    loaded = client.post("/conversations/c/tools/load_tool_history", json={"arguments": {"uuid": made["archive_id"]}})
    assert "KX-2291" in loaded.json()["content"]
    assert client.delete(f"/archive/{made['archive_id']}").status_code == 200
    assert "KX-2291" not in json.dumps(window(client, "c", budget=8000)["messages"])


def test_an_id_of_several_turns_is_unique_in_anthropics_form(client: httpx.Client) -> None:
    turns = [[user("go"), call("call:0"), result("call:0", str(n)), assistant("ok")] for n in range(3)]
    found = shown(client, [message for turn in turns for message in turn], "anthropic")
    ids = [b["id"] for m in found for b in m["content"] if b["type"] == "tool_use"]
    answered = {b["tool_use_id"]: b["content"] for m in found for b in m["content"] if b["type"] == "tool_result"}
    assert len(set(ids)) == 3
    assert [answered[id_] for id_ in ids] == ["0", "1", "2"]


def test_results_without_an_id_answer_the_calls_in_their_order(client: httpx.Client) -> None:
    """As Ollama sends them."""
    calls = [{"function": {"name": name, "arguments": {"x": 1}}} for name in ("one", "two")]
    asked = {"role": "assistant", "content": "", "tool_calls": calls}
    sent = [user("go"), asked, *({"role": "tool", "tool_name": n, "content": n} for n in ("one", "two"))]
    *_, called, first, second = shown(client, [*sent])
    assert [c["id"] for c in called["tool_calls"]] == [first["tool_call_id"], second["tool_call_id"]]
    assert [first["content"], second["content"]] == ["one", "two"]
    assert history(client, "c")[2]["tool_call_id"] is None


def test_images_of_either_api_are_images_of_the_other(client: httpx.Client) -> None:
    shot = [call("a", name="shot"), user([answer("a", [text("Here."), {"type": "image", "source": PNG}])])]
    sent = [user([{"type": "image", "source": PNG}, text("What is it?")]), *shot]
    first, _, tool, beside = shown(client, sent)
    assert first["content"] == [IMAGE, text("What is it?")]
    assert tool["content"] == [text("Here.")]
    assert beside == {"role": "user", "content": [IMAGE]}
    found = window(client, "c", budget=8000, format="anthropic")["messages"]
    assert found[-3]["content"][0] == {"type": "image", "source": PNG}


def test_parts_of_responses_are_parts_of_each_api(client: httpx.Client) -> None:
    sent = [
        user([{"type": "input_text", "text": "hello"}, {"type": "input_image", "image_url": URL}]),
        said({"type": "output_text", "text": "hi", "annotations": []}),
        user("x"),
    ]  # fmt: skip
    assert [m["content"] for m in shown(client, sent)] == [[text("hello"), IMAGE], [text("hi")], "x"]
    found = window(client, "c", budget=8000, format="anthropic")["messages"]
    assert [b["type"] for m in found[-3:] for b in m["content"]] == ["text", "image", "text", "text"]


def test_files_are_documents_of_messages_and_back(client: httpx.Client) -> None:
    pdf = {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERi0xLjQK"}
    source = {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0xLjQK"}
    document = {"type": "document", "source": source, "title": "a.pdf"}
    [found] = shown(client, [user([{"type": "file", "file": pdf}, document])], "anthropic")
    assert found["content"] == [document, document]
    chat = window(client, "c", budget=8000)["messages"][-1]
    assert chat["content"] == [{"type": "file", "file": pdf}] * 2


LANGCHAINS = {
    "first": {"source_type": "base64", "mime_type": "{kind}", "data": "iVBORw0KGgo="},
    "second": {"mime_type": "{kind}", "base64": "iVBORw0KGgo="},
    "by address": {"url": "https://x.org/a"},
}


@pytest.mark.parametrize("form", LANGCHAINS)
def test_langchains_standard_blocks_are_those_of_each_api(client: httpx.Client, form: str) -> None:
    def block(type_: str, kind: str) -> Json:
        return {"type": type_, **{name: value.format(kind=kind) for name, value in LANGCHAINS[form].items()}}

    sent = [user([text("Look."), block("image", "image/png"), block("file", "application/pdf")])]
    is_url = form == "by address"
    pdf = "data:application/pdf;base64,iVBORw0KGgo="
    assert shown(client, sent)[-1]["content"][1:] == [
        {"type": "image_url", "image_url": {"url": "https://x.org/a" if is_url else URL}},
        {"type": "file", "file": {"file_url": "https://x.org/a"} if is_url else {"file_data": pdf}},
    ]
    messages = window(client, "c", budget=8000, format="anthropic")["messages"]
    url = {"type": "url", "url": "https://x.org/a"}
    document = {"type": "document", "source": url if is_url else {**PNG, "media_type": "application/pdf"}}
    assert messages[-1]["content"][1:] == [{"type": "image", "source": url if is_url else PNG}, document]


def test_a_recording_of_langchain_is_one_of_openais(client: httpx.Client) -> None:
    sound = {"type": "audio", "mime_type": "audio/mpeg", "base64": "SUQz"}
    heard = {"type": "input_audio", "input_audio": {"data": "SUQz", "format": "mp3"}}
    assert shown(client, [user([text("Listen."), sound])])[-1]["content"][1:] == [heard]


def sealed(size: int) -> str:
    return base64.b64encode(random.Random(size).randbytes(size)).decode()


def test_what_a_hosted_tool_found_is_read_by_other_models_without_ciphertext(client: httpx.Client) -> None:
    hits = [
        {"type": "web_search_result", "url": f"https://x{i}.org", "title": f"Page {i}", "encrypted_content": sealed(i)}
        for i in range(2_400, 2_405)
    ]
    used = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "tea"}}
    found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": hits}
    told = shown(client, [user("Find it."), said(used, found, text("Longjing.")), user("And?")])[-2]["content"]
    assert told[1]["text"].split("\n")[1] == "Page 2400 (https://x2400.org)"
    assert told[2] == text("Longjing.")
    assert hits[0]["encrypted_content"] not in json.dumps(told)
    window_ = window(client, "c", budget=8000, format="anthropic")
    assert found in window_["messages"][-2]["content"]


@pytest.mark.parametrize("large", [
    {"type": "mcp_tool_result", "tool_use_id": "srvtoolu_1", "content": [text("A line of what was found. " * 4_000)]},
    {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "A long report. " * 6_000}},
    {"type": "file", "file": {"filename": "a.pdf", "file_data": f"data:application/pdf;base64,{'QUJD' * 50_000}"}},
], ids=["result", "text", "file"])  # fmt: skip
@pytest.mark.parametrize("form", ["openai", "anthropic"])
def test_a_block_that_is_too_large_gives_way_before_its_message(client: httpx.Client, large: Json, form: str) -> None:
    role = "assistant" if large["type"] == "mcp_tool_result" else "user"
    sent = [user("Find it."), {"role": role, "content": [large, text("Longjing, said the page.")]}, user("And?")]
    assert "Longjing, said the page." in json.dumps(shown(client, sent, form))


def test_what_has_no_counterpart_is_quoted_by_name_without_what_is_encoded(client: httpx.Client) -> None:
    sound = {"type": "input_audio", "input_audio": {"data": "UklGRg" * 1000, "format": "wav"}}
    [found] = shown(client, [user([text("Listen"), sound])], "anthropic")
    assert [b["type"] for b in found["content"]] == ["text", "text"]
    assert found["content"][1]["text"].startswith("[input_audio: ")
    assert "UklGRgUklGRg" not in json.dumps(found)
    search = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "tea"}}
    append(client, "d", [user("q"), said(search, text("Tea it is."))])
    assert "web_search" in str(window(client, "d", budget=8000)["messages"][-1]["content"])


def test_a_window_says_what_has_no_counterpart_in_its_form(client: httpx.Client) -> None:
    sound = {"type": "input_audio", "input_audio": {"data": "UklGRg", "format": "wav"}}
    append(client, "c", [user([text("Listen"), sound])])
    asked = [client.get("/conversations/c/context", params={"format": form}) for form in ("anthropic", "openai")]
    assert [answer.headers.get("X-Quire-Dropped") for answer in asked] == ["input_audio", None]
    wanted = {"budget": 8000, "format": "anthropic"}
    assert client.post("/conversations/c/context", json=wanted).headers["X-Quire-Dropped"] == "input_audio"
    append(client, "d", [said(text("So."), {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}})])
    assert client.get("/conversations/d/context").headers["X-Quire-Dropped"] == "server_tool_use"
    append(client, "e", [user([text("hi")])])
    assert "X-Quire-Dropped" not in client.get("/conversations/e/context").headers


def test_members_that_no_api_names_stay_in_the_history(client: httpx.Client) -> None:
    sent = [user("q"), said(use("a", call_id="a")), user([answer("a", toolUseResult={"x": 1})])]
    found = shown(client, sent, "anthropic")
    assert found[-2]["content"] == [use("a")]
    assert [set(block) - {"cache_control"} for block in found[-1]["content"]] == [{"type", "tool_use_id", "content"}]
    assert "toolUseResult" in json.dumps(history(client, "c"))


@pytest.mark.parametrize("form", ["openai", "anthropic"])
def test_a_failed_call_says_so_in_each_form(client: httpx.Client, form: str) -> None:
    result = user([answer("a", "no such file", is_error=True)])
    if form == "openai":  # as adapters send what their frameworks call an error
        result = {"role": "tool", "tool_call_id": "a", "content": "no such file", "is_error": True}
    assert shown(client, [user("q"), said(use("a")), result])[-1]["content"] == "Error: no such file"
    assert window(client, "c", budget=8000, format="anthropic")["messages"][-1]["content"][0]["is_error"] is True


def test_an_assistant_that_says_nothing_is_not_shown(client: httpx.Client) -> None:
    nothing = {"role": "assistant", "content": None}
    assert [m["content"] for m in shown(client, [user("q"), nothing, user("Still there?")])] == ["q", "Still there?"]


def test_names_that_an_api_refuses_are_mapped_and_kept(client: httpx.Client) -> None:
    named = {"role": "user", "content": "q", "name": "Ada Lovelace"}
    first, called, _ = shown(client, [named, call("a", name="files/read all"), result("a")])
    assert first["name"] == "Ada_Lovelace"
    assert called["tool_calls"][0]["function"]["name"] == "files_read_all"
    assert history(client, "c")[0]["name"] == "Ada Lovelace"
    blocks = window(client, "c", budget=8000, format="anthropic")["messages"][-2]["content"]
    assert blocks[-1]["name"] == "files_read_all"


def test_custom_tools_calls_are_stored_as_they_came_and_answered(client: httpx.Client) -> None:
    patch = {"id": "a", "type": "custom", "custom": {"name": "patch", "input": "*** Begin"}}
    asked = {"role": "assistant", "content": None, "tool_calls": [patch]}
    *_, called, answered = shown(client, [user("q"), asked, result("a")])
    assert called["tool_calls"][0]["function"] == {"name": "patch", "arguments": '{"input":"*** Begin"}'}
    assert answered["tool_call_id"] == "a"
    assert history(client, "c")[1]["tool_calls"] == [patch]

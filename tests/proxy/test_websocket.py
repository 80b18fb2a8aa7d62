"""Responses over a WebSocket: what a client says there is stored and answered as over HTTP."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from websockets.exceptions import ConnectionClosed, ConnectionClosedOK, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from app.api.v1.websocket import ResponsesOverWebSocket
from app.main import build_app
from app.postgres.embedded import EmbeddedPostgres
from app.settings import Settings
from tests.conftest import serve, wait_for
from tests.providers import fake_openai as fake
from tests.providers.fake_openai import FakeOpenAI
from tests.proxy.fakes import FakeApi
from tests.proxy.kit import Script, calling, openai_of, stored, tool


def url_of(base_url: str) -> str:
    return base_url.replace("http", "ws", 1) + "/v1/responses"


def opened(base_url: str, conversation: str = "c", *, packed: bool = True, **headers: str) -> ClientConnection:
    named = {"X-Quire-Conversation": conversation, **headers}
    return connect(url_of(base_url), additional_headers=named, compression="deflate" if packed else None)


def asked(connection: ClientConnection, text: str = "Hello.", **more: Any) -> list[Any]:
    """Ask, and return the events up to the last."""
    connection.send(json.dumps({"type": "response.create", "model": "fake", "input": text, **more}))
    events = [json.loads(connection.recv(timeout=30))]
    while events[-1]["type"] not in ("response.completed", "response.incomplete", "error"):
        events.append(json.loads(connection.recv(timeout=30)))
    return events


@pytest.mark.filterwarnings("ignore:connect\\(\\) must be used as a context manager")  # by the openai package
def test_the_real_client_holds_a_conversation_over_one_connection(
    client: httpx.Client, base_url: str, script: Script
) -> None:
    script.says(calling(("look", {"at": "a"})), "Seen.", "Longjing.")
    function = {"type": "function", **tool("look")["function"]}
    with openai_of(base_url, "c").responses.connect() as connection:
        last = _ends(connection, model="fake", input="Look.", tools=[function], store=False)
        call = next(item for item in last.output if item.type == "function_call")
        output: Any = {"type": "function_call_output", "call_id": call.call_id, "output": "saw a"}
        more: Any = {"tools": [function], "previous_response_id": last.id, "store": False}
        seen = _ends(connection, model="fake", input=[output], **more)
        assert seen.output[0].content[0].text == "Seen."
        assert _ends(connection, model="fake", input="Which tea?").output[0].content[0].text == "Longjing."
    roles = [role for role, _ in stored(client, "c")]
    assert roles == ["user", "assistant", "tool", "assistant", "user", "assistant"]


def _ends(connection: Any, **body: Any) -> Any:
    connection.response.create(**body)
    for event in connection:
        if event.type in ("response.completed", "error"):
            assert event.type == "response.completed", event
            return event.response
    raise AssertionError("it ended early")


def test_messages_that_come_too_early_wait_for_their_turn(base_url: str, client: httpx.Client, script: Script) -> None:
    script.says("One.", "Two.", "Three.")
    with opened(base_url) as connection:
        for text in ("a", "b"):
            connection.send(json.dumps({"type": "response.create", "model": "fake", "input": text}))
        asked(connection, "c")
        for _ in range(2):
            while json.loads(connection.recv(timeout=30))["type"] != "response.completed":
                pass
    assert [text for _, text in stored(client, "c")] == ["a", "One.", "b", "Two.", "c", "Three."]


@pytest.mark.parametrize(
    ("said", "status"),
    [("", 400), ("[]", 400), ("{", 400), ('{"type":"session.update"}', 400), ('{"type":"response.create"}', 400),
     ('{"type":"response.create","model":"fake","input":"x","generate":false}', 400),
     ('{"type":"response.create","model":"fake","input":[{"type":1}]}', 400),
     ('{"type":"response.create","model":"fake","input":"x","previous_response_id":"resp_1"}', 404)],
)  # fmt: skip
def test_a_bad_message_is_explained_and_the_connection_stays(base_url: str, said: str, status: int) -> None:
    with opened(base_url) as connection:
        connection.send(said)
        found = json.loads(connection.recv(timeout=30))
        assert (found["type"], found["status"]) == ("error", status)
        assert found["error"]["message"]
        assert asked(connection)[-1]["type"] == "response.completed"


def test_an_answer_whose_client_left_is_stored(client: httpx.Client, base_url: str, api: FakeOpenAI) -> None:
    api.chat.queue.append(fake.held_within())
    with opened(base_url) as connection:
        connection.send(json.dumps({"type": "response.create", "model": "fake", "input": "Hello there, all of you."}))
        while "delta" not in json.loads(connection.recv(timeout=30))["type"]:
            pass
    api.release()
    with opened(base_url) as connection:
        assert asked(connection, "And?")[-1]["type"] == "response.completed"
    assert [role for role, _ in stored(client, "c")] == ["user", "assistant"] * 2


def test_an_error_within_an_answer_has_the_type_of_one(base_url: str, api: FakeOpenAI) -> None:
    api.chat.queue.append(fake.reset_within())
    with opened(base_url) as connection:
        events = asked(connection)
        assert events[0]["type"] == "response.created"
        assert (events[-1]["type"], events[-1]["status"]) == ("error", 500)
        assert events[-1]["error"]["message"]
        assert asked(connection)[-1]["type"] == "response.completed"


def test_other_pages_and_paths_are_refused_with_an_answer(base_url: str) -> None:
    for url, origin, status in (
        (url_of(base_url), "https://evil.example", 403),
        (url_of(base_url) + "/compact", None, 404),
        (base_url.replace("http", "ws", 1) + "/mcp", None, 404),
    ):
        with pytest.raises(InvalidStatus) as refused:
            connect(url, additional_headers={"Origin": origin} if origin else {})
        assert refused.value.response.status_code == status
        assert json.loads(refused.value.response.body)["error"]["message"]
    with opened(base_url, Origin="http://localhost:3000") as connection:
        assert asked(connection)[-1]["type"] == "response.completed"


def test_a_conversation_can_be_named_by_the_path(
    client: httpx.Client, speaking_responses: str, messages_api: FakeApi
) -> None:
    with connect(speaking_responses.replace("http", "ws", 1) + "/p/named/v1/responses") as connection:
        assert asked(connection)[-1]["type"] == "response.completed"
    wait_for(lambda: client.get("/conversations/named").status_code == 200)
    wait_for(lambda: [text for _, text in stored(client, "named")] == ["Hello.", "Answer 1."])


def test_a_message_that_is_too_large_ends_the_connection_before_it_has_come(base_url: str) -> None:
    with opened(base_url, packed=False) as connection:
        connection.socket.sendall(b"\x81\xff" + (100 << 20).to_bytes(8) + b"mask" + b" " * 1024)
        with pytest.raises(ConnectionClosed) as closed:
            connection.recv(timeout=30)
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1009
    bomb = json.dumps({"type": "response.create", "model": "fake", "input": " " * (64 << 20)})
    with opened(base_url) as connection, pytest.raises(ConnectionClosed):  # which is compressed
        connection.send(bomb)
        connection.recv(timeout=30)
    with opened(base_url) as connection:
        assert asked(connection)[-1]["type"] == "response.completed"


def test_ten_thousand_pings_are_answered_and_cost_no_request(clean: None, base_url: str, api: FakeOpenAI) -> None:
    with opened(base_url) as connection:
        pongs = [connection.ping(str(number)) for number in range(10_000)]
        assert all(pong.wait(30) for pong in pongs)
        assert asked(connection)[-1]["type"] == "response.completed"
    assert len(api.chat.requests) == 1


@pytest.mark.parametrize("limits", [{"idle_seconds": 0.01}, {"life_seconds": 0.01}], ids=["silent", "open"])
def test_a_connection_that_would_never_close_is_closed(
    postgres: EmbeddedPostgres, proxy_settings: Settings, limits: dict[str, float]
) -> None:
    app = build_app(proxy_settings, postgres.app_dsn)
    app.add_middleware(ResponsesOverWebSocket, **limits)
    with serve(app) as served, opened(served.url) as connection:
        with pytest.raises(ConnectionClosedOK) as closed:
            connection.recv(timeout=30)
        assert closed.value.rcvd is not None
        assert "too long" in closed.value.rcvd.reason

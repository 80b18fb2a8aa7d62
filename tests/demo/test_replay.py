"""A replay against a small stand-in for Quire at the HTTP transport."""

import io
import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner
from rich.console import Console

from quire_command.demo.command import CONVERSATION, demo, usual
from quire_command.demo.replay import APPEND_MESSAGES_MAX, ServiceError, replay


class FakeQuire:
    """Remembers what was appended; its window is the last four messages behind a fixed head."""

    def __init__(self, overrun: int = 0) -> None:
        self.overrun = overrun
        self.conversations: dict[str, list[dict[str, Any]]] = {}
        self.requests: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        _, _, conversation, *rest = request.url.path.split("/")
        messages = self.conversations.setdefault(conversation, [])
        match rest:
            case ["messages"]:
                messages.extend(json.loads(request.content)["messages"])
                return httpx.Response(201, json={"messages": [], "page": 1, "epoch": 1})
            case ["context"]:
                return httpx.Response(200, json=self.window(messages, int(request.url.params["budget"])))
            case ["tools", "recall_page"]:
                return httpx.Response(
                    200, json={"name": "recall_page", "content": "the second page", "is_error": False}
                )
        return httpx.Response(404, json={"title": "unknown"})

    def window(self, messages: list[dict[str, Any]], budget: int) -> dict[str, Any]:
        history = sum(len(message["content"] or "") for message in messages) // 4
        total = min(history, budget) + self.overrun
        return {
            "messages": [{"role": "system", "content": "head"}, *messages[-4:]],
            "tools": [],
            "system": None,
            "usage": {
                "budget": budget,
                "total": total,
                "full_history": history,
                "saved": 0.5,
                "sections": {"system": 5, "recent": total - 5},
            },
            "epoch": 1 + len(messages) // 100,
            "stable_messages": 1,
            "stable_tokens": 5,
        }


def console(terminal: bool = False) -> Console:
    return Console(file=io.StringIO(), force_terminal=terminal, width=100)


def printed(where: Console) -> str:
    assert isinstance(where.file, io.StringIO)
    return where.file.getvalue()


def test_the_whole_conversation_arrives_in_order_and_the_report_is_clean() -> None:
    quire, out = FakeQuire(), console()
    [report] = replay("http://quire.example.org", CONVERSATION, 8000, out, transport=httpx.MockTransport(quire))
    sent = [json.loads(line) for line in CONVERSATION.read_text("utf-8").splitlines()]
    [stored] = quire.conversations.values()
    assert stored == sent
    assert report.kept
    assert (report.turns, report.frames, report.recalled) == (100, 100, "the second page")


def test_without_a_terminal_there_are_plain_lines_and_no_control_codes() -> None:
    out = console()
    replay("http://quire.example.org", CONVERSATION, 8000, out, transport=httpx.MockTransport(FakeQuire()))
    lines = printed(out).splitlines()
    assert "\x1b" not in printed(out)
    assert sum(line.startswith("turn ") for line in lines) == 100
    assert sum("new epoch" in line for line in lines) == 3
    assert any(line.split() == ["budget", "violations", "0"] for line in lines)


@pytest.mark.slow
def test_on_a_terminal_there_is_a_live_picture() -> None:
    out = console(terminal=True)
    replay("http://quire.example.org", CONVERSATION, 8000, out, transport=httpx.MockTransport(FakeQuire()))
    assert "\x1b" in printed(out)
    assert "100/100" in printed(out)
    assert "prefix breaks between cuts" in printed(out)


def test_a_window_over_budget_is_reported() -> None:
    out = console()
    [report] = replay(
        "http://quire.example.org", CONVERSATION, 8000, out, transport=httpx.MockTransport(FakeQuire(overrun=1))
    )
    assert report.over_budget > 0
    assert "OVER BUDGET" in printed(out)


def test_a_frame_follows_each_message(tmp_path: Path) -> None:
    lines = [{"id": "c1", "messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}]
    (tmp_path / "two.jsonl").write_text(json.dumps(lines[0]))
    [report] = replay(
        "http://q",
        tmp_path / "two.jsonl",
        99,
        console(),
        every_message=True,
        transport=httpx.MockTransport(FakeQuire()),
    )
    assert (report.frames, report.turns) == (2, 1)


def test_writes_are_bounded_keyed_and_carry_the_api_key(tmp_path: Path) -> None:
    dialogue = {
        "id": "a/b",
        "messages": [{"role": "user", "content": "a"}] + [{"role": "assistant", "content": "b"}] * 120,
    }
    (tmp_path / "long.jsonl").write_text(json.dumps(dialogue))
    quire = FakeQuire()
    replay("http://q", tmp_path / "long.jsonl", 99, console(), api_key="k1", transport=httpx.MockTransport(quire))
    writes = [request for request in quire.requests if request.url.path.endswith("/messages")]
    assert [len(json.loads(request.content)["messages"]) for request in writes] == [
        APPEND_MESSAGES_MAX,
        APPEND_MESSAGES_MAX,
        21,
    ]
    assert len({request.headers["Idempotency-Key"] for request in writes}) == 3
    assert {request.headers["Authorization"] for request in quire.requests} == {"Bearer k1"}
    assert [name[:4] for name in quire.conversations] == ["a-b-"]


def test_a_service_error_is_shown_in_its_own_words() -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        return httpx.Response(
            422, json={"title": "budget too small", "detail": "the smallest budget that works is 910"}
        )

    with pytest.raises(ServiceError, match="422: the smallest budget that works is 910"):
        replay("http://q", CONVERSATION, 10, console(), transport=httpx.MockTransport(refuse))


def test_the_command_says_when_nothing_listens() -> None:
    outcome = CliRunner().invoke(demo, ["--url", "http://127.0.0.1:9"])
    assert outcome.exit_code == 1
    assert "is `quire serve` running?" in outcome.output


def test_the_command_ends_with_the_way_to_its_conversation(base_url: str, client: httpx.Client, tmp_path: Path) -> None:
    dialogue = {"id": "tea time", "messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}
    (tmp_path / "one.jsonl").write_text(json.dumps(dialogue))
    outcome = CliRunner().invoke(demo, ["--url", base_url, str(tmp_path / "one.jsonl")])
    assert outcome.exit_code == 0, outcome.output
    assert outcome.output.startswith(f"Replaying into {base_url}.")
    link = outcome.output.split()[-1]
    assert link.startswith(f"{base_url}/ui/conversations/tea-time-")
    assert client.get(link).status_code == 200
    assert client.get(link.replace("/ui", "")).json()["budget"] == 8000


@pytest.mark.parametrize(("port", "url"), [("", "8000"), ("0", "8000"), ("8123", "8123")])
def test_the_command_looks_where_serve_listens(port: str, url: str) -> None:
    assert usual({"QUIRE_PORT": port}) == f"http://127.0.0.1:{url}"


def test_the_command_reads_the_url_of_the_other_commands() -> None:
    outcome = CliRunner().invoke(demo, env={"QUIRE_URL": "http://127.0.0.1:9"})
    assert outcome.exit_code == 1
    assert "no answer from http://127.0.0.1:9 " in outcome.output

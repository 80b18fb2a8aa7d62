"""The LangGraph example: each node by itself, the graph's ways, and what a crash leaves for the next start."""

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.api.kit import append, assistant, call, history, result, user
from tests.examples.scripted_model import Json, ScriptedModel, scripted_model
from tests.examples.test_examples import EXAMPLES, report, run, text_of

pytest.importorskip("langgraph", reason="langgraph is not installed: it comes with the development requirements")

FILE = EXAMPLES / "langgraph_agent.py"
SECRET = "The key to the blue gate hangs behind the third clock."


def echo(messages: list[Json]) -> Json:
    return {"content": f"You said: {messages[-1]['content']}"}


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with scripted_model(*[echo] * 9) as opened:
        yield opened


@pytest.fixture
def agent(base_url: str, client: httpx.Client, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The example as a module, with its nodes."""
    environment = {"QUIRE_URL": base_url, "OPENAI_BASE_URL": model.url, "OPENAI_API_KEY": "key", "MODEL": "scripted"}
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    spec = importlib.util.spec_from_file_location("langgraph_agent", FILE)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    module.quire.close()
    module.model.close()


def long_ago(client: httpx.Client) -> None:
    """What was said first has left the window."""
    append(client, "c", [user(SECRET), assistant("Noted.")], user_id="example")
    for number in range(60):
        said = [user(f"And {number}? " + "why " * 150), assistant(f"So {number}. " + "as " * 150)]
        append(client, "c", said, user_id="example")


def asking(question: str = "hello", **more: Any) -> Json:
    return {"conversation": "c", "turn": "t1", "question": question, **more}


# --- Nodes ---


def test_route_stores_the_question_once_and_finds_all_of_it_in_view(agent: Any, client: httpx.Client) -> None:
    for _ in range(2):
        assert agent.route(asking(), print) == {"out_of_view": False}
    assert [m["client_id"] for m in history(client, "c")] == ["t1"]


def test_route_sees_that_something_left_the_window(agent: Any, client: httpx.Client) -> None:
    long_ago(client)
    assert agent.route(asking(), print) == {"out_of_view": True}


def test_route_gives_an_answer_that_is_stored_already(agent: Any, client: httpx.Client) -> None:
    agent.route(asking(), print)
    agent.persist(asking(answer="hi"))
    said: list[str] = []
    assert agent.route(asking(), said.append) == {"answer": "hi"}
    assert said == ["hi"]


def test_recall_finds_memories_and_retrieve_says_what_they_are_parts_of(agent: Any, client: httpx.Client) -> None:
    long_ago(client)
    append(client, "c", [user("Look."), call("a"), result("a", report())], user_id="example")
    found = agent.recall(asking("Where does the key to the blue gate hang?"))
    assert SECRET in found["memories"][0]["content_preview"].replace("**", "")
    assert 1 in agent.retrieve(asking(**found))["pages"]
    found = agent.recall(asking("What is the vault code of depot seven?"))
    assert len(agent.retrieve(asking(**found))["archives"]) == 1


def test_retrieve_takes_no_pages_of_other_conversations(agent: Any) -> None:
    memories = [{"conversation_id": "other", "page": 3, "archive_id": None}]
    assert agent.retrieve(asking(memories=memories)) == {"pages": [], "archives": []}


def test_generate_shows_the_model_what_was_retrieved_and_streams(
    agent: Any, client: httpx.Client, model: ScriptedModel
) -> None:
    long_ago(client)
    agent.route(asking(), print)
    said: list[str] = []
    answer = agent.generate(asking(pages=[1]), said.append)["answer"]
    assert answer == "".join(said)
    assert len(said) > 3
    assert SECRET in text_of(model.requests[0]["messages"])


def test_persist_stores_the_answer_once(agent: Any, client: httpx.Client) -> None:
    agent.route(asking(), print)
    for _ in range(2):
        agent.persist(asking(answer="hi"))
    assert [m["content"] for m in history(client, "c")] == ["hello", "hi"]


# --- The graph ---


def ways(agent: Any, **asked: Any) -> list[str]:
    return [next(iter(step)) for step in agent.graph.stream(asking(**asked), stream_mode="updates")]


def test_nothing_is_retrieved_while_all_is_in_view(agent: Any) -> None:
    assert ways(agent) == ["route", "generate", "persist"]
    assert ways(agent) == ["route"]


def test_text_outside_the_window_is_recalled_and_retrieved(
    agent: Any, client: httpx.Client, model: ScriptedModel
) -> None:
    long_ago(client)
    question = "Where does the key to the blue gate hang?"
    assert ways(agent, question=question) == ["route", "recall", "retrieve", "generate", "persist"]
    assert SECRET in text_of(model.requests[0]["messages"])


def test_a_restart_after_a_crash_resumes(client: httpx.Client, base_url: str, tmp_path: Path) -> None:
    """In processes of their own: the model fails once the question is stored, the next start answers it, once."""

    def start(url: str, turn: str, question: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(FILE), "c", turn, question]
        client_path = str(EXAMPLES.parent / "clients/python")
        return run(command, tmp_path, base_url, OPENAI_BASE_URL=url, PYTHONPATH=client_path)

    with scripted_model() as broken:
        assert start(broken.url, "t1", "I am Ann.").returncode != 0
    assert [m["content"] for m in history(client, "c")] == ["I am Ann."]
    with scripted_model(echo, echo) as model:
        for _ in range(2):
            done = start(model.url, "t1", "I am Ann.")
            assert done.stdout == "You said: I am Ann.", done.stderr
        assert len(model.requests) == 1
        assert start(model.url, "t2", "Who am I?").stdout == "You said: Who am I?"
        assert [m["content"] for m in model.requests[1]["messages"]][-3:] == [
            "I am Ann.", "You said: I am Ann.", "Who am I?",
        ]  # fmt: skip
    assert [m["role"] for m in history(client, "c")] == ["user", "assistant"] * 2

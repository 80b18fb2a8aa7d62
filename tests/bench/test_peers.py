"""The benchmark of what a user would pick instead, where nothing of it is installed."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench.harness import Cpu
from bench.peers.peers import (
    OURS,
    PEERS,
    SEARCHES,
    SUMMARY,
    TURNS,
    Found,
    Measured,
    Plan,
    search_table,
    summary,
    turns_table,
)
from tests import unhurried
from tests.providers.fake_openai import FakeOpenAI

ROOT = Path(__file__).parents[2]
PLAN = Plan(rounds=1, conversations={10: 2}, memories=100, searches=2)
GONE = dict.fromkeys(PEERS, "a_library")


def measured(milliseconds: float, wal: int = 0) -> Measured:
    """Two requests."""
    return Measured([milliseconds / 1000] * 2, Cpu(0.004, 0.002), wal, count=1)


def test_rows_tell_if_a_peer_is_missing() -> None:
    found: Found = {("append", 10, OURS): measured(3), ("context", 10, OURS): measured(2)}
    turns = turns_table(PLAN, found, measured(9), GONE, {})
    search = search_table(PLAN, {("search", 100, OURS): measured(5)}, GONE)
    for table in (turns, search):
        assert {len(row) for row in table.rows} == {len(table.columns)}
        said = [row for row in table.rows if OURS not in row]
        assert said
        assert all("not installed" in row for row in said)
    assert {name for row in turns.rows for name in row if name in PEERS} == set(TURNS)
    assert {name for row in search.rows for name in row if name in PEERS} == set(SEARCHES)
    assert {*TURNS, *SEARCHES} == set(PEERS)
    assert "pip install" in turns.notes[-1]
    assert "a_library" in turns.notes[-1]


def test_background_jobs_count_as_quires_cost() -> None:
    [peer, *others] = PEERS
    found: Found = {("append", 10, OURS): measured(3, wal=4_000), ("append", 10, peer): measured(6, wal=1_000)}
    found |= {("context", 10, OURS): measured(2), ("context", 10, peer): measured(1)}
    table = turns_table(PLAN, found, measured(9, wal=2_000), dict.fromkeys(others, "a_library"), {})
    ours, theirs = ([row for row in table.rows if row[2] == name] for name in (OURS, peer))
    assert list(ours[0][3:]) == ["3.00", "2.00", "1.00", "3.00", "1.0", "1.0", "3.0"]
    assert list(theirs[0][3:]) == ["6.00", "2.00", "1.00", "–", "2.0", "0.5", "0.5"]
    assert list(theirs[1][3:]) == ["1.00", "2.00", "1.00", "–", "0.5", "1.0", "–"]


@pytest.mark.parametrize(
    ("module", "missing"),
    [
        ("langgraph", "langchain_core"), ("langgraph_summary", "langchain_core"), ("langgraph_store", "langchain_core"),
        ("mem0", "mem0"),
    ],
)  # fmt: skip
def test_the_process_of_a_peer_needs_the_standard_library_only_and_says_what_is_missing(
    module: str, missing: str
) -> None:
    assert module in {module for module, _ in PEERS.values()}
    arguments = ["-S", "-m", "bench.peers.peer", module, "any", "postgresql://nowhere", "http://127.0.0.1:1/v1"]
    done = subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == {"missing": missing}


def test_the_played_chat_model_always_answers_the_same_short_summary() -> None:
    with FakeOpenAI(reply=summary) as api:
        body = {"model": "played", "messages": [{"role": "user", "content": "Summarise."}]}
        answer = unhurried.post(f"{api.url}/chat/completions", json=body, trust_env=False).json()
    assert answer["choices"][0]["message"]["content"] == SUMMARY
    assert 40 < len(SUMMARY.split()) < 80

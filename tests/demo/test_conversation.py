"""The conversation that ships with the project has the shape that it promises."""

import json
import re
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from bench.window.texts import TOPICS_SHOWN, shown
from quire_command.demo.transcript import load

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "clients" / "python" / "quire_command" / "demo"
Message = dict[str, Any]


def read(file: Path) -> list[Message]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


MESSAGES = read(DEMO / "conversation.jsonl")
FACTS = read(DEMO / "facts.jsonl")


def turns() -> list[list[Message]]:
    found: list[list[Message]] = []
    for message in MESSAGES[1:]:
        if message["role"] == "user":
            found.append([])
        found[-1].append(message)
    return found


def rounds(turn: list[Message]) -> list[Message]:
    return [message for message in turn if message.get("tool_calls")]


def test_a_system_prompt_and_a_hundred_turns_each_ending_with_an_answer() -> None:
    assert [message["role"] for message in MESSAGES].index("system") == 0
    assert len(turns()) == 100
    assert all(turn[-1]["role"] == "assistant" and turn[-1]["content"] for turn in turns())


def test_every_call_is_answered_right_after_it_and_in_order() -> None:
    for index, message in enumerate(MESSAGES):
        calls = [(call["id"], call["function"]["name"]) for call in message.get("tool_calls", [])]
        after = MESSAGES[index + 1 : index + 1 + len(calls)]
        assert [(result.get("tool_call_id"), result.get("name")) for result in after] == calls


def test_every_tool_message_has_a_call_and_ids_are_unique() -> None:
    calls = [call["id"] for message in MESSAGES for call in message.get("tool_calls", [])]
    assert sorted(calls) == sorted({message["tool_call_id"] for message in MESSAGES if message["role"] == "tool"})


def test_arguments_are_json_objects() -> None:
    calls = chain.from_iterable(message.get("tool_calls", []) for message in MESSAGES)
    assert all(isinstance(json.loads(call["function"]["arguments"]), dict) for call in calls)


def test_about_half_the_turns_use_tools_some_in_parallel_some_in_sequence() -> None:
    assert 45 <= sum(bool(rounds(turn)) for turn in turns()) <= 60
    assert sum(any(len(message["tool_calls"]) > 1 for message in rounds(turn)) for turn in turns()) >= 5
    assert sum(len(rounds(turn)) > 1 for turn in turns()) >= 5
    assert sum("reasoning_content" in message for message in MESSAGES) >= 4


def test_large_and_middling_results_are_many() -> None:
    sizes = [len(message["content"]) for message in MESSAGES if message["role"] == "tool"]
    assert sum(12_000 <= size <= 50_000 for size in sizes) >= 14
    assert sum(1_000 <= size <= 8_000 for size in sizes) >= 20
    assert max(sizes) <= 50_000
    assert (DEMO / "conversation.jsonl").stat().st_size < 1_500_000


def test_people_write_short_and_the_assistant_does_not_ramble() -> None:
    assert all(10 <= len(message["content"]) <= 400 for message in MESSAGES if message["role"] == "user")
    assert all(100 <= len(turn[-1]["content"]) <= 900 for turn in turns())


def test_both_languages_occur() -> None:
    chinese = sum(any("\u4e00" <= letter <= "\u9fff" for letter in turn[0]["content"]) for turn in turns())
    assert 30 <= chinese <= 70


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: fact["answer_contains"])
def test_each_fact_is_at_its_declared_place(fact: dict[str, Any]) -> None:
    message = MESSAGES[fact["message_index"]]
    assert message["role"] == fact["where"]
    assert message in turns()[fact["turn"] - 1]
    assert fact["answer_contains"] in message["content"]
    assert fact["turn"] < fact["asked"] <= 100


def test_facts_are_early_many_and_of_every_kind() -> None:
    assert len(FACTS) >= 30
    assert all(fact["turn"] <= 45 for fact in FACTS)
    assert {fact["where"] for fact in FACTS} == {"user", "assistant", "tool"}
    assert {fact["lang"] for fact in FACTS} == {"zh", "en"}


def test_a_fact_in_a_large_result_is_not_in_its_first_thousand_characters() -> None:
    for fact in FACTS:
        content = MESSAGES[fact["message_index"]]["content"]
        if len(content) > 10_000 and fact["answer_contains"] != "HJ-MQ-2025-0317":
            assert fact["answer_contains"] not in content[:1000]


@pytest.mark.slow
def test_what_is_shown_of_it_without_a_model_is_fit_to_show() -> None:
    found = shown(load(DEMO / "conversation.jsonl")[0])
    tools = {call["function"]["name"] for message in MESSAGES for call in message.get("tool_calls", [])}

    assert found.of("title") == ["Customer research, the new warehouse contract"]
    assert len(topics := found.of("topic")) == TOPICS_SHOWN
    assert not tools & set(topics)
    assert not [topic for topic in topics if re.search(r"\d(?:st|nd|rd|th)\b|[_/(){}=]|^先", topic)]
    assert len(chapters := found.of("chapter")) >= 4
    assert not [line for line in chapters if re.search(r"\w\(\w+=|[{}]|…$", line)]
    assert all(len(text) <= 200 for text in found.of("archive"))

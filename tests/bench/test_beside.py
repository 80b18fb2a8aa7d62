"""What the benchmark beside others counts, and how it shows what is not installed."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench.peers.beside import BUDGETS, MISSING, Tallies, Tally, bill_of, holds_all, reused, summarised, table, turns_of
from bench.peers.beside_models import of_kind
from bench.peers.beside_sides import Sides, Whole, fitting, spoken
from bench.window.replay import Counter

ROOT = Path(__file__).parents[2]
SYSTEM = ('{"content": "They met in May.", "role": "system"}', 7)


def said(number: int, tokens: int = 1_000) -> tuple[str, int]:
    return (f'{{"content": "{number}", "role": "user"}}', tokens)


def test_a_turn_begins_with_each_message_of_the_user() -> None:
    messages = [
        {"role": role, "content": str(at)} for at, role in enumerate(["assistant", "user", "user", "assistant"])
    ]
    assert [[one["content"] for one in turn] for turn in turns_of(messages)] == [["0"], ["1"], ["2", "3"]]


def test_evidence_is_held_if_each_turn_is_there_word_for_word() -> None:
    text = "Anna: I was in\n  Lyon in May.\nBen: And I in Rome."
    assert holds_all(text, ["I was in Lyon in May.", "And I in Rome."])
    assert not holds_all(text, ["I was in Lyon in May.", "And I was in Rome."])


def test_a_summary_costs_reading_what_leaves_the_prompt_and_the_summary_before() -> None:
    first = [said(1), said(2)]
    assert summarised([first, [*first, said(3)]]) == 0
    assert summarised([first, [SYSTEM, said(2), said(3)]]) == 1_000
    assert summarised([[SYSTEM, said(2), said(3)], [SYSTEM, said(4)]]) == 2_007


def test_a_cache_reuses_the_shared_beginning_of_prompts_if_it_is_long_enough() -> None:
    grows = [[said(1), said(2)], [said(1), said(2), said(3)]]
    assert reused([grows]) == pytest.approx(1_920 / 5_000)  # in steps of 128 tokens
    assert reused([[[said(1)], [said(1), said(2)]]]) == 0  # a thousand tokens are too few
    assert reused([[[said(1), said(2)]], [[said(1), said(2)]]]) == 0  # of another conversation


def test_the_bill_of_summaries_includes_what_was_read_for_them() -> None:
    prompts = [[said(1), said(2)], [SYSTEM, said(3)]]
    assert bill_of([prompts], summarises=False).plain == 3_007
    assert bill_of([prompts], summarises=True).plain == 5_007


def test_the_first_memories_that_fit_the_budget_are_kept() -> None:
    assert fitting(["aaaa", "bb", "c"], 12, len) == ["aaaa", "bb"]
    assert fitting(["a" * 20, "b"], 12, len) == []


def test_a_peer_is_told_who_speaks() -> None:
    assert spoken({"role": "user", "name": "Anna", "content": "Hello."}) == {"role": "user", "content": "Anna: Hello."}
    assert spoken({"role": "user", "content": "Hello."}) == {"role": "user", "content": "Hello."}


def test_the_model_or_a_prefix_tells_queries_from_passages() -> None:
    assert of_kind("query", "passage: a") == ("query", "passage: a")
    assert of_kind("prefixed", "query: who: Anna?") == ("query", "who: Anna?")
    assert of_kind("prefixed", "passage:Anna.") == ("passage", "Anna.")


def test_the_table_has_a_row_for_what_is_not_installed(tmp_path: Path) -> None:
    tally = Tally([[[said(1)]]], [0.002], [0.01], [2_000], [True], [True])
    found: Tallies = {("there", budget): tally for budget in BUDGETS}
    sides = Sides(lambda: None, {"there": Whole(Counter(tmp_path))}, {"gone": "a_library"})
    shown = table(found, sides, turns=1, questions=1, conversations=1)
    assert {len(row) for row in shown.rows} == {len(shown.columns)}
    assert [row[2:] for row in shown.rows if row[0] == "gone"] == [MISSING] * len(BUDGETS)
    assert "a_library" in shown.notes[-1]


def test_the_process_of_hindsight_says_that_it_is_missing() -> None:
    arguments = ["-S", "-m", "bench.peers.peer", "hindsight", "chunks", "postgresql://nowhere", "http://127.0.0.1:1/v1"]
    done = subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == {"missing": "hindsight_api"}

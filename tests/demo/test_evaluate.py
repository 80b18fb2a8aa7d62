"""`quire eval`: what is needed again, and what windows say of it."""

import json
from pathlib import Path

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quire_command.demo.evaluate import evaluate, input_prices, report
from quire_command.demo.probes import LATER, PLACES, NeededAgain, is_in_view, needed_again, place, said
from quire_command.demo.transcript import Message, Transcript
from quire_command.eval import _fails, table
from tests.api.kit import assistant, user
from tests.cli.kit import invoke, own_environment

FILLER = [user("and then?"), assistant("it went on")]
TALK: list[Message] = [
    user("Always answer in French."),
    assistant("D'accord."),
    user("The config is in deploy/settings.yaml and the order is 48213377."),
    assistant("noted"),
    *FILLER,
    user("We met our friend Margarethe yesterday."),
    *FILLER,
    assistant("I look at deploy/settings.yaml again."),
    *FILLER,
    user("What about 48213377, and our friend Margarethe?"),
]
texts = st.text(alphabet="ab1/._ ", max_size=30)


def test_what_is_used_again_later_is_a_probe() -> None:
    found = {(probe.kind, probe.literal): (probe.source, probe.use) for probe in needed_again(TALK)}
    assert found == {
        ("file", "deploy/settings.yaml"): (2, 9),
        ("number", "48213377"): (2, 12),
        ("name", "Margarethe"): (6, 12),
    }


@given(st.lists(texts, max_size=12))
def test_a_probe_is_said_once_before_it_is_used(said_in_turn: list[str]) -> None:
    messages = [user(text) for text in said_in_turn]
    for probe in needed_again(messages):
        assert probe.use - probe.source >= LATER
        assert probe.literal in said(messages[probe.source])
        assert probe.literal in said(messages[probe.use])


@given(st.booleans(), st.booleans(), st.booleans())
def test_a_place_is_the_nearest(in_view: bool, on_map: bool, recalled: bool) -> None:
    probe = NeededAgain("name", 0, 5, 'the "word"', "")
    pages = {"verbatim": [9], "condensed": [], "listed": [1] if on_map else []}
    window = {"messages": [user('it is the "word"')] if in_view else [], "pages": pages}
    found = place(probe, window, 1, {"messages": [user('the "word"')]} if recalled else None)
    flags = dict(zip(PLACES, (in_view, on_map, recalled, True), strict=True))
    assert found == next(name for name, is_there in flags.items() if is_there)
    assert is_in_view(window, probe.literal) == in_view


def test_a_transcript_is_evaluated_by_budget(client: httpx.Client) -> None:
    long = [*TALK[:9], *(user(f"number {n} " + "words " * 200) for n in range(30)), *TALK[9:]]
    findings = evaluate(client, Transcript("t", tuple(long)), (2000, 32_000), "t")
    shown = report(findings, input_prices('{"m": {"input": 2, "output": 4}}'))
    small, large = shown["budgets"]
    assert [row["probes"] for row in (small, large)] == [4, 4]
    assert large["in_view"] == 1
    assert small["in_view"] < 1
    for row in (small, large):
        assert sum(row[name.replace(" ", "_")] for name in PLACES) == pytest.approx(1, abs=1e-3)
    assert small["tokens"] <= 2000 < small["full_history_tokens"]
    assert small["dollars_per_1000_windows"]["m"] == pytest.approx(2e-3 * small["tokens"], abs=0.01)
    assert (_fails(small, None, 99.0), _fails(large, 100.0, 100.0)) == (True, False)
    assert len(list(table(shown))) == 2 + 2 + 2


@pytest.mark.slow
def test_the_command_needs_nothing_but_a_file(tmp_path: Path) -> None:

    file = tmp_path / "talk.jsonl"
    file.write_text("".join(json.dumps(message) + "\n" for message in TALK))
    with own_environment() as own:
        env = {**own, "MEMORY_CARRY": "explicit"}  # without the local model, wishes are proposed
        done = invoke(env, "eval", str(file), "--json", "--budget", "8000", "--fail-under", "100")
        assert done.exit_code == 0, done.output
        assert json.loads(done.stdout)["probes"] == 4
        assert invoke(env, "eval").exit_code == 2

"""What must hold between two windows, and how a window becomes a bar."""

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from quire_command.demo.frame import (
    SECTIONS,
    Frame,
    read_frame,
    share_out,
    summarise,
)
from quire_command.demo.promises import breaks_prefix
from quire_command.demo.screen import coloured_bar, plain_bar


def frame(texts: list[str], stable: int, epoch: int = 1, total: int = 80, turn: int = 1) -> Frame:
    messages = [{"role": "user", "content": text} for text in texts]
    usage = {"total": total, "full_history": 400, "saved": 0.8, "sections": {"system": 20, "recent": 60}}
    context: dict[str, Any] = {
        "messages": messages,
        "usage": usage,
        "epoch": epoch,
        "stable_messages": stable,
        "stable_tokens": 40,
        "tools": [],
        "system": None,
    }
    return read_frame(turn, 100, context)


def prefix_broken(before: Frame, after: Frame) -> bool:
    return breaks_prefix(before.prefix, after.prefix)


def test_a_window_that_only_grew_keeps_its_prefix() -> None:
    assert not prefix_broken(frame(["a", "b", "tail"], stable=2), frame(["a", "b", "c", "tail"], stable=3))


def test_a_changed_message_breaks_the_prefix() -> None:
    assert prefix_broken(frame(["a", "b"], stable=2), frame(["a", "B", "c"], stable=3))


def test_a_shorter_window_breaks_the_prefix() -> None:
    assert prefix_broken(frame(["a", "b"], stable=2), frame(["a"], stable=1))


def test_a_reordered_key_breaks_the_prefix_since_caches_compare_bytes() -> None:
    before, after = frame(["a"], stable=1), frame(["a"], stable=1)
    swapped = '{"content": "a", "role": "user"}'
    assert prefix_broken(before, replace(after, prefix=replace(after.prefix, messages=(swapped,))))


def test_a_new_epoch_may_change_everything() -> None:
    assert not prefix_broken(frame(["a", "b"], stable=2, epoch=1), frame(["z"], stable=1, epoch=2))


def test_the_report_counts_broken_promises() -> None:
    frames = [frame(["a"], 1, turn=1), frame(["b"], 1, turn=2, total=101), frame(["c"], 1, epoch=2, turn=3)]
    report = summarise("talk", 6, frames)
    assert (report.over_budget, report.prefix_breaks, report.epochs, report.turns) == (1, 1, 2, 3)
    assert not report.kept


def test_the_report_of_a_good_run_is_clean() -> None:
    report = summarise("talk", 2, [frame(["a"], 1), frame(["a", "b"], 2, turn=2)])
    assert report.kept
    assert 0 <= report.repeated_share <= 1


sections = st.fixed_dictionaries({name: st.integers(0, 9000) for name in SECTIONS})


@given(sections, st.integers(0, 12000), st.integers(1, 80))
def test_a_bar_never_exceeds_its_width_and_is_fair_to_a_cell(tokens: dict[str, int], budget: int, width: int) -> None:
    cells = share_out(tokens, budget, width)
    scale = width / max(budget, sum(tokens.values()), 1)
    assert sum(cells.values()) == round(sum(tokens.values()) * scale) <= width
    assert all(abs(cells[name] - tokens[name] * scale) <= 1 for name in SECTIONS)


def test_bars_in_letters_and_in_colour_have_the_same_cells() -> None:
    assert plain_bar(frame(["a"], 1), width=10) == "SSRRRRRR.."
    assert coloured_bar(frame(["a"], 1), 10).plain == "████████··"

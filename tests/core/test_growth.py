"""How a window grew, from offsets."""

from __future__ import annotations

from app.core.window.growth import Frozen, PageTurn, growth

TURNS = [PageTurn(1, 0), PageTurn(2, 100), PageTurn(3, 250), PageTurn(4, 300)]
EPOCH = Frozen(number=7, trigger_page=3, notes=5, summary=10, contents=20, condensed=40, verbatim_from=100)


def test_before_the_first_epoch_the_window_is_the_whole_history() -> None:
    points = growth(TURNS, 450, [], is_whole=True)
    assert [(p.page, p.epoch, p.recent, p.total) for p in points] == [
        (1, 0, 100, 100), (2, 0, 250, 250), (3, 0, 300, 300), (4, 0, 450, 450),
    ]  # fmt: skip


def test_an_epoch_freezes_all_but_the_verbatim_zone() -> None:
    points = growth(TURNS, 450, [EPOCH], is_whole=True)
    assert [p.epoch for p in points] == [0, 0, 7, 7]
    assert [p.opens_epoch for p in points] == [False, False, True, False]
    assert [p.recent for p in points] == [100, 250, 200, 350]
    assert [p.total - p.recent for p in points] == [0, 0, 75, 75]
    assert [p.so_far for p in points] == [100, 250, 300, 450]


def test_the_later_of_two_epochs_in_a_turn_applies() -> None:
    later = Frozen(8, 3, 0, 0, 0, 0, 280)
    assert [p.epoch for p in growth(TURNS, 450, [EPOCH, later], is_whole=True)] == [0, 0, 8, 8]


def test_turns_with_an_unknown_epoch_are_left_out() -> None:
    assert [p.page for p in growth(TURNS, 450, [EPOCH], is_whole=False)] == [3, 4]
    assert growth([], 0, [], is_whole=True) == []

"""What of a conversation is new, and what the service takes of it."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from quire_command.files.lines import fresh, sendable, talk_lines
from quire_command.files.values import Talk

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def talk(*names: str) -> Talk:
    return Talk("c", [({"role": "user", "content": name, "client_id": name}, None) for name in names])


def names(found: Talk | None) -> list[str]:
    return [message["client_id"] for message, _ in found.said] if found else []


@pytest.mark.parametrize(
    ("now", "stored", "new", "shared", "parent"),
    [
        ("abc", "", "abc", 0, None),
        ("abc", "abc", "", 0, None),
        ("ab", "abc", "", 0, None),
        ("abcd", "abc", "d", 3, None),
        ("xcd", "abc", "d", 3, None),
        ("abxy", "abcd", "xy", 2, "c"),
        ("xy", "ab", "xy", 0, "c"),
    ],
)
def test_what_is_new_goes_on_or_branches_off(now: str, stored: str, new: str, shared: int, parent: str | None) -> None:
    found = fresh(talk(*now), list(stored))
    assert "".join(names(found)) == new
    if found is not None:
        assert (found.shared, found.parent) == (shared, parent)
        assert fresh(found, names(found)) is None


def test_without_ids_places_are_compared() -> None:
    plain = Talk("c", [({"role": "user", "content": "a"}, None)])
    assert fresh(plain, [None]) is plain


def test_a_message_without_an_id_is_known_by_what_it_says() -> None:
    def plain(*texts: str, name: str = "c") -> Talk:
        return sendable(Talk(name, [({"role": "user", "content": text}, None) for text in texts]), NOW)[0]

    stored = names(plain("a", "ok", "b", "ok"))
    assert len(set(stored)) == 4
    assert fresh(plain("a", "ok", "b", "ok"), stored) is None
    grown = fresh(plain("a", "ok", "b", "ok", "c"), stored)
    assert grown is not None
    assert ([message["content"] for message, _ in grown.said], grown.shared) == (["c"], 4)
    rewound = fresh(plain("a", "ok", "x"), stored)
    assert rewound is not None
    assert ([message["content"] for message, _ in rewound.said], rewound.parent, rewound.shared) == (["x"], "c", 2)
    assert not set(names(plain("a", name="d"))) & set(stored)


def test_times_that_go_back_or_lie_ahead_are_dropped_and_what_is_empty_is_named() -> None:
    times = ["2025-10-03T12:00:00+02:00", "2025-10-03T09:00:00Z", None, "2025-10-03T10:00:01Z", "2027-01-01T00:00:00Z"]
    said = [({"role": "user", "content": "a", "client_id": "same"}, time) for time in times]
    found, skipped = sendable(Talk("c", [*said, ({"role": "assistant", "content": ""}, None)]), NOW)
    assert [time for _, time in found.said] == [
        "2025-10-03T12:00:00+02:00", None, None, "2025-10-03T10:00:01+00:00", None
    ]  # fmt: skip
    first, *others = [message["client_id"] for message, _ in found.said]
    assert first == "same"
    assert len(set(others)) == 4
    assert all(name.startswith("said:") for name in others)
    assert [(one.place, one.reason) for one in skipped] == [("c, message 6", "it is empty")]


def test_a_branchs_lines_begin_behind_what_it_shares() -> None:
    found, _ = sendable(Talk("b", talk("x").said, "T", parent="c", shared=4, summaries=["so far"]), NOW)
    _, head, message, end = (json.loads(line) for line in talk_lines(found, "u"))
    assert (head["parent_id"], head["forked_after"], head["metadata"]) == ("c", 4, {"summaries": ["so far"]})
    assert (message["seq"], end["conversation_id"]) == (5, "b")


def test_metadata_that_is_too_long_is_cut_and_said() -> None:
    found, [left] = sendable(Talk("c", talk("x").said, summaries=["s" * 40_000]), NOW)
    assert 0 < len(json.dumps(found.metadata)) <= 16_384
    assert "cut" in left.reason

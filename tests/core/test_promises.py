"""The checker of windows finds each broken promise, and reports nothing for windows that keep them."""

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from quire_command.demo.promises import Prefix, breaks_prefix, splits_blocks, splits_calls

texts = st.lists(st.sampled_from(["a", "b", "c"]), max_size=6).map(tuple)
CALL: dict[str, Any] = {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}, {"id": "2"}]}
USER: dict[str, Any] = {"role": "user", "content": "hello"}
USE: dict[str, Any] = {"role": "assistant", "content": [{"type": "tool_use", "id": "1"}]}


def result(call: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call, "content": "x"}


def block(call: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call}]}


@given(texts, texts, texts)
def test_a_window_that_grows_after_its_stable_part_keeps_the_prefix(
    stable: tuple[str, ...], tail: tuple[str, ...], grown: tuple[str, ...]
) -> None:
    before = Prefix(1, "tools", stable + tail, len(stable))
    assert not breaks_prefix(before, Prefix(1, "tools", stable + grown, len(stable)))


@given(texts.filter(bool), st.data())
def test_a_changed_or_missing_message_breaks_the_prefix(stable: tuple[str, ...], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(stable) - 1))
    before = Prefix(1, "tools", stable, len(stable))
    assert breaks_prefix(before, replace(before, messages=(*stable[:at], "changed", *stable[at + 1 :])))
    assert breaks_prefix(before, replace(before, messages=stable[:at]))
    assert breaks_prefix(before, replace(before, fixed="other tools"))
    assert not breaks_prefix(before, replace(before, epoch=2, messages=stable[:at]))


def test_calls_and_results_stand_together() -> None:
    assert not splits_calls([USER, CALL, result("2"), result("1"), USER])
    assert splits_calls([CALL, result("1"), USER]), "a call without its result"
    assert splits_calls([CALL, result("1")]), "at the end"
    assert splits_calls([USER, result("1")]), "a result without its call"
    assert splits_calls([CALL, result("1"), result("1"), result("2")]), "twice"


def test_blocks_stand_together() -> None:
    text = {"role": "user", "content": [{"type": "text", "text": "hello"}]}
    assert not splits_blocks([text, USE, block("1"), text])
    assert splits_blocks([USE, text])
    assert splits_blocks([USE])
    assert splits_blocks([text, block("1")])

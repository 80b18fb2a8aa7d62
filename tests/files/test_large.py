"""Large files are read piece by piece, and give what they would give if they were held."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quire_command.files import kinds, large, reading
from quire_command.files.large import Kept, Large, LargeList, LargeObject, kept, large_json
from quire_command.files.reading import Document, document, opened
from quire_command.files.values import Talk, dumps
from tests.files.samples import CHATGPT, CLAUDE_CODE, CODEX, DOCUMENTS

SMALL = 64
"""Bytes of a piece in these tests: every file is large."""


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let everything be large."""
    monkeypatch.setattr(large, "PIECE_BYTES", SMALL)
    monkeypatch.setattr(reading, "LARGE_BYTES", SMALL)
    monkeypatch.setattr(large, "KEPT_CHARACTERS", SMALL)


def plain(value: Any) -> Any:
    return value.whole() if isinstance(value, Large) else value


def written(folder: Path, text: str) -> Path:
    file = folder / "file.json"
    file.write_bytes(text.encode("utf-8", "surrogatepass"))
    return file


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=60,
)


@pytest.mark.usefixtures("tiny")
@given(value=st.lists(json_values) | st.dictionaries(st.text(), json_values), indent=st.sampled_from([None, 1]))
def test_any_value_is_read_as_it_was_written(tmp_path_factory: Any, value: Any, indent: int | None) -> None:
    folder = tmp_path_factory.mktemp("large")
    for text in (json.dumps(value, indent=indent), "\ufeff" + json.dumps(value, ensure_ascii=False, indent=indent)):
        if "\\ud" not in json.dumps(value):
            assert plain(large_json(written(folder, text))) == value


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize(
    "text",
    ["", "[", '[{"a": 1}', '[{"a": 1} {"b"', "[1, x]", "[1,]", '{"a" 1}', "{1: 2}", "[1] 2", "x", "[" * 100_000],
)
def test_a_mistake_is_refused_with_its_place(tmp_path: Path, text: str) -> None:
    with pytest.raises(ValueError, match=r"or with a mistake, at byte \d|is nested too deeply"):
        large_json(written(tmp_path, text))


@pytest.mark.usefixtures("tiny")
def test_a_list_in_a_file_is_used_as_any_list(tmp_path: Path) -> None:
    whole = [{"n": n, "text": "茶" * n, "more": list(range(n))} for n in range(40)]
    found = large_json(written(tmp_path, json.dumps(whole)))
    assert isinstance(found, LargeList)
    assert isinstance(found[39], LargeObject)
    assert found == whole
    assert found != [*whole, 1]
    assert (found[:3], found[::-1], found.__add__([1])) == (whole[:3], whole[::-1], [*whole, 1])
    assert (found[-1], list(reversed(found)), {"n": 0, "text": "", "more": []} in found) == (
        whole[-1],
        whole[::-1],
        True,
    )
    assert found.only([5, 3]) == [whole[5], whole[3]]
    last = found[39]
    assert (last["n"], last.get("n"), last.get("m", 2), "n" in last, len(last)) == (39, 39, 2, True, 3)
    assert ({**last}, dict(last.items()), list(last), next(iter(last.values()))) == (
        whole[39],
        whole[39],
        [*whole[39]],
        39,
    )
    assert json.loads(dumps(found)) == whole


def talks(found: Document, source: str) -> list[Talk]:
    return [one for one in kinds.found_in(found, kinds.BY_NAME[source]) if isinstance(one, Talk)]


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("source", [name for name, found in DOCUMENTS.items() if isinstance(found.value, list | dict)])
def test_a_large_file_of_each_kind_gives_what_a_small_one_does(tmp_path: Path, source: str) -> None:
    name = DOCUMENTS[source].name
    found = opened(name, written(tmp_path, json.dumps(DOCUMENTS[source].value)))
    assert found.is_large
    kind = kinds.kind_of(found)
    assert kind is not None
    assert kind.name == source
    expected = list(kinds.found_in(DOCUMENTS[source], kind))
    got = list(kinds.found_in(found, kind))
    assert len(got) == len(expected)
    for large_one, small_one in zip(got, expected, strict=True):
        if isinstance(large_one, Talk) and isinstance(small_one, Talk):
            assert list(large_one.said) == list(small_one.said)
            assert (large_one.id, large_one.shared) == (small_one.id, small_one.shared)
        else:
            assert large_one == small_one


@pytest.mark.usefixtures("tiny")
def test_large_lines_are_read_one_by_one(tmp_path: Path) -> None:
    for rows in (CODEX, CLAUDE_CODE):
        text = "\n".join([*map(json.dumps, rows), "7", '{"half'])
        found = opened("rollout.jsonl", written(tmp_path, text))
        assert found.is_large
        assert found == document("rollout.jsonl", text.encode())


def test_many_messages_wait_in_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large, "KEPT_CHARACTERS", 100)
    said = [({"role": "user", "content": f"茶\ud800 {n}"}, None if n % 2 else "2026-01-01") for n in range(50)]
    found = kept(iter(said))
    assert isinstance(found, Kept)
    assert (list(found), found[7], list(found[10:20:3]), len(found[45:])) == (said, said[7], said[10:20:3], 5)
    assert kept(said[:3]) == said[:3]


def test_what_is_large_and_of_no_kind_is_not_held(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    for begun, words in ((b"<html>", "is XML or HTML"), (b"Dear diary", "is text, not JSON")):
        with file.open("wb") as hole:
            hole.write(begun)
            hole.truncate(3_000_000_000)
        with pytest.raises(ValueError, match=words):
            opened("page.html", file)


@pytest.mark.usefixtures("tiny")
def test_a_conversation_of_a_large_wrapper_is_read(tmp_path: Path) -> None:
    found = opened("state.json", written(tmp_path, json.dumps({"messages": [{"role": "user", "content": "茶"}] * 300})))
    [talk] = talks(found, "messages")
    assert isinstance(talk.said, Kept)
    assert len(talk.said) == 300
    assert talks(opened("c.json", written(tmp_path, json.dumps(CHATGPT))), "chatgpt")[0].id == "chatgpt:c1"

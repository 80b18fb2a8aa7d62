"""MessagePack of LangGraph's own serialiser, and dumps of PostgreSQL."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage, messages_to_dict
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from quire_command.files import kinds
from quire_command.files.packed import dumped, unpacked
from quire_command.files.reading import Document, document
from tests.files.test_kinds import talks, texts

SAID = [
    HumanMessage("Plot it", id="1", name="ann"),
    AIMessage("", id="2", tool_calls=[{"id": "k", "name": "python", "args": {"input": "plot()"}}]),
    ToolMessage("done", id="3", tool_call_id="k", status="error"),
    AIMessage([{"type": "text", "text": "Here it is"}], id="4"),
]
SUMMARY = HumanMessage("Here is a summary", id="5", additional_kwargs={"lc_source": "summarization"})
values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=20) | st.dictionaries(st.text(), inner, max_size=20),
)


@given(values)
def test_what_langgraph_packs_is_unpacked(value: Any) -> None:
    kind, data = JsonPlusSerializer().dumps_typed({"v": value})
    assert kind == "msgpack"
    assert unpacked(data) == {"v": value}


@given(st.binary(max_size=200))
def test_other_bytes_are_refused_or_read(data: bytes) -> None:
    try:
        unpacked(data)
    except ValueError:
        return


def test_messages_that_langchain_writes_are_read() -> None:
    [talk] = talks("langchain", Document("m.json", messages_to_dict(SAID)))
    assert texts(talk) == ["Plot it", "", "done", "Here it is"]
    assert talk.said[2][0]["is_error"] is True


def checkpoint(messages: list[Any]) -> tuple[str, bytes]:
    return JsonPlusSerializer().dumps_typed({"channel_values": {"messages": messages}})


def test_checkpoints_hold_what_was_summarised_since_and_lines_that_were_left(tmp_path: Path) -> None:
    """The table of langgraph-checkpoint-sqlite, with checkpoints that LangGraph's serialiser wrote."""
    file = tmp_path / "checkpoints.sqlite"
    fork = HumanMessage("Rather not", id="9")
    with sqlite3.connect(file) as connection:
        connection.execute(
            "CREATE TABLE checkpoints"
            " (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata)"
        )
        for name, parent, messages in (
            ("1", None, SAID[:1]), ("2", "1", SAID), ("3", "2", [SUMMARY, SAID[-1]]), ("4", "1", [SAID[0], fork]),
        ):  # fmt: skip
            row = ("t", "", name, parent, *checkpoint(list(messages)), b'{"user_id": "u"}')
            connection.execute("INSERT INTO checkpoints VALUES (?, ?, ?, ?, ?, ?, ?)", row)
    connection.close()
    found = document("checkpoints.sqlite", file.read_bytes(), file)
    kind = kinds.kind_of(found)
    assert kind is not None
    main, branch = talks(kind.name, found)
    assert (kind.name, main.id, main.user, list(main.summaries)) == (
        "langgraph",
        "langgraph:t",
        "u",
        ["Here is a summary"],
    )
    assert texts(main) == ["Plot it", "", "done", "Here it is"]
    assert (branch.parent, branch.shared, texts(branch)) == (main.id, 1, ["Rather not"])


def test_a_dump_gives_rows_by_table() -> None:
    text = "COPY public.t (a, b) FROM stdin;\nx\\ty\t\\\\x6869\n\\N\t\n\\.\n\nCOPY u (c) FROM stdin;\n\\.\n"
    assert dumped(text) == {"t": [{"a": "x\ty", "b": b"hi"}, {"a": None, "b": ""}], "u": []}


@pytest.mark.parametrize("data", [b"", b"\xc1", b"\x91", b"\xd9\x05ab", b"\x91" * 1000])
def test_bytes_that_are_cut_or_too_deep_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"MessagePack|deeply"):
        unpacked(data)

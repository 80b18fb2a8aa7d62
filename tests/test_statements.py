"""Named parameters of statements: numbered where they are parameters, and given by name."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.postgres.statements import SqlFile, read_statement

NO_PARAMETERS = (
    "'a :b c'",
    "'it''s :x'",
    "x::int",
    "a[1:2]",
    '":c"',
    "-- :d\n",
    "/* :e */",
    "'{\"k\":true}'",
    "$1",
    "-",
)
SQL = """-- What the file is about.

-- piece: columns
-- What is shown.
a, {more}

-- name: find
-- One row.
--
-- Why so.
SELECT {columns} FROM t WHERE tenant_id = :tenant AND id = :id LIMIT {rows_max};

-- name: forget
-- Erases a row.
DELETE FROM t WHERE conversation_id = :conversation AND tenant_id = :tenant
"""


@given(st.lists(st.sampled_from(NO_PARAMETERS) | st.from_regex(r":[a-z][a-z_0-9]{0,8}", fullmatch=True)))
def test_each_name_has_one_number_and_all_else_stays(parts: list[str]) -> None:
    statement = read_statement(" ".join(parts))
    names = {part[1:] for part in parts if part.startswith(":")}
    assert set(statement.names) == names - {"tenant"}
    numbered = [*(["tenant"] if "tenant" in names else []), *statement.names]
    expected = [f"${numbered.index(part[1:]) + 1}" if part.startswith(":") else part for part in parts]
    assert statement.text == " ".join(expected)


def test_the_tenant_is_first_and_then_the_conversation() -> None:
    statement = read_statement("SELECT :page, :conversation::text, :tenant, :page")
    assert statement.text == "SELECT $3, $2::text, $1, $3"
    assert statement.arguments({"page": 7, "conversation": "c"}) == ("c", 7)


@pytest.mark.parametrize("named", [{"page": 1}, {"page": 1, "conversation": "c", "pages": 2}])
def test_a_missing_or_unknown_name_is_an_error(named: dict[str, object]) -> None:
    with pytest.raises(TypeError, match=r"conversation|pages"):
        read_statement("SELECT :page, :conversation").arguments(named)


def test_a_file_holds_statements_and_pieces(tmp_path: Path) -> None:
    (tmp_path / "store.sql").write_text(SQL)
    file = SqlFile(str(tmp_path / "store.py"), rows_max=3)
    find = file.statement("find", more="b")
    assert find.text == "SELECT a, b FROM t WHERE tenant_id = $1 AND id = $2 LIMIT 3"
    assert find.names == ("id",)
    assert file.statement("forget").text == "DELETE FROM t WHERE conversation_id = $2 AND tenant_id = $1"
    assert file.names == ["find", "forget"]
    with pytest.raises(KeyError):
        file.statement("find")

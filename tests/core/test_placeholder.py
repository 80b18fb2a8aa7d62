"""The placeholder of an archived result, in both languages."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.history.placeholder import ArchiveCard, erased, placeholder
from app.core.model import Language, Policy
from tests.core.book import Book
from tests.core.conversations import calls, result, user

UUID_7 = UUID("01938b3a-7c1e-7000-8000-0123456789ab")
CARD = ArchiveCard(
    uuid=UUID_7,
    tool_name="search",
    query_summary="quarterly sales",
    created_at=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
    length=12_345,
    result_summary="Sales grew.",
    key_terms=("sales", "growth"),
    sources=("https://example.org", "report.pdf"),
)
languages = st.sampled_from(("zh", "en"))


def test_a_placeholder_in_english() -> None:
    assert placeholder(CARD, "en").splitlines() == [
        f"[Archived tool result {UUID_7}] read it with load_tool_history(uuid, query)",
        "Tool: search. Time: 2026-01-02T03:04:05Z. Original: 12345 characters.",
        "Asked: quarterly sales",
        "Holds: Sales grew.",
        "Key terms: sales, growth",
        "Sources: https://example.org; report.pdf",
    ]


def test_a_placeholder_in_chinese() -> None:
    assert placeholder(CARD, "zh").splitlines() == [
        f"[已归档的工具结果 {UUID_7}] 用 load_tool_history(uuid, query) 读取",
        "工具：search 时间：2026-01-02T03:04:05Z 原文：12345 字符",
        "查询：quarterly sales",
        "内容：Sales grew.",
        "关键词：sales、growth",
        "来源：https://example.org；report.pdf",
    ]


@pytest.mark.parametrize(("language", "lines"), [("en", 2), ("zh", 2)])
def test_unknown_fields_have_no_line(language: Language, lines: int) -> None:
    bare = replace(CARD, query_summary="", result_summary="", key_terms=(), sources=())
    assert len(placeholder(bare, language).splitlines()) == lines


@pytest.mark.parametrize("language", ["en", "zh"])
def test_an_erased_archive_says_so_and_which_it_was(language: Language) -> None:
    assert str(UUID_7) in erased(UUID_7, language)


@given(languages, st.text(), st.text(), st.text())
def test_the_uuid_is_in_the_first_line_whatever_the_rest_says(
    language: Language, tool: str, asked: str, holds: str
) -> None:
    text = placeholder(replace(CARD, tool_name=tool, query_summary=asked, result_summary=holds), language)
    assert str(UUID_7) in text.split("\n", 1)[0][:100]


@pytest.mark.parametrize("longest", [0, 40, 200, 10_000])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_condensed_placeholder_still_resolves(language: Language, longest: int) -> None:
    book = Book(Policy(archive_threshold=100, condensed_tool_max=longest), language)
    row = book.append([user("go"), calls("a"), result("a", "x" * 5000)])[-1]
    assert row.archives[0] in row.shape.view[0]["content"]
    for message in row.shape.short or []:
        assert row.archives[0] in message["content"]

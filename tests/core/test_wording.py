"""The words in which models learn the results of a search."""

import pytest

from app.core.wording import lacking

CASES = {
    "nothing": ([], "", ""),
    "no model": ([("embeddings_absent", "")], " (by keyword alone)", "（仅按关键词）"),
    "behind": (
        [("vectors_lag", "1,204 memories or more have no vector; only their words find them")],
        " (behind by 1,204: the newest by keyword alone)",
        "（落后 1,204 条：最新的仅按关键词）",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_a_search_lacks_is_said_apart(name: str) -> None:
    warnings, english, chinese = CASES[name]
    told = [{"code": code, "detail": detail} for code, detail in warnings]
    assert (lacking(told, "en"), lacking(told, "zh")) == (english, chinese)

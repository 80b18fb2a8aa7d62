"""Texts are found in whatever forms their characters and numbers have."""

from __future__ import annotations

from typing import Literal
from unicodedata import normalize

import httpx
import pytest

from tests.api.kit import append, ok, user

Form = Literal["NFC", "NFD"]
SAID = ["The café of Zoë is closed.", "订单号ＡＢ１２３已发货", "An eﬃcient ofﬁce.", "It cost $1,234.50 in all."]


@pytest.mark.parametrize(
    ("query", "place"),
    [
        ("café Zoë", 0), (normalize("NFD", "café Zoë"), 0), ("AB123", 1), ("ＡＢ１２３", 1), ("efficient office", 2),
        ("1234.50", 3), ("1,234.50", 3), ("USD 1 234.50", 3),
    ],
)  # fmt: skip
@pytest.mark.parametrize("stored", ["NFC", "NFD"])
def test_search_and_grep_find_it(client: httpx.Client, query: str, place: int, stored: Form) -> None:
    append(client, "c", [user(normalize(stored, said) if stored == "NFD" else said) for said in SAID])
    found = ok(client.post("/memories/search", json={"user_id": "u", "query": query, "search_mode": "keyword"}))
    assert found["results"][0]["page"] == place + 1
    word = query.removeprefix("USD ").split()[0] if "USD" not in query else "1,234.50"
    lines = ok(client.post("/memories/grep", json={"user_id": "u", "pattern": word}))["results"]
    assert [line["page"] for line in lines] == [place + 1]


def test_a_regular_expression_meets_either_composition(client: httpx.Client) -> None:
    append(client, "c", [user(normalize("NFD", "Zoë's café，closed"))])
    for pattern in (r"caf\w，", normalize("NFD", r"zoë'?s")):
        [line] = ok(client.post("/memories/grep", json={"user_id": "u", "pattern": pattern, "regex": True}))["results"]
        assert "**" in line["text"]

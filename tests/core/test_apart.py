"""Pages that begin alike are told apart."""

import re
from itertools import pairwise

import pytest

from app.core.history.apart import apart
from app.extractive.lines import line_of, read, title_of

ALIKE = {
    "en": [f"Please review the following clause and tell me whether it is risky for a small firm: {one}" for one in (
        "prices may rise once a year", "either party may leave with ninety days' notice", "courts sit in Rotterdam",
    )],
    "long": [f"Please review the following with care and keep in mind what we agreed upon about tone, length and "
             f"sources in our first talk, the one about bridges and ferries. {one}" for one in (
        "The tenant paints the walls.", "The landlord visits on Mondays.", "No dogs.",
    )],
    "zh": [f"请审阅下面的条款，指出其中对我们不利的地方，并就每一处给出你的修改建议和理由，不要超过三点：{one}"
           for one in ("每年提价一次", "提前九十天解约", "上海仲裁")],
}  # fmt: skip


@pytest.mark.parametrize("texts", ALIKE.values(), ids=ALIKE)
def test_pages_that_begin_alike_are_told_apart_by_what_differs(texts: list[str]) -> None:
    for before, text in pairwise(texts):
        title = apart(title_of(read("user", text)), text, line_of(read("user", before)))
        assert title == f"…{re.split('[:：] ?|ferries[.] ', text)[-1]}"
    assert apart("Buy tea", "Buy tea", "Buy tea") == "Buy tea"
    assert apart("Buy tea in Bath", "Buy tea in Bath", "") == "Buy tea in Bath"

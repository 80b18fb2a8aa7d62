"""Texts that say the same have one statement; texts that differ in a fact have two."""

from string import ascii_lowercase, digits

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from app.text.statements import STATEMENT_CHARACTERS, statement

SAME = """
My favourite tea is longjing.|Longjing is my favourite tea|well, my favourite tea is really LJ|my favourite tea: LJ!
Please remember that the locker's code is 4711.|As I said, the locker's code is 4711
I don't like coffee|I do not like coffee.|I do not like **coffee**
By the way, I can't swim|I cannot swim!
我最喜欢的茶是龙井。|龙井是我最喜欢的茶|請記住：我最喜歡的茶就是龍井！|我最喜欢的茶其实是龙井
密码：4711|密码是4711。|对了，密码是 4711
我非常喜欢杭州|我很喜欢杭州!|我真的喜欢杭州啊
""".replace("LJ", "longjing")
DIFFERENT = """
My favourite tea is longjing.|My favourite tea is not longjing.|My favourite tea was longjing.
Longjing is my favourite tea|Is longjing my favourite tea?
I live in Berlin|I live in Paris|I no longer live in Berlin|She lives in Berlin
The code is 4711|The code is 4712|The code is aB3|The code is AB3|The code is -4711
It costs $5|It costs €5|It costs 5|It costs 5%
I work with Ann|I work with Ann and Bob|I work with An|I work|I worked with Ann
Ann owes Bob.|Bob owes Ann.|I have few friends.|I have a few friends.
I chose plan A|I chose plan B|I chose plan
I use C|I use C++|I use C#|I really use it|I do not really use it
我最喜欢的茶是龙井|我最喜欢的茶不是龙井|我最喜欢的茶是龙井吗？|我最喜欢的茶是碧螺春|他最喜欢的茶是龙井
我住在北京|我住在上海|我不住在北京|我以前住在北京|我和小明住在北京
他来|他来了|他没来|密码是4711|密码是4712
小明欠小红钱|小红欠小明钱|我爱的人是小明|我爱人是小明|我喜欢酒|我喜欢酒吧
"""


def rows(table: str) -> list[list[str]]:
    return [line.split("|") for line in table.strip().splitlines()]


@pytest.mark.parametrize("texts", rows(SAME), ids=str)
def test_the_same_said_in_other_words_is_one_statement(texts: list[str]) -> None:
    assert len({statement(text) for text in texts}) == 1


@pytest.mark.parametrize("texts", rows(DIFFERENT), ids=str)
def test_another_number_name_or_negation_is_another_statement(texts: list[str]) -> None:
    assert len({statement(text) for text in texts}) == len(texts)


WORD = st.text(ascii_lowercase + digits, min_size=2, max_size=9) | st.text("茶龙井杭州北京小明", min_size=1, max_size=6)


@given(st.lists(WORD, min_size=1, max_size=9), st.integers(0, 8), WORD)
def test_one_other_word_is_another_statement(words: list[str], at: int, other: str) -> None:
    changed = [*words]
    changed[at % len(words)] = other
    plain = "".join(words) != "".join(changed) and not {"is", "are", "an", "so", "oh", "ok", "hi"} & {*words, other}
    assume(plain and sorted(words) != sorted(changed))
    if statement(" ".join(words)) == statement(" ".join(changed)):
        assert sorted("".join(words)) == sorted("".join(changed))  # the same characters, in other places


@given(st.text(max_size=200))
def test_every_text_has_a_statement(text: str) -> None:
    assert bool(statement(text)) == bool(text.strip())
    assert statement(f" {text}\n") == statement(text)


def test_a_long_text_is_compared_as_it_is() -> None:
    long = "tea " * STATEMENT_CHARACTERS
    assert statement(long) == long.strip()

"""Good and bad replies of models, in both languages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.window.replies import Covered, is_foreign, is_strange, loops, summary_fault, wording_of
from app.text.language import script_counts

ENGLISH = """Ann plans a week in Kyoto with her two children in April and wants a flat near the river.
She decided against the hotel of last year because of the noise; the budget is 2,400 euros.
The flight is booked (AF292, 14 April). The railway passes and the museum are still open."""
CHINESE = """安计划四月带两个孩子去京都住一周，想租一套靠近鸭川的公寓。
去年的酒店太吵，因此不再考虑；预算为两千四百欧元。
航班已经预订（AF292，4月14日）。铁路通票和博物馆门票尚未决定。"""
TABLE = "\n".join(f"GET /users/{n} answers {200 + n}." for n in range(40))
STEPS = "\n".join(f"第{n}步返回{n * 3}行，耗时{n * 7}毫秒。" for n in range(40))
GOOD = {
    "English": (ENGLISH, ENGLISH),
    "Chinese": (CHINESE, CHINESE),
    "a list of like sentences": (TABLE, ENGLISH),
    "a Chinese list of like sentences": (STEPS, CHINESE),
    "Chinese with English terms": (
        "用户部署 FastAPI 和 PostgreSQL，端口 8000，使用 Docker Compose 与 Nginx。" + CHINESE,
        CHINESE,
    ),
    "English about a mixed conversation": (ENGLISH, CHINESE + ENGLISH),
    "Chinese about a mixed conversation": (CHINESE, CHINESE + ENGLISH),
    "terms only, which are of any language": (
        "FastAPI 0.116; PostgreSQL 18.1; Nginx 1.29.0, port 8000, 14 GB",
        CHINESE,
    ),
    "kana": ("アンは四月に子どもたちと京都へ行く予定で、川の近くの静かな部屋を探しています。", ENGLISH),
}
SPOKEN = " ".join(
    f"On day {n} Ann saw temple {n * 7} and ate dish {n * 11}, which cost {n * 13} yen." for n in range(30)
)
BAD = {
    "a loop": ("Wait, I'll check. " * 5_000, ENGLISH, "repeats"),
    "a Chinese loop": ("等等，我再看一下。" * 5_000, CHINESE, "repeats"),
    "a loop of one word": ("the " * 60, ENGLISH, "repeats"),
    "a loop of one character": ("好" * 200, CHINESE, "repeats"),
    "a numbered loop": ("\n".join(f"{n}. I have to look at this again." for n in range(30)), ENGLISH, "repeats"),
    "a numbered Chinese loop": ("\n".join(f"{n}、我需要再检查一遍。" for n in range(30)), CHINESE, "repeats"),
    "a loop after a good start": (ENGLISH + " Let me see that again, please." * 60, ENGLISH, "repeats"),
    "a Chinese loop after a good start": (CHINESE + "让我再看一遍这里。" * 60, CHINESE, "repeats"),
    "a loop of a paragraph": (ENGLISH * 9, ENGLISH, "repeats"),
    "one sentence": ("It was about a trip.", ENGLISH, "says too little"),
    "one Chinese sentence": ("聊了旅行。", CHINESE, "says too little"),
    "a book": (" ".join(f"invention{n}" for n in range(3_000)), ENGLISH, "too long"),
    "a Chinese book": ("".join(chr(0x4E00 + n) for n in range(3_000)), CHINESE, "too long"),
    "Chinese about English": (CHINESE, ENGLISH, "another language"),
    "English about Chinese": (ENGLISH, CHINESE, "another language"),
    "a refusal": ("I'm sorry, but I can't help with that request about Ann.", ENGLISH * 4, "refusal"),
    "a Chinese refusal": ("抱歉，我无法协助处理与京都有关的这个请求。", CHINESE, "refusal"),
    "an echo": (SPOKEN, SPOKEN, "only repeats"),
    "something else": (
        "Bob repaired motorcycles around Lyon throughout winter, selling seventeen of them abroad.",
        ENGLISH,
        "nothing",
    ),
    "something else than a short talk": (
        "The capital of France is Paris, which lies on the river Seine.",
        "Is the flat free? It is. Then we take it from May. Fine, I tell the owner today.",
        "nothing",
    ),
    "something else than a short Chinese talk": (
        "法国的首都是巴黎，位于塞纳河畔。",
        "房子还租吗？还在。那五月起租。好，我告诉房东。",
        "nothing",
    ),
}
INSTRUCTIONS = "You keep the running summary of a conversation between a user and an assistant. Ann is nobody."


def test_a_part_of_the_prompt_is_no_summary() -> None:
    covered = Covered(wording_of(ENGLISH), script_counts(ENGLISH))
    fault = summary_fault(INSTRUCTIONS, script_counts(INSTRUCTIONS), covered, 0, INSTRUCTIONS + " Be brief.")
    assert fault == "repeats its instructions"


LOOP = "Wait, I'll check. "
NOTHING = wording_of("")


def fault_of(reply: str, covered: str) -> str | None:
    """Judge a reply that replaces a summary of the same length as the covered text."""
    made_of = Covered(wording_of(covered), script_counts(covered))
    return summary_fault(reply, script_counts(reply), made_of, made_of.wording.content)


@pytest.mark.parametrize("name", GOOD)
def test_good_replies_pass(name: str) -> None:
    assert fault_of(*GOOD[name]) is None


@pytest.mark.parametrize("name", BAD)
def test_bad_replies_are_named(name: str) -> None:
    reply, covered, words = BAD[name]
    assert words in (fault_of(reply, covered) or "")


@given(st.text(max_size=40), st.text(max_size=400))
def test_repeating_without_end_loops(unit: str, before: str) -> None:
    """This holds for any beginning and any repeated unit."""
    assert loops(wording_of(before + f"{unit} a " * 600), NOTHING)


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=200, unique=True))
def test_text_without_repetition_does_not_loop(words: list[int]) -> None:
    assert not loops(wording_of(" ".join(f"w{word}" for word in words)), NOTHING)


@given(st.sampled_from([LOOP, "等等，我再看一下。", "a b "]), st.integers(0, 300), st.text(max_size=80))
def test_a_text_may_repeat_what_it_covers_as_often(unit: str, times: int, before: str) -> None:
    wording = wording_of(before + unit * times)
    assert not loops(wording, wording)
    assert not loops(wording_of(unit * times), wording)


def test_a_conversation_that_repeats_itself_can_be_quoted_or_told_in_a_sentence_but_not_looped_over() -> None:
    said = LOOP * 40
    assert fault_of(said, said) is None
    assert fault_of(LOOP * 12, said) is None
    assert fault_of("The assistant only says that it will check.", said) is None
    assert "repeats" in (fault_of(LOOP * 5_000, said) or "")


@given(st.tuples(st.integers(0, 500), st.integers(0, 500)))
def test_no_text_is_foreign_to_itself(scripts: tuple[int, int]) -> None:
    assert not is_foreign(scripts, scripts)


@pytest.mark.parametrize(("quoted", "said"), [(CHINESE, ENGLISH), (ENGLISH, CHINESE)])
def test_a_quotation_is_not_strange(quoted: str, said: str) -> None:
    """The quotation is a tool's result in another language than people's messages."""
    covered = Covered(wording_of(said + "\n" + quoted), script_counts(said))
    assert not is_strange(wording_of(quoted), script_counts(quoted), covered)
    assert is_strange(wording_of(quoted), script_counts(quoted), Covered(wording_of(said), script_counts(said)))

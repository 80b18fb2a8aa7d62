"""Whether a message asks is read from its vector: then memory speaks, in other words and languages, and only then."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from app.core.search.evidence import DOUBTFUL_TOKENS
from app.core.window.assemble import TAIL_OVERHEAD
from app.postgres.tenants import DEFAULT_TENANT
from app.providers import Embedder
from app.runtime import Runtime
from app.services.conversations.call import ContextRequest
from app.services.conversations.context import context
from app.services.conversations.tail import LAG_MAX
from tests.api.kit import user
from tests.search.kit import drain, find, say, texts

pytestmark = pytest.mark.anyio

FACTS = [
    "My brother-in-law runs a bakery in Galway, near the canal.", "Our cat Mochi is afraid of the vacuum cleaner.",
    "The boiler was serviced in March and cost 180 euros.", "I prefer green tea in the afternoon.",
    "我姐姐在苏州教小提琴。", "我们家的车位在地下二层。", "阳台上的茉莉每两天浇一次水。", "我的护照明年六月到期。",
]  # fmt: skip
ASKED = {
    "in other words": ("Which town has the bread shop of my wife's sibling?", FACTS[0]),
    "in other Chinese words": ("我的旅行证件什么时候失效？", FACTS[7]),
    "in Chinese": ("我小舅子的面包店开在哪里？", FACTS[0]),
    "in English": ("What does my older sister teach, and where?", FACTS[4]),
}
OFF_TOPIC = [
    "Write a haiku about autumn", "make it shorter", "So proud I could burst!", "exit code 0",
    "How do people get toddlers to wear mittens?", "把这封信翻译成德语", "怎么给茉莉换盆？", "好累啊，今天",
]  # fmt: skip


PERHAPS = {
    "How do I take my coffee?": "I take my coffee black, with one sugar.",
    "内存可用多少？": "内存可用 12.4G，剩下的是缓存。",
}
"""Questions that ask for something said before with a probability of .36 and .43."""


@pytest.fixture
async def local(made: Runtime, local_embedder: Embedder) -> Runtime:
    made = replace(made, embedder=local_embedder)
    for number, fact in enumerate(FACTS):
        await say(made, f"told {number}", [user(fact)])
    await drain(made)
    return made


async def recalled(made: Runtime, number: int, text: str) -> Sequence[str]:
    """Return what comes unasked with a message, which is stored first."""
    await say(made, f"c{number}", [user(text)])
    window = (await context(made, DEFAULT_TENANT, f"c{number}", ContextRequest(budget=4_000))).window
    return [placed.text for placed in window.body if placed.passing]


@pytest.mark.parametrize("how", ASKED)
async def test_what_was_told_in_other_words_is_found_and_comes_unasked(local: Runtime, how: str) -> None:
    question, fact = ASKED[how]
    assert fact in texts(await find(local, question, limit=3))
    assert fact in str(await recalled(local, 0, question))


WORDINGS = [
    "Which town has the bread shop of my wife's sibling?", "Where was it that my wife's brother bakes?",
    "In which city can I buy the loaves of my brother-in-law?", "Where's the family baker's shop?",
    "Remind me: my brother-in-law's bakery, where is it?", "What is the town of the bakery in our family?",
]  # fmt: skip


async def test_six_wordings_of_a_question_do_not_hide_the_fact(local: Runtime) -> None:
    for number, wording in enumerate(WORDINGS):
        await say(local, f"asked {number}", [user(wording)])
    await drain(local)
    question, fact = ASKED["in other words"]
    assert fact in texts(await find(local, question, limit=3))
    text = str(await recalled(local, 0, question))
    assert fact in text
    assert not any(wording in text for wording in WORDINGS)


async def test_what_does_not_ask_brings_nothing(local: Runtime) -> None:
    assert [await recalled(local, number, text) for number, text in enumerate(OFF_TOPIC)] == [[]] * len(OFF_TOPIC)


@pytest.mark.parametrize("question", PERHAPS)
async def test_a_question_that_may_ask_is_answered_by_its_words(local: Runtime, question: str) -> None:
    assert await recalled(local, 0, question) == []
    await say(local, "told", [user(PERHAPS[question])])
    await drain(local)
    [text] = await recalled(local, 1, question)
    assert PERHAPS[question] in text
    assert await recalled(local, 2, f"{PERHAPS[question]} Anything else?") == []


async def by_query(made: Runtime, text: str) -> tuple[str, int]:
    """Return a window whose `query` a message is, stored before; and the tokens that this brings in."""
    await say(made, text, [user(text)])
    window = (await context(made, DEFAULT_TENANT, text, ContextRequest(budget=4_000, query=text))).window
    return str(window.tail), window.ledger.tail


async def test_a_query_brings_in_as_much_as_its_evidence_is_worth(local: Runtime) -> None:
    text, size = await by_query(local, "Where does my brother-in-law run his bakery?")
    assert FACTS[0] in text
    others = [(await by_query(local, message))[1] for message in OFF_TOPIC]
    assert max(others) <= DOUBTFUL_TOKENS + TAIL_OVERHEAD < size


async def test_only_who_may_ask_is_told_that_vectors_lag(local: Runtime) -> None:
    for number in range(LAG_MAX + 1):
        await say(local, f"late {number}", [user(f"Crate {number} came with the noon ferry.")])
    asked, _ = await by_query(local, "What was the name of the vet that I told you about?")
    assert "behind by 12" in asked
    assert (await by_query(local, OFF_TOPIC[0]))[1] == 0

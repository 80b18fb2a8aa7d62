"""Where a message stands says what it is worth: after a question, or around better matches."""

import pytest

from app.runtime import Runtime
from app.text.questions import asks
from tests.api.kit import assistant, turn, user
from tests.search.kit import drain, find, say, texts

pytestmark = pytest.mark.anyio

ASKED = {
    "en": ("Which ferry goes to the island?", "The ferry to the island is painted.", "island ferry"),
    "zh": ("去小岛坐哪班渡轮？", "去小岛的渡轮刚刷了漆。", "小岛渡轮"),
}


async def talked(made: Runtime, language: str) -> str:
    """Say a question and a statement, each with a reply that has none of their words; return a query for both."""
    question, statement, query = ASKED[language]
    for text, reply in ((question, "The white one, at noon."), (statement, "The old paint had faded.")):
        await say(made, "c", [*turn(len(text), 3), user(text), assistant(reply), *turn(len(text), 3)])
    await drain(made)
    return query


async def scores(made: Runtime, query: str) -> dict[str, float]:
    return {one.text: one.score for one in (await find(made, query, limit=50)).hits}


@pytest.mark.parametrize("language", ASKED)
async def test_a_reply_is_found_by_the_question_before_it_and_not_by_a_statement(made: Runtime, language: str) -> None:
    found = await scores(made, await talked(made, language))
    assert found["The white one, at noon."] > found["The old paint had faded."] + 1


async def test_a_turn_without_a_word_of_the_query_is_found_by_the_words_around_it(made: Runtime) -> None:
    query = f"{await talked(made, 'en')} departure pier"
    reply = "The white one, at noon."
    found = await find(made, query, "keyword")
    assert reply in texts(found)[2:], "after those that have the words"
    assert found.total == len(found.hits)
    assert reply not in texts(await find(made, query, "keyword", keywords=("ferry",)))
    assert reply not in texts(await find(made, "island ferry", "keyword")), "those that have all the words are meant"


async def test_a_long_message_that_tells_and_asks_comes_before_the_reply_that_repeats_its_words(made: Runtime) -> None:
    told = (
        "We painted the island ferry on Tuesday with the blue paint from Harlow, two coats by four men, and the mate "
        "slipped and tore the ladder off its hooks, so it is out of service till Friday. How do I look after new paint?"
    )
    reply = "Keep what is on a ferry dry, and out of the sun for some weeks; paint likes shade. " * 2
    await say(made, "c", [*turn(1, 3), user(told), assistant(reply), *turn(2, 3)])
    await drain(made)
    found = await scores(made, "ferry paint")
    assert found[told] > max(score for text, score in found.items() if text != told)


async def test_a_match_near_a_better_one_comes_before_a_lone_one(made: Runtime) -> None:
    await say(made, "c", [user("Many boats came in."), assistant("And more.")])
    for number in range(12):
        await say(made, "c", turn(number, 3))
    await say(made, "c", [user("The harbour festival ended with fireworks and music."), assistant("How nice.")])
    await say(made, "c", [*turn(50, 3), user("Many boats went out."), assistant("And fewer.")])
    await drain(made)
    found = await scores(made, "harbour festival fireworks boats")
    assert found["Many boats went out."] > found["Many boats came in."] + 0.5
    assert found["answer 50 because because because "] < found["Many boats came in."], "it does not match by itself"


@pytest.mark.parametrize(
    ("text", "is_question"),
    [
        ("Where did you go?", True),
        ("I saw it. Did you?!", True),
        ("你去哪儿了？", True),
        ("你吃饭了吗", True),
        ("How was it", True),
        ("I wonder why.", False),
        ("我去了上海。", False),
        ("a?b:c", False),
        ("", False),
        ("?" * 100_000 + "a", False),
    ],
)
def test_a_question_is_known_by_its_end_or_its_first_word(text: str, is_question: bool) -> None:
    assert asks(text) == is_question

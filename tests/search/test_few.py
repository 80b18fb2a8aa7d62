"""A user with one to five memories: there is nothing to learn a model's spread from, so its usual one has to do."""

from dataclasses import replace

import pytest

from app.core.search.relevance import E5_MEAN, relevance
from app.postgres.tenants import DEFAULT_TENANT
from app.providers import Embedder
from app.runtime import Runtime
from app.services.conversations.call import ContextRequest
from app.services.conversations.context import context
from app.services.memory.searching import SearchOutcome
from tests.api.kit import user
from tests.by_turns import few
from tests.search.kit import Meanings, drain, find, say, texts

pytestmark = pytest.mark.anyio

SAID = [
    "Our car broke down near Lyon.", "We named the cat Mochi.", "The dentist is on Friday.",
    "I prefer green tea.", "The spare key is under the flowerpot.",
]  # fmt: skip
MODELS = [Meanings("bags", alike=0.3), Meanings("bags-e5", alike=E5_MEAN)]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.model)
@pytest.mark.parametrize("count", range(1, 6))
async def test_the_right_one_is_relevant_and_the_others_are_not(made: Runtime, model: Meanings, count: int) -> None:
    made = replace(made, embedder=model)
    for number, text in enumerate(SAID[:count]):
        await say(made, f"c{number}", [user(text)])
    await drain(made)
    for mode in ("semantic", "hybrid"):
        found = await find(made, "automobile broke down near Lyon", mode)
        assert texts(found)[0] == SAID[0]
        right, *others = relevances(found)
        assert right > 0.1
        assert all(other < 0.05 for other in others), others
        nothing = relevances(await find(made, "quarterly submarine taxation", mode))
        assert all(score < 0.25 for score in nothing), nothing


TINY = {
    "en": ["I bought a bicycle in Ghent.", "My sister plays the viola.", "Our kitchen tap drips at night."],
    "zh": ["我在根特买了一辆自行车。", "我妹妹会拉中提琴。", "我家厨房的水龙头晚上漏水。"],
}
TASKS = {
    "en": ["Summarize this PDF", "Translate this letter into German", "Write a haiku about autumn"],
    "zh": ["总结这个PDF", "把这封信翻译成德语", "写一首关于秋天的诗"],
}
ASKED = {"en": "Which instrument does my sister play?", "zh": "我妹妹会什么乐器?"}


@pytest.mark.parametrize("language", few(["en", "zh"]))
async def test_three_tiny_conversations_answer_no_task(made: Runtime, local_embedder: Embedder, language: str) -> None:
    """What is close in meaning to nothing that was said is brought into no window, however little was said."""
    made = replace(made, embedder=local_embedder)
    for number, text in enumerate(TINY[language]):
        await say(made, f"c{number}", [user(text)])
    await say(made, "here", [user("Hello.")])
    await drain(made)
    for task in TASKS[language]:
        assert not await recalled(made, task)
    assert await recalled(made, ASKED[language])


async def recalled(made: Runtime, query: str) -> bool:
    """Whether a query brings anything into the window of a conversation in which nothing else was said."""
    found = await context(made, DEFAULT_TENANT, "here", ContextRequest(budget=8000, query=query))
    return bool(found.window.tail)


def relevances(found: SearchOutcome) -> list[float]:
    return [relevance(hit.score) for hit in found.hits]

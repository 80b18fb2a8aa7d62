"""A user with one to five memories: there is nothing to learn a model's spread from, so its usual one has to do."""

from dataclasses import replace

import pytest

from app.core.search.relevance import E5_MEAN, relevance
from app.runtime import Runtime
from app.services.memory.searching import Found
from tests.api.kit import user
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
        assert right > 0.3
        assert all(other < 0.05 for other in others), others
        nothing = relevances(await find(made, "quarterly submarine taxation", mode))
        assert all(score < 0.25 for score in nothing), nothing


def relevances(found: Found) -> list[float]:
    return [relevance(hit.score) for hit in found.hits]

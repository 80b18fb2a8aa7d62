"""The conversations that ship with the benchmark, with the local model where it is installed."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

import pytest

from app.providers import Embedder
from app.runtime import Runtime
from app.services.memory import querying
from bench.search import talks
from bench.search.talks import Question
from tests.search.kit import drain, find, say

pytestmark = pytest.mark.anyio

MODES: Sequence[querying.Mode] = ("keyword", "semantic", "hybrid")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_question_of_a_shipped_conversation_names_its_evidence(language: str) -> None:
    shipped = talks.shipped(language)
    [talk] = shipped.talks
    assert len(talk.messages) >= 120
    assert len(shipped.questions) >= 40
    assert len({question.category for question in shipped.questions}) == 5
    for question in shipped.questions:
        assert question.evidence <= set(range(1, len(talk.messages) + 1))


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "zh"])
async def test_hybrid_search_is_no_worse_than_its_parts(made: Runtime, local_embedder: Embedder, language: str) -> None:
    with_model = replace(made, embedder=local_embedder)
    shipped = talks.shipped(language)
    [talk] = shipped.talks
    await say(with_model, talk.id, talk.messages, user=talk.id)
    await drain(with_model)
    recalls: dict[str, list[float]] = defaultdict(list)
    for question in shipped.questions:
        for mode in MODES:
            recalls[mode].append(await recall(with_model, question, mode))
    found = {mode: 100 * fmean(values) for mode, values in recalls.items()}
    one_question = 100 / len(shipped.questions)
    assert found["hybrid"] >= max(found.values()) - one_question - 0.1, found
    assert found["hybrid"] >= 75, found
    assert await shown(with_model, talk.id, "small talk") <= 0.15
    assert await shown(with_model, talk.id, f"other topic, {language}") <= 0.35


async def shown(made: Runtime, user_id: str, kind: str) -> float:
    """The part of the queries of a kind, none of which is answered, that find something without a doubt."""
    queries = [query for query in talks.unasked() if query.kind.startswith(kind)]
    assert len(queries) >= 40
    found = [await find(made, query.text, user_id=user_id, limit=10) for query in queries]
    return fmean(any(not hit.is_doubtful for hit in one.hits) for one in found)


async def recall(made: Runtime, question: Question, mode: querying.Mode) -> float:
    """The part of the evidence among the first ten."""
    found = await find(made, question.text, mode, user_id=question.talk, limit=10)
    return len(question.evidence & {hit.hit.seq for hit in found.hits}) / len(question.evidence)

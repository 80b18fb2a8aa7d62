"""What a reranker's API can answer, each through the real client, against a server on loopback."""

import math
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.providers import RefusedCaller, TemporaryError, UnusableReply
from app.providers.breaker import Open
from app.providers.build import reranker_of
from app.providers.model_api import ModelApi
from app.providers.reranker import ANSWER_BYTES_MAX, ApiReranker, ranks_of
from tests.providers import fake_openai as fake
from tests.providers.conftest import KEY, Time
from tests.providers.fake_openai import Behaviour, FakeOpenAI

pytestmark = pytest.mark.anyio

DOCUMENTS = ["a cake with cherries", "the deploy failed on Friday", "部署在星期五失败了"]


@pytest.fixture
async def reranker(api: FakeOpenAI, time: Time) -> AsyncIterator[ApiReranker]:
    made = ApiReranker(model="fake", api=ModelApi(api.url, KEY), clock=time.clock())
    yield made
    await made.close()


async def test_documents_are_ranked_by_their_scores(reranker: ApiReranker, api: FakeOpenAI) -> None:
    assert (await reranker.rank("when did the deploy fail", DOCUMENTS))[0] == 1
    [request] = api.rerank.requests
    assert request.body == {"model": "fake", "query": "when did the deploy fail", "documents": DOCUMENTS}
    assert request.headers["authorization"] == f"Bearer {KEY}"
    api.rerank.default = fake.scored(-3.5, 0.2, 7)
    assert await reranker.rank("x", DOCUMENTS) == [2, 1, 0]


async def test_other_names_for_the_same_are_understood(reranker: ApiReranker, api: FakeOpenAI) -> None:
    data = [{"index": index, "score": score} for index, score in enumerate((0.1, 0.3, 0.2))]
    api.rerank.default = Behaviour(edit=lambda _: {"data": data})
    assert await reranker.rank("x", DOCUMENTS) == [1, 2, 0]


@pytest.mark.parametrize(
    "fault",
    [
        fake.scored(0.1, 0.2),
        fake.scored(0.1, 0.2, 0.3, 0.4),
        fake.scored(0.1, math.nan, 0.3),
        fake.scored(0.1, math.inf, 0.3),
        fake.scored(0.1, 10**400, 0.3),
        fake.scored(0.1, "0.2", 0.3),
        fake.scored(0.1, None, 0.3),
        fake.scored(True, 0.2, 0.3),
        Behaviour(edit=lambda answer: {"results": [answer["results"][0]] * 3}),
        Behaviour(edit=lambda _: {"results": [{"index": place, "score": 1} for place in (1, 2, 3)]}),
        Behaviour(edit=lambda _: {"results": [{"index": 0.0, "score": 1}] * 3}),
        Behaviour(edit=lambda _: {"results": ["best", "good", "bad"]}),
        Behaviour(edit=lambda _: {"results": {"0": 1}}),
        Behaviour(edit=lambda _: {"object": "list"}),
        fake.huge(2 * ANSWER_BYTES_MAX),
        fake.compressed(),
        fake.error_in_200(),
    ],
)
async def test_a_wrong_answer_is_unusable(reranker: ApiReranker, api: FakeOpenAI, fault: Behaviour) -> None:
    api.rerank.default = fault
    with pytest.raises(UnusableReply):
        await reranker.rank("x", DOCUMENTS)


@pytest.mark.parametrize(
    "fault",
    [fake.html(), fake.html(502), fake.truncated(), fake.empty_body(), fake.reset(), fake.cut(), fake.rate_limited()],
)
async def test_a_provider_that_fails_is_soon_left_alone(
    reranker: ApiReranker, api: FakeOpenAI, fault: Behaviour
) -> None:
    api.rerank.default = fault
    for _ in range(5):
        with pytest.raises(TemporaryError) as caught:
            await reranker.rank("x", DOCUMENTS)
        assert KEY not in str(caught.value)
    assert isinstance(reranker.state, Open)


async def test_a_rejected_key_is_the_callers_fault(reranker: ApiReranker, api: FakeOpenAI) -> None:
    api.rerank.default = fake.status(401, code="invalid_api_key")
    with pytest.raises(RefusedCaller):
        await reranker.rank("x", DOCUMENTS)


async def test_the_chats_key_goes_to_the_chats_address_only(api: FakeOpenAI) -> None:
    chat = ModelApi(api.url, "chat-key")
    for own, sent in (
        (ModelApi(), "Bearer chat-key"), (ModelApi(key="own"), "Bearer own"), (ModelApi(api.url), "Bearer none"),
    ):  # fmt: skip
        made = reranker_of(model="fake", api=own, chat_api=chat)
        assert made is not None
        await made.rank("x", DOCUMENTS)
        await made.close()
        assert api.rerank.requests[-1].headers["authorization"] == sent
    assert reranker_of(model=None, api=ModelApi(), chat_api=chat) is None
    with pytest.raises(ValueError, match="MEMORY_RERANK_BASE_URL"):
        reranker_of(model="fake", api=ModelApi(key="own"), chat_api=replace(chat, base_url=None))


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=60))
def test_ranks_are_a_permutation_in_descending_order_of_scores(scores: list[float]) -> None:
    ranks = ranks_of({"results": [{"index": i, "relevance_score": s} for i, s in enumerate(scores)]}, len(scores))
    assert sorted(ranks) == list(range(len(scores)))
    assert [scores[rank] for rank in ranks] == sorted(scores, reverse=True)

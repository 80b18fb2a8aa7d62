"""What an embedding model's provider can do wrong, each through the real client, against a server on loopback."""

import math
from itertools import pairwise

import pytest

from app.providers import ProviderError, RefusedCaller, RefusedInput, TemporaryError, UnusableReply, Vector
from app.providers.openai_embeddings import OpenAIEmbedder
from tests.providers import fake_openai as fake
from tests.providers.conftest import MakeEmbedder, Time
from tests.providers.fake_openai import DIMENSIONS, Behaviour, FakeOpenAI

pytestmark = pytest.mark.anyio

TEXTS = ["the deploy failed on Friday", "部署在星期五失败了", "a cake with cherries"]


def cosine(one: Vector, other: Vector) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


async def test_texts_become_unit_vectors_in_their_order(embedder: OpenAIEmbedder) -> None:
    vectors = await embedder.embed_passages(TEXTS)
    for text, vector in zip(TEXTS, vectors, strict=True):
        assert vector == pytest.approx(fake.embedding(text), abs=1e-6)
        assert cosine(vector, vector) == pytest.approx(1)
    query = await embedder.embed_query("when did the deploy fail")
    assert cosine(query, vectors[0]) > cosine(query, vectors[2])


async def test_the_index_says_which_vector_is_whose(embedder: OpenAIEmbedder, api: FakeOpenAI) -> None:
    expected = await embedder.embed_passages(TEXTS)
    api.embeddings.default = fake.shuffled()
    assert await embedder.embed_passages(TEXTS) == expected
    drop_index = Behaviour(
        edit=lambda answer: {**answer, "data": [{"embedding": item["embedding"]} for item in answer["data"]]}
    )
    api.embeddings.default = drop_index
    assert await embedder.embed_passages(TEXTS) == expected


async def test_floats_and_base64_are_both_accepted(embedder: OpenAIEmbedder, api: FakeOpenAI) -> None:
    expected = await embedder.embed_passages(TEXTS)
    api.embeddings.queue.append(fake.refuses_parameter("encoding_format"))
    for _ in range(2):
        for vector, same in zip(await embedder.embed_passages(TEXTS), expected, strict=True):
            assert vector == pytest.approx(same, abs=1e-6)
    sent = ["encoding_format" in request.body for request in api.embeddings.requests]
    assert sent == [True, True, False, False]


async def test_dimensions_are_learned_from_the_first_answer(embedder: OpenAIEmbedder, api: FakeOpenAI) -> None:
    assert embedder.dimensions == 0
    await embedder.embed_passages(TEXTS)
    assert embedder.dimensions == DIMENSIONS
    assert "dimensions" not in api.embeddings.requests[0].body
    api.embeddings.default = fake.wrong_dimension()
    with pytest.raises(UnusableReply, match=f"7 dimensions instead of {DIMENSIONS}"):
        await embedder.embed_passages(TEXTS)
    assert embedder.dimensions == DIMENSIONS


async def test_configured_dimensions_are_requested(make_embedder: MakeEmbedder, api: FakeOpenAI) -> None:
    embedder = make_embedder(dimensions=32)
    assert embedder.dimensions == 32
    [vector] = await embedder.embed_passages(["a"])
    assert len(vector) == 32
    assert api.embeddings.requests[0].body["dimensions"] == 32


async def test_a_fixed_width_model_gets_no_dimensions_parameter(make_embedder: MakeEmbedder, api: FakeOpenAI) -> None:
    api.embeddings.queue.append(fake.refuses_parameter("dimensions"))
    assert len(await make_embedder(dimensions=DIMENSIONS).embed_query("a")) == DIMENSIONS
    assert "dimensions" not in api.embeddings.requests[-1].body
    api.embeddings.queue.append(fake.refuses_parameter("dimensions"))
    with pytest.raises(UnusableReply, match=f"{DIMENSIONS} dimensions instead of 32"):
        await make_embedder(dimensions=32).embed_query("a")


async def test_reduction_of_wide_vectors_preserves_distances(make_embedder: MakeEmbedder) -> None:
    embedder = make_embedder(dimensions=3072)
    assert embedder.dimensions == 1024
    vectors = await embedder.embed_passages([*TEXTS, "the deploy failed on Monday"])
    for vector in vectors:
        assert len(vector) == 1024
        assert cosine(vector, vector) == pytest.approx(1)
    assert cosine(vectors[0], vectors[3]) == pytest.approx(0.8, abs=0.15)
    assert cosine(vectors[0], vectors[2]) == pytest.approx(0, abs=0.15)


async def test_oversized_batches_and_blank_texts_are_never_sent(make_embedder: MakeEmbedder, api: FakeOpenAI) -> None:
    embedder = make_embedder(batch=2)
    for texts in [["a"] * 3, ["a", ""], [" \n\u3000"]]:
        with pytest.raises(ValueError, match=r"batch|without a word"):
            await embedder.embed_passages(texts)
    assert await embedder.embed_passages([]) == []
    assert api.embeddings.requests == []


async def test_a_lone_surrogate_is_embedded_as_its_replacement(embedder: OpenAIEmbedder, api: FakeOpenAI) -> None:
    await embedder.embed_query("a\ud800b")
    assert api.embeddings.requests[0].body["input"] == ["a\ufffdb"]


async def test_the_whole_batch_of_the_widest_vectors_is_read_and_no_more(
    make_embedder: MakeEmbedder, api: FakeOpenAI
) -> None:
    embedder = make_embedder(batch=2, dimensions=1536)
    api.embeddings.queue.append(fake.refuses_parameter("encoding_format"))
    assert len(await embedder.embed_passages(["a", "b"])) == 2
    api.embeddings.default = fake.huge(2 * 1536 * 32 + 65_537)
    with pytest.raises(UnusableReply, match="larger"):
        await embedder.embed_passages(["a", "b"])


@pytest.mark.parametrize("encoding", ["base64", "float"])
@pytest.mark.parametrize(
    "behaviour",
    [
        fake.nan_vectors(),
        fake.infinite_vectors(),
        fake.zero_vectors(),
        fake.odd_dimension(),
        fake.too_few(),
        Behaviour(edit=lambda answer: {**answer, "data": [*answer["data"], answer["data"][0]]}),
        Behaviour(edit=lambda answer: {**answer, "data": [answer["data"][0]] * 3}),
        Behaviour(edit=lambda _: {"data": None}),
        Behaviour(edit=lambda _: {}),
        Behaviour(edit=lambda answer: {**answer, "data": [{**item, "embedding": []} for item in answer["data"]]}),
    ],
)
async def test_malformed_vectors_are_rejected(
    behaviour: Behaviour, encoding: str, embedder: OpenAIEmbedder, api: FakeOpenAI
) -> None:
    if encoding == "float":
        api.embeddings.queue.append(fake.refuses_parameter("encoding_format"))
    await embedder.embed_passages(TEXTS)
    api.embeddings.default = behaviour
    with pytest.raises(UnusableReply):
        await embedder.embed_passages(TEXTS)


@pytest.mark.parametrize("vector", [["1", "2"], [None, 1], [True, False], {"0": 1}, 7, "!", "AAA", [10**400]])
async def test_non_numeric_vectors_are_rejected(vector: object, make_embedder: MakeEmbedder, api: FakeOpenAI) -> None:
    api.embeddings.queue.append(fake.refuses_parameter("encoding_format"))
    api.embeddings.default = Behaviour(edit=lambda _: {"data": [{"index": 0, "embedding": vector}]})
    with pytest.raises(UnusableReply):
        await make_embedder().embed_query("a")


@pytest.mark.parametrize(
    ("behaviour", "error", "times"),
    [
        (fake.status(401), RefusedCaller, 1),
        (fake.status(404), RefusedCaller, 1),
        (fake.status(400), RefusedInput, 1),
        (fake.status(413), RefusedInput, 1),
        (fake.error_in_200(), UnusableReply, 1),
        (fake.rate_limited("86400"), TemporaryError, 1),
        (fake.status(500), TemporaryError, 3),
        (fake.reset(), TemporaryError, 3),
        (fake.reset_within(), TemporaryError, 3),
        (fake.truncated(), TemporaryError, 3),
        (fake.html(), TemporaryError, 3),
    ],
)
async def test_embedding_errors_equal_chat_errors(
    behaviour: Behaviour, error: type[ProviderError], times: int, embedder: OpenAIEmbedder, api: FakeOpenAI, time: Time
) -> None:
    api.embeddings.default = behaviour
    with pytest.raises(error):
        await embedder.embed_query("a")
    assert len(api.embeddings.requests) == times
    assert all(earlier < later for earlier, later in pairwise(time.slept))


async def test_tiny_and_enormous_numbers_have_a_direction(embedder: OpenAIEmbedder, api: FakeOpenAI) -> None:
    api.embeddings.queue.append(fake.refuses_parameter("encoding_format"))
    for number in (1e-300, 1e300):
        api.embeddings.queue.append(
            Behaviour(edit=lambda _, x=number: {"data": [{"index": 0, "embedding": [x, x]}]})  # type: ignore[misc]
        )
        assert await embedder.embed_query("a") == pytest.approx([math.sqrt(0.5)] * 2)

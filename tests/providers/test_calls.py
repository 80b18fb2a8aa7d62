"""How many calls at once, when a provider is left alone, and what a call leaves behind."""

import asyncio
import gc
import logging
import traceback
from dataclasses import replace

import pytest

from app.providers import ProviderError, RefusedInput, TemporaryError
from app.providers.breaker import BreakerPolicy, Closed, HalfOpen, Open, State
from app.providers.calls import GIVEN_UP_SECONDS, Clock
from app.providers.openai_chat import OpenAIChat
from app.providers.openai_embeddings import OpenAIEmbedder
from tests.providers import fake_openai as fake
from tests.providers.conftest import KEY, MakeChat, MakeEmbedder, Time
from tests.providers.fake_openai import Behaviour, FakeOpenAI

pytestmark = pytest.mark.anyio

ASKED = [{"role": "user", "content": "the private words"}]


async def say(chat: OpenAIChat) -> str:
    return (await chat.complete(ASKED, max_tokens=10)).text


def state(chat: OpenAIChat) -> State:
    return chat.state


async def test_no_more_calls_at_once_than_allowed(make_chat: MakeChat, api: FakeOpenAI) -> None:
    chat = make_chat(concurrency=3)
    api.chat.default = fake.held()
    calls = [asyncio.create_task(say(chat)) for _ in range(10)]
    await asyncio.to_thread(api.wait_until, lambda: api.chat.running == 3)
    api.release()
    assert len(await asyncio.gather(*calls)) == 10
    assert api.chat.running_max == 3
    assert api.connections_made <= 3


async def test_waiting_too_long_for_a_slot_fails_without_tripping_the_breaker(
    make_chat: MakeChat, api: FakeOpenAI, time: Time
) -> None:
    pausing, awake = asyncio.Event(), asyncio.Event()

    async def sleep(_: float) -> None:
        pausing.set()
        await awake.wait()

    chat = make_chat(concurrency=1, timeout_seconds=0.2, clock=replace(time.clock(), sleep=sleep, chance=lambda: 0))
    api.chat.queue.append(fake.status(500))
    first = asyncio.create_task(say(chat))
    await pausing.wait()
    with pytest.raises(TemporaryError, match="under way"):
        await say(chat)
    assert state(chat) == Closed(1)
    assert len(api.chat.requests) == 1
    awake.set()
    await first


@pytest.mark.parametrize(("waited", "state_after"), [(0.0, Closed), (GIVEN_UP_SECONDS, Open)])
async def test_a_call_that_was_given_up_after_long_has_failed(
    make_chat: MakeChat, api: FakeOpenAI, time: Time, waited: float, state_after: type[State]
) -> None:
    """So that those who search do not each wait for an embedding model that hangs."""
    chat = make_chat(policy=BreakerPolicy(failures=1))
    api.chat.queue.append(fake.hang())
    call = asyncio.create_task(say(chat))
    await asyncio.to_thread(api.wait_until, lambda: api.chat.running == 1)
    time.now += waited
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert isinstance(state(chat), state_after)


async def test_a_cancelled_call_frees_its_place(make_chat: MakeChat, api: FakeOpenAI) -> None:
    chat = make_chat(concurrency=1)
    api.chat.queue.append(fake.hang())
    call = asyncio.create_task(say(chat))
    await asyncio.to_thread(api.wait_until, lambda: api.chat.running == 1)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert await say(chat)


async def test_a_provider_that_is_down_is_left_alone_probed_once_and_used_again(
    make_chat: MakeChat, api: FakeOpenAI, time: Time
) -> None:
    chat = make_chat(policy=BreakerPolicy(failures=4, open_seconds=30))
    api.chat.default = fake.status(503)
    for _ in range(2):
        with pytest.raises(TemporaryError):
            await say(chat)
    assert len(api.chat.requests) == 4, "three tries of the first call; the second one ends with the fourth failure"
    assert state(chat) == Open(time.now + 30)

    time.now += 20
    with pytest.raises(TemporaryError) as caught:
        await say(chat)
    assert caught.value.retry_after == 10
    assert len(api.chat.requests) == 4

    time.now += 10
    with pytest.raises(TemporaryError):
        await say(chat)
    assert len(api.chat.requests) == 5, "one probe, and no second try of it"
    assert state(chat) == Open(time.now + 30)

    time.now += 30
    api.chat.default = fake.held()
    probe = asyncio.create_task(say(chat))
    await asyncio.to_thread(api.wait_until, lambda: api.chat.running == 1)
    assert state(chat) == HalfOpen()
    with pytest.raises(TemporaryError):
        await say(chat)
    api.release()
    await probe
    assert state(chat) == Closed()
    assert len(api.chat.requests) == 6


async def test_a_cancelled_probe_leaves_the_way_to_another(make_chat: MakeChat, api: FakeOpenAI, time: Time) -> None:
    chat = make_chat(policy=BreakerPolicy(failures=1, open_seconds=30))
    api.chat.queue.extend([fake.status(500), fake.hang()])
    with pytest.raises(TemporaryError):
        await say(chat)
    time.now += 30
    probe = asyncio.create_task(say(chat))
    await asyncio.to_thread(api.wait_until, lambda: api.chat.running == 1)
    probe.cancel()
    with pytest.raises(asyncio.CancelledError):
        await probe
    assert await say(chat)
    assert state(chat) == Closed()


async def test_refusals_count_as_signs_of_life(make_chat: MakeChat, api: FakeOpenAI) -> None:
    chat = make_chat(policy=BreakerPolicy(failures=3))
    api.chat.default = fake.status(400)
    api.chat.queue.extend([fake.status(500), fake.status(500)])
    with pytest.raises(RefusedInput):
        await say(chat)
    assert state(chat) == Closed()


TELLTALE = f"Incorrect API key provided: {KEY}. You said: the private words"
TELLTALES = [
    fake.status(401, message=TELLTALE, code=KEY, type=f"x{KEY}", param=TELLTALE),
    fake.status(400, message=TELLTALE, code=TELLTALE),
    fake.status(500, message=TELLTALE),
    fake.rate_limited("60", message=TELLTALE),
    Behaviour(edit=lambda _: {"error": {"message": TELLTALE, "code": KEY}}),
    Behaviour(edit=lambda _: {"error": TELLTALE}),
    Behaviour(body=lambda _: TELLTALE.encode()),
    fake.reset(),
    fake.huge(),
    fake.no_choices(),
    fake.ok("fine"),
]


@pytest.mark.parametrize("behaviour", TELLTALES)
async def test_neither_key_nor_content_is_in_an_error_a_log_or_a_repr(
    behaviour: Behaviour,
    make_chat: MakeChat,
    make_embedder: MakeEmbedder,
    api: FakeOpenAI,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    api.chat.default = api.embeddings.default = behaviour
    chat, embedder = make_chat(), make_embedder()
    calls = say(chat), embedder.embed_query("the private words")
    errors = [error for error in await asyncio.gather(*calls, return_exceptions=True) if isinstance(error, Exception)]
    assert all(isinstance(error, ProviderError) for error in errors)
    links = [link for error in errors for link in chain(error)]
    assert not any(type(link).__module__.startswith(("openai", "httpx")) for link in links)
    seen = [repr(chat), repr(embedder), *(str(vars(link)) + repr(link) for link in links)]
    seen += ["".join(traceback.format_exception(error)) for error in errors]
    seen += [record.getMessage() for record in caplog.records]
    for text in seen:
        assert KEY not in text
        assert "the private words" not in text.replace('embed_query("the private words")', "")


def chain(error: BaseException | None) -> list[BaseException]:
    """The error, its cause, the cause's cause ..."""
    return [] if error is None else [error, *chain(error.__cause__ or error.__context__)]


@pytest.mark.parametrize(
    "behaviour", [fake.ok(), fake.reset_within(), fake.huge(), fake.huge_error(), fake.status(401), fake.hang()]
)
async def test_nothing_stays_open(
    behaviour: Behaviour, make_chat: MakeChat, make_embedder: MakeEmbedder, api: FakeOpenAI
) -> None:
    api.chat.default = api.embeddings.default = behaviour
    chat = make_chat(timeout_seconds=0.3, clock=Clock())
    embedder = make_embedder(timeout_seconds=0.3, clock=Clock())
    await asyncio.gather(say(chat), say(chat), embedder.embed_query("a"), return_exceptions=True)
    await close_both(chat, embedder)
    await asyncio.to_thread(api.wait_until, lambda: api.connections == 0)
    gc.collect()  # an unclosed socket would warn, and warnings are errors


async def close_both(chat: OpenAIChat, embedder: OpenAIEmbedder) -> None:
    await chat.close()
    await embedder.close()
    await chat.close()  # again, as shutting down may

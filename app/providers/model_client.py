"""The base of clients that ask models for background work: one API, its calls and its connections."""

from app.providers.breaker import BreakerPolicy, State
from app.providers.calls import Clock, ProviderCalls
from app.providers.model_api import ModelApi
from app.providers.wire import Wire


class ModelClient:
    """Made and closed in the event loop that uses it. See `ProviderCalls` for the times."""

    def __init__(
        self,
        *,
        model: str,
        api: ModelApi,
        answer_bytes_max: int,
        policy: BreakerPolicy = BreakerPolicy(),  # noqa: B008 - a frozen value
        clock: Clock = Clock(),  # noqa: B008 - a frozen value
    ) -> None:
        self.model = model
        self._calls = ProviderCalls(
            timeout_seconds=api.timeout_seconds, concurrency=api.concurrency, policy=policy, clock=clock
        )
        self._wire = Wire(
            base_url=api.url, api_key=api.key, answer_bytes_max=answer_bytes_max, timeout_seconds=api.timeout_seconds,
            connections=api.concurrency, epoch=clock.epoch,
        )  # fmt: skip

    @property
    def state(self) -> State:
        return self._calls.state

    async def close(self) -> None:
        await self._wire.close()

"""Rules of a deployment, which the composition roots build from the settings and hand down."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from app.core.dialects.usage import Prices
from app.core.edge.caller import Caller
from app.core.messages import ID_MAX
from app.core.setting import Variable, setting
from app.core.window.budget import BUDGET_MAX

DEFAULT_USER = "default"


@dataclass(frozen=True, slots=True)
class Access:
    host: str = "127.0.0.1"
    """The address that the service listens on."""
    hosts: str = setting(
        Variable("quire_hosts", ""),
        "Comma-separated host names that clients use, in addition to loopback names, addresses and QUIRE_HOST. "
        "Others are refused while no keys are required; /mcp refuses other origins. `*`: any.",
    )
    requires_keys: bool = setting(
        Variable("quire_require_keys", False), "Require an API key even before the first key exists."
    )
    allows_unauthenticated: bool = setting(
        Variable("quire_allow_unauthenticated", False), "Allow listening on a non-loopback address without keys."
    )
    requests_per_minute: int = setting(
        Variable("quire_rate_limit_per_minute", 0, ge=0, le=1_000_000),
        "Requests per minute of one key, unless it has a limit of its own. 0: unlimited.",
    )
    refusals_per_minute: int = setting(
        Variable("quire_refusals_per_minute", 600, ge=0, le=1_000_000),
        "Requests per minute without a valid key, per client address and process; beyond it 429. 0: unlimited.",
    )
    named_default_user: str | None = setting(
        Variable("quire_default_user", None, length=(1, ID_MAX)),
        "User of proxy requests and hooks that name none. Unset: `default` while no API keys exist and only this "
        "machine has access, else none. An application that serves several people must name them.",
    )

    private_webhooks: bool = setting(
        Variable("quire_webhook_private_addresses", False),
        "Allow webhooks to loopback, link-local and private addresses.",
    )

    def default_user(self, caller: Caller) -> str | None:
        """Return the user of a caller's requests that name no user.

        Without keys, Quire serves one person's machine, so memory across conversations needs nothing but a base URL.
        Callers with a key can speak for many people, whose memories must not meet.
        """
        if self.named_default_user is not None:
            return self.named_default_user
        return DEFAULT_USER if caller.key is None and not self.allows_unauthenticated else None


@dataclass(frozen=True, slots=True)
class Retention:
    """Limits on how long data is kept; 0: for ever."""

    messages_max: int = setting(
        Variable("memory_max_messages_per_thread", 0, ge=0),
        "Messages that a conversation keeps; older ones are pruned once searchable. 0: all.",
    )
    conversation_days: int = setting(
        Variable("memory_conversation_ttl_days", 0, ge=0, le=36_500),
        "Days without activity after which a conversation is erased. 0: never.",
    )
    archive_days: int = setting(
        Variable("memory_archive_ttl_days", 0, ge=0, le=36_500),
        "Days after which an archived tool result is erased. 0: never.",
    )

    def archive_expiry(self, now: datetime) -> datetime | None:
        """Return when a result archived now expires; None for never."""
        return now + timedelta(days=self.archive_days) if self.archive_days else None


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


@dataclass(frozen=True, slots=True)
class Proxying:
    model: str | None = setting(
        Variable("quire_proxy_model", None), "Model for proxy requests that name none. Unset: MEMORY_LLM_MODEL."
    )
    models: tuple[str, ...] = setting(
        Variable("quire_proxy_models", "", read=_names),
        "Comma-separated models that proxy clients can use. Empty: all.",
    )
    passes_keys: bool = setting(
        Variable("quire_proxy_client_keys", False),
        "Send the client's own key on in pass-through mode; Quire's then comes as X-Quire-Key.",
    )
    budget: int = setting(
        Variable("quire_proxy_budget", 0, ge=0, le=BUDGET_MAX),
        "Window budget of the proxy, in tokens, if neither the request nor its conversation sets one. 0: "
        "inferred from the model.",
    )
    rounds: int = setting(
        Variable("quire_proxy_rounds", 4, ge=0, le=20), "Maximum rounds of recall for one proxied answer."
    )
    seconds: float = setting(
        Variable("quire_proxy_seconds", 600, ge=1, le=86_400),
        "Maximum seconds for a proxied answer, with all its rounds.",
    )
    ping_seconds: float = setting(
        Variable("quire_proxy_ping_seconds", 10, ge=0.05, le=600), "Seconds after which a silent stream is pinged."
    )
    concurrency: int = setting(
        Variable("quire_proxy_concurrency", 64, ge=1, le=10_000),
        "Concurrent proxied answers of a process; beyond it 503.",
    )
    prices: Prices = setting(
        Variable("quire_proxy_prices", "", read=Prices.read),
        'Dollars for a million tokens, by model, to show costs: JSON such as `{"gpt-5": {"input": 1.25, '
        '"cached_input": 0.125, "output": 10}, "*": {"input": 1, "output": 4}}`. A name covers all models that '
        "begin with it.",
    )


def embedding_slots(cores: int) -> int:
    """Return the default number of texts embedded at once: half of the cores, at most 4."""
    return max(1, min(4, cores // 2))


@dataclass(frozen=True, slots=True)
class Working:
    llm_jobs: int = setting(
        Variable("quire_worker_llm_jobs", 4, ge=1, le=100), "Concurrent LLM jobs (indexing, summaries) of a worker."
    )
    embedding_jobs: int = setting(
        Variable("quire_worker_embedding_jobs", 0, ge=0, le=100),
        "Concurrent embedding jobs of a worker. 0: one for every two cores, 1 to 4.",
    )
    tenant_jobs: int = setting(
        Variable("quire_worker_tenant_jobs", 0, ge=0, le=100),
        "Concurrent jobs of one tenant in a worker's lane. 0: all but one of the lane's slots if there are "
        "several tenants.",
    )
    lease_seconds: float = setting(
        Variable("quire_worker_lease_seconds", 45.0, ge=1, le=3600),
        "Seconds without a sign of life after which other workers take a worker's jobs.",
    )

"""Rules of a deployment: values that the composition root builds from the settings and hands down."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal

from app.core.dialects.usage import Prices
from app.core.edge.caller import Caller

DEFAULT_USER = "default"


@dataclass(frozen=True, slots=True)
class Access:
    """Rules of access: callers, hosts and rates."""

    host: str = "127.0.0.1"
    """The address that the service listens on."""
    hosts: str = ""
    """Comma-separated host names that clients use besides."""
    requires_keys: bool = False
    """Even before the first key exists."""
    allows_unauthenticated: bool = False
    """On an address that other machines reach."""
    requests_per_minute: int = 0
    """Of a key; 0: unlimited."""
    refusals_per_minute: int = 600
    """Without a valid key, of an address; 0: unlimited."""
    named_default_user: str | None = None
    """The user of proxy requests and hooks that name none; None: DEFAULT_USER where callers need no key."""

    def default_user(self, caller: Caller) -> str | None:
        """Return the user of a caller's requests that name none.

        Without keys, Quire serves one person's machine, so memory across conversations needs nothing but a base URL.
        Callers with a key can speak for many people, whose memories must not meet.
        """
        if self.named_default_user is not None:
            return self.named_default_user
        return DEFAULT_USER if caller.key is None and not self.allows_unauthenticated else None


@dataclass(frozen=True, slots=True)
class Retention:
    """Limits on what is kept; 0: for ever."""

    messages_max: int = 0
    """Messages that a conversation keeps; older ones are pruned."""
    conversation_days: int = 0
    """Days without activity."""
    archive_days: int = 0

    def archive_expiry(self, now: datetime) -> datetime | None:
        """Return when a result that is archived now expires; None for never."""
        return now + timedelta(days=self.archive_days) if self.archive_days else None


@dataclass(frozen=True, slots=True)
class Proxying:
    """Rules of the proxy: models, recall and limits."""

    model: str | None = None
    """For requests that name none."""
    models: tuple[str, ...] = ()
    """The only models that clients can use; empty: all."""
    passes_keys: bool = False
    """Requests that are passed through keep the client's own key."""
    budget: int = 0
    """Tokens of a window for which neither the request nor its conversation sets a budget; 0: by the model."""
    recall: Literal["auto", "off"] = "auto"
    recall_tokens_max: int = 800
    rounds: int = 4
    """Rounds of recall for one answer."""
    seconds: float = 600
    """For an answer with all its rounds."""
    concurrency: int = 64
    """Answers in progress at once."""
    prices: Prices = field(default_factory=Prices)

    def recall_of(self, requested: Literal["auto", "off"] | None) -> int | None:
        """Return the tokens that the proxy may bring in for a request; None for no recall."""
        return None if (requested or self.recall) == "off" else self.recall_tokens_max


def embedding_slots(cores: int) -> int:
    """Return how many texts are embedded at once where the settings leave it open: every other core, at most 4."""
    return max(1, min(4, cores // 2))


@dataclass(frozen=True, slots=True)
class Working:
    """A worker's concurrent jobs, and the lease on each."""

    llm_jobs: int = 4
    embedding_jobs: int = 1
    tenant_jobs: int = 0
    """Of one tenant in a lane; 0: all but one of the lane's slots if there are several tenants."""
    lease_seconds: float = 45.0

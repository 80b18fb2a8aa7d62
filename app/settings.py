"""Every setting, read from the environment by the composition roots and alembic only."""

import json
import re
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, SecretStr, ValidationError, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from app.core.dialects.question import Dialect
from app.core.dialects.usage import Prices
from app.core.messages import ID_MAX
from app.core.models import TABLE
from app.core.window.budget import BUDGET_MAX, ZONES_MAX
from app.postgres.folder_permissions import default_data_dir

ORIGIN = re.compile(r"https?://[a-z0-9.\-\[\]:]+")
"""As browsers send it: without a path, in lower case."""


def origins(text: str) -> list[str]:
    """Return the origins of a comma-separated list."""
    return [origin.strip() for origin in text.split(",") if origin.strip()]


class Settings(BaseSettings):
    """A setting is the environment variable of the same name in capitals.

    An empty variable counts as unset.
    """

    model_config = SettingsConfigDict(env_ignore_empty=True, extra="ignore", frozen=True)

    database_url: str | None = Field(
        None,
        pattern=r"^postgres(ql)?://",
        description="PostgreSQL to connect to, with a role that is neither superuser nor BYPASSRLS. "
        "Unset: an embedded PostgreSQL under QUIRE_DATA_DIR.",
    )
    migration_database_url: str | None = Field(
        None,
        pattern=r"^postgres(ql)?://",
        description="The same database with the role that owns its tables, for `quire migrate`. Unset: DATABASE_URL.",
    )
    database_replica_url: str | None = Field(
        None,
        pattern=r"^postgres(ql)?://",
        description="Streaming replica of DATABASE_URL (or several behind one name) for windows and searches,"
        " used when it"
        " has all acknowledged writes. Unset: the primary serves everything.",
    )

    quire_host: str = Field("127.0.0.1", description="Address to listen on.")
    quire_port: int = Field(8000, ge=0, le=65535, description="Port to listen on; 0 picks a free one.")
    quire_hosts: str = Field(
        "",
        description="Comma-separated host names that clients use, in addition to loopback names, addresses and"
        " QUIRE_HOST;"
        " any port unless one is given. Other hosts are refused by /mcp, and by everything while no keys are required"
        " (protection against DNS rebinding). `*`: any.",
    )
    quire_cors_origins: str = Field(
        "",
        description="Comma-separated origins whose pages can call Quire from a browser, such as"
        " `https://app.example`, matched exactly. Unset: none (CORS is off).",
    )
    quire_data_dir: Path = Field(
        default_factory=default_data_dir,
        description="Directory of the embedded database and the tokenizer's vocabularies. Under root the default is"
        " `/var/lib/quire` if other users cannot enter root's home.",
    )
    quire_log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", description="Lowest level that is logged."
    )
    quire_log_format: Literal["text", "json"] = Field(
        "text", description="Log lines (`text`) or JSON objects (`json`). Neither contains message content."
    )
    quire_pool_size: int = Field(
        8,
        ge=1,
        le=500,
        description="Maximum database connections of a process, plus one that looks for work. Use 4 to 5 per core.",
    )
    quire_statement_cache: bool = Field(
        True, description="Use prepared statements. Turn off behind PgBouncer in transaction mode."
    )
    quire_require_keys: bool = Field(False, description="Require an API key even before the first key exists.")
    quire_allow_unauthenticated: bool = Field(
        False, description="Allow listening on a non-loopback address without keys."
    )
    quire_rate_limit_per_minute: int = Field(
        0, ge=0, le=1_000_000, description="Requests per minute of one key, per process. 0: unlimited."
    )
    quire_refusals_per_minute: int = Field(
        600,
        ge=0,
        le=1_000_000,
        description="Requests per minute without a valid key, per client address and process; beyond it 429. 0:"
        " unlimited.",
    )
    quire_request_seconds: float = Field(
        300, ge=0.1, le=86_400, description="Maximum seconds until a response begins; then 503."
    )
    quire_body_seconds: float = Field(
        30,
        ge=0.1,
        le=3600,
        description="Maximum seconds for a request body to arrive, plus 1 s per 64 KiB; then 408.",
    )
    quire_header_seconds: float = Field(
        10, ge=0.1, le=3600, description="Maximum seconds for a request head to arrive; then the connection closes."
    )
    quire_worker: bool = Field(True, description="Run jobs in the API process. False: leave them to `quire worker`.")
    quire_worker_port: int | None = Field(
        None,
        ge=0,
        le=65535,
        description="Port where `quire worker` serves /healthz, /readyz and /metrics. 0: a free port. Unset: none.",
    )
    quire_reading_seconds: float = Field(
        30,
        ge=0.1,
        le=3600,
        description="Maximum seconds that a client can read slower than 1 KiB/s; then the connection closes.",
    )
    quire_worker_llm_jobs: int = Field(
        4, ge=1, le=100, description="Concurrent LLM jobs (indexing, summaries) of a worker."
    )
    quire_worker_embedding_jobs: int = Field(
        0,
        ge=0,
        le=100,
        description="Concurrent embedding jobs of a worker. 0: one for every two cores, at least 1 and at most 4.",
    )
    quire_worker_tenant_jobs: int = Field(
        0,
        ge=0,
        le=100,
        description="Concurrent jobs of one tenant in a worker's lane (LLM, embeddings). 0: all but one of the"
        " lane's slots if"
        " there are several tenants, else all.",
    )
    quire_worker_lease_seconds: float = Field(
        45.0,
        ge=1,
        le=3600,
        description="Seconds without a sign of life after which other workers take a worker's jobs.",
    )
    quire_body_max_bytes: int = Field(33_554_432, ge=1024, description="Maximum request body, in bytes.")
    quire_messages_max: int = Field(1000, ge=1, description="Maximum messages in one append.")

    quire_proxy_base_url: str | None = Field(
        None, description="Base URL of the chat API behind the proxy at /v1. Unset: MEMORY_LLM_BASE_URL."
    )
    quire_proxy_api_key: SecretStr | None = Field(
        None,
        description="API key for the chat API behind the proxy. Unset: MEMORY_LLM_API_KEY, for the same base URL only.",
    )
    quire_proxy_upstream_dialect: Dialect = Field(
        "chat",
        description="What the API behind the proxy speaks: Chat Completions (`chat`), Anthropic's Messages (`messages`)"
        " or OpenAI's Responses (`responses`). The proxy serves all three in any case.",
    )
    quire_proxy_client_keys: bool = Field(
        False,
        description="Send the client's own key to the API behind the proxy in pass-through mode; Quire's key, if"
        " needed, then comes as X-Quire-Key.",
    )
    quire_default_user: str | None = Field(
        None,
        min_length=1,
        max_length=ID_MAX,
        description="User of proxy requests and hooks that name none. Unset: `default` while no API keys exist and only"
        " this machine has access, so that memory across conversations needs only a base URL; with keys, none."
        " An application that serves several people must name them.",
    )
    quire_proxy_models: str = Field("", description="Comma-separated models that proxy clients can use. Empty: all.")
    quire_proxy_model: str | None = Field(
        None, description="Model for proxy requests that name none. Unset: MEMORY_LLM_MODEL."
    )
    quire_proxy_budget: int = Field(
        0,
        ge=0,
        le=BUDGET_MAX,
        description="Window budget of the proxy, in tokens, if neither the request nor its conversation sets one. "
        "0: inferred from the model.",
    )
    quire_proxy_rounds: int = Field(4, ge=0, le=20, description="Maximum rounds of recall for one proxied answer.")
    quire_proxy_seconds: float = Field(
        600, ge=1, le=86_400, description="Maximum seconds for a proxied answer, with all its rounds."
    )
    quire_proxy_recall: Literal["auto", "off"] = Field(
        "auto",
        description="`auto`: the proxy brings in memories that answer the newest user message, if there are any. The "
        "header X-Quire-Recall overrides it.",
    )
    quire_proxy_recall_max_tokens: int = Field(
        800, ge=50, le=BUDGET_MAX, description="Maximum tokens that the proxy brings in for a user message."
    )
    quire_proxy_concurrency: int = Field(
        64, ge=1, le=10_000, description="Concurrent proxied answers of a process; beyond it 503."
    )

    quire_models: str = Field(
        "",
        description="Rows for the table of model APIs (`app/core/models.json`), as JSON of the same shape, such as"
        ' `{"mine": {"prefixes": ["my-model"], "reasoning": "reasoning_content", "window": 65536}}`. `like` names a row'
        " to start from. Empty: none.",
    )
    quire_proxy_prices: str = Field(
        "",
        description="Dollars for a million tokens, by model, to show what proxied requests cost: JSON such as"
        ' `{"gpt-5": {"input": 1.25, "cached_input": 0.125, "output": 10}, "*": {"input": 1, "output": 4}}`. A name'
        " covers all models that begin with it. Empty: unknown.",
    )

    otel_exporter_otlp_endpoint: str | None = Field(
        None,
        description="OTLP/HTTP endpoint for traces; needs the extra `otel`. Unset: no traces. "
        "OpenTelemetry's other variables apply too.",
    )

    memory_context_window: int = Field(
        0, ge=0, description="The model's context window, in tokens. 0: inferred from the model."
    )
    memory_output_reserve: int = Field(
        4096, ge=0, description="Tokens of the context window kept free for the model's answer."
    )
    memory_full_recent_count: int = Field(
        10, ge=1, description="Minimum messages that stay verbatim after a cut, if they fit in MEMORY_KEEP_SHARE."
    )
    memory_enable_summary: bool = Field(True, description="Keep a rolling summary of what left the window.")
    memory_summary_threshold: int = Field(10, ge=1, description="Messages before the first summary.")
    memory_max_summary_tokens: int = Field(1000, ge=50, description="Maximum tokens of the summary.")
    memory_condensed_tool_max: int = Field(200, ge=0, description="Characters of a tool result in the condensed zone.")
    memory_max_messages_per_thread: int = Field(
        0, ge=0, description="Messages that a conversation keeps; older ones are pruned once searchable. 0: all."
    )
    memory_conversation_ttl_days: int = Field(
        0, ge=0, le=36_500, description="Days without activity after which a conversation is erased. 0: never."
    )
    memory_archive_threshold: int = Field(10_000, ge=500, description="Tool results with more characters are archived.")
    memory_archive_threshold_tokens: int = Field(
        0, ge=0, description="Tool results with more tokens are archived too. 0: no such limit."
    )
    memory_archive_ttl_days: int = Field(
        0, ge=0, le=36_500, description="Days after which an archived tool result is erased. 0: never."
    )
    memory_active_pages: int = Field(
        0, ge=0, description="Maximum pages in the window's body before it is cut. 0: as many as fit."
    )
    memory_head_share: float = Field(
        0.10, ge=0, le=0.5, description="Maximum share of the body's room for the head after a cut."
    )
    memory_condensed_share: float = Field(
        0.15, ge=0, le=0.8, description="Maximum share of the body's room for condensed messages after a cut."
    )
    memory_keep_share: float = Field(
        0.20,
        ge=0.05,
        le=0.8,
        description="Maximum share of the body's room that stays verbatim after a cut. The three shares together must"
        " be at most 0.9; the rest is growth.",
    )
    memory_recall_share: float | None = Field(
        None,
        ge=0.05,
        le=0.8,
        description="Share of the available tokens reserved for recalls and for what a query brings in. Unset: 0.15, at"
        " most 6,000 tokens, and 0.65 for requests with a query.",
    )
    memory_unlist_after_turns: int = Field(
        40, ge=1, description="Turns without a recall after which a page leaves the contents page (m)."
    )
    memory_unlist_unchanged_turns: int = Field(
        80, ge=1, description="Turns with the same recall count after which a page leaves the contents page (p)."
    )
    memory_contents_max_tokens: int = Field(2000, ge=100, description="Maximum tokens of the contents page.")
    memory_chapter_lines: bool = Field(True, description="Show runs of unlisted pages as chapter lines.")
    memory_recall_top_k: int = Field(
        5, ge=1, le=100, description="Maximum passages that the tool `recall_memory` brings back."
    )
    memory_recall_scope: Literal["user", "conversation"] = Field(
        "user",
        description="Where queries and recall tools look: all of the user's conversations, or only the current one.",
    )

    memory_llm_model: str | None = Field(
        None, description="Chat model for titles, summaries and recall. Unset: extractive, no LLM."
    )
    memory_llm_base_url: str | None = Field(None, description="Base URL of an OpenAI-compatible chat API.")
    memory_llm_api_key: SecretStr | None = Field(None, description="API key for the chat API.")
    memory_llm_extra_body: str = Field(
        "",
        description="More members of requests to the chat model, as a JSON object such as"
        ' `{"reasoning_effort": "low"}`. They come after what the table of models says to turn thinking off or down.',
    )
    memory_llm_timeout_seconds: float = Field(
        60.0, ge=1, le=3600, description="Maximum seconds of a model call, retries included."
    )
    memory_llm_concurrency: int = Field(4, ge=1, le=1000, description="Concurrent calls to the chat API per process.")
    memory_llm_context_window: int = Field(
        0, ge=0, description="The chat model's context window, in tokens. 0: inferred from the model, else 32768."
    )
    memory_embedding_model: str | None = Field(
        None, description="Embedding model. Unset: the local model. `none`: no embeddings, keyword search only."
    )
    memory_embedding_base_url: str | None = Field(
        None, description="Base URL of the embedding API. Unset: the chat API's."
    )
    memory_embedding_api_key: SecretStr | None = Field(
        None, description="API key for the embedding API. Unset: the chat API's."
    )
    memory_embedding_dimensions: int = Field(
        0, ge=0, le=8192, description="Dimensions to request from the embedding API. 0: the model's default."
    )
    memory_embedding_concurrency: int = Field(
        2, ge=1, le=1000, description="Concurrent calls to the embedding API per process."
    )
    memory_embedding_batch: int = Field(64, ge=1, le=2048, description="Texts per call to the embedding API.")
    memory_rerank_model: str | None = Field(
        None, description="Reranker of search results (`POST /rerank`), not used for windows. Unset: none."
    )
    memory_rerank_base_url: str | None = Field(
        None, description="Base URL of the reranker's API. Unset: the chat API's, with its key."
    )
    memory_rerank_api_key: SecretStr | None = Field(None, description="API key for the reranker's API.")

    @field_validator("quire_cors_origins")
    @classmethod
    def _name_origins(cls, value: str) -> str:
        for origin in origins(value):
            if not ORIGIN.fullmatch(origin):
                raise ValueError(
                    f"{origin!r} is not an origin: write scheme, host in lower case and a port if there is one, as"
                    " https://app.example"
                )
        return value

    @field_validator("memory_llm_extra_body")
    @classmethod
    def _is_object(cls, value: str) -> str:
        try:
            found = json.loads(value or "{}")
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise ValueError("it must be a JSON object")  # noqa: TRY004
        return value

    @field_validator("quire_models")
    @classmethod
    def _has_sound_rows(cls, value: str) -> str:
        TABLE.extended(value)
        return value

    @field_validator("quire_proxy_prices")
    @classmethod
    def _read_prices(cls, value: str) -> str:
        Prices.read(value)
        return value

    @field_validator("memory_keep_share")
    @classmethod
    def _leave_growth(cls, value: float, info: ValidationInfo) -> float:
        taken = value + sum(info.data.get(name, 0.0) for name in ("memory_head_share", "memory_condensed_share"))
        if round(taken, 6) > ZONES_MAX:
            raise ValueError(
                f"with MEMORY_HEAD_SHARE and MEMORY_CONDENSED_SHARE it must be at most {ZONES_MAX}, so that the window"
                f" has room to grow; together they are {taken:.4g}"
            )
        return value


NOT_SETTINGS = frozenset({"QUIRE_API_KEY", "QUIRE_KEY", "QUIRE_URL"})
"""Variables of clients."""
NEAR = 0.8
"""How alike a variable's name and a setting's are, if one is the other misspelt."""


MISSPELT = "%s is not a setting and has no effect; did you mean %s?"


def misspelt(names: Iterable[str]) -> dict[str, str]:
    """Return the environment variables that are probably misspelt settings, each with the nearest setting."""
    settings = [name.upper() for name in Settings.model_fields]
    unknown = {name.upper() for name in names if name.upper().startswith(("QUIRE_", "MEMORY_"))}
    unknown -= {*settings, *NOT_SETTINGS}
    found = {name: get_close_matches(name, settings, n=1, cutoff=NEAR) for name in sorted(unknown)}
    return {name: nearest[0] for name, nearest in found.items() if nearest}


class InvalidSettingsError(ValueError):
    """Some settings are invalid; the message names them, without their values."""


def read(**given: Any) -> Settings:
    """Return the settings; ``given`` values that are not None override the environment. Raises InvalidSettingsError."""
    try:
        return Settings(**{name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        said = ((str(e["loc"][0]).upper(), e["msg"].removeprefix("Value error, ")) for e in error.errors())
        wrong = "\n".join(f"  {name}: {message}" for name, message in said)
        raise InvalidSettingsError(f"These settings are not valid:\n{wrong}") from None

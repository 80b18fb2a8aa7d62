"""Every setting, read from the environment. Only the composition roots and alembic read it."""

from pathlib import Path
from typing import Any, Literal

from pydantic import Field, SecretStr, ValidationError, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from app.core.budget import BUDGET_MAX, ZONES_MAX


class Settings(BaseSettings):
    """A setting is the environment variable of the same name in capitals.

    An empty variable counts as unset.
    """

    model_config = SettingsConfigDict(env_ignore_empty=True, extra="ignore", frozen=True)

    database_url: str | None = Field(
        None,
        pattern=r"^postgres(ql)?://",
        description="PostgreSQL to use, as a role that is neither superuser nor BYPASSRLS. "
        "Unset: an embedded PostgreSQL under QUIRE_DATA_DIR.",
    )
    migration_database_url: str | None = Field(
        None,
        pattern=r"^postgres(ql)?://",
        description="The same database as the role that owns its tables, for `quire migrate`. Unset: DATABASE_URL.",
    )
    database_replica_url: str | None = Field(
        None,
        pattern=r"^postgres(ql)?://",
        description="A streaming replica of DATABASE_URL, or several behind one name, to read windows and searches from"
        " once it has everything that was acknowledged. Unset: the primary answers all.",
    )

    quire_host: str = Field("127.0.0.1", description="Address to listen on.")
    quire_port: int = Field(8000, ge=0, le=65535, description="Port to listen on; 0 picks a free one.")
    quire_hosts: str = Field(
        "",
        description="Host names by which clients call the service, besides loopback ones, addresses and QUIRE_HOST,"
        " joined by commas; with any port unless one is named. Others are refused by /mcp, and by everything while no"
        " keys are asked for, against DNS rebinding. `*`: any.",
    )
    quire_data_dir: Path = Field(
        default_factory=lambda: Path.home() / ".quire",
        description="Folder of the embedded database and of the tokenizer's vocabularies.",
    )
    quire_log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", description="The least severe messages that are logged."
    )
    quire_log_format: Literal["text", "json"] = Field(
        "text", description="Logs as lines for people (`text`) or as JSON objects (`json`). Neither holds content."
    )
    quire_pool_size: int = Field(
        8,
        ge=1,
        le=500,
        description="Database connections of a process, at most, beside one that looks for work. 4 to 5 for each core.",
    )
    quire_statement_cache: bool = Field(
        True, description="Prepared statements. Turn off behind PgBouncer in transaction mode."
    )
    quire_require_keys: bool = Field(
        False, description="Refuse requests without an API key even before the first key is made."
    )
    quire_allow_unauthenticated: bool = Field(
        False, description="Listen on an address other machines can reach although no keys are required."
    )
    quire_rate_limit_per_minute: int = Field(
        0, ge=0, le=1_000_000, description="Requests of one key that a process answers in a minute. 0: no limit."
    )
    quire_refusals_per_minute: int = Field(
        600,
        ge=0,
        le=1_000_000,
        description="Requests without a valid key that a process answers with 401 in a minute, for each client address;"
        " then 429. 0: no limit.",
    )
    quire_request_seconds: float = Field(
        300, ge=0.1, le=86_400, description="Longest that a request may take until its answer begins; then 503."
    )
    quire_body_seconds: float = Field(
        30,
        ge=0.1,
        le=3600,
        description="Longest that a request's body may take to arrive, with a second more for each 64 KiB; then 408.",
    )
    quire_header_seconds: float = Field(
        10, ge=0.1, le=3600, description="Longest that a request's head may take to arrive; then the connection ends."
    )
    quire_worker: bool = Field(
        True, description="Do the jobs in the process that serves the API too. False leaves them to `quire worker`."
    )
    quire_worker_port: int | None = Field(
        None,
        ge=0,
        le=65535,
        description="Port on which `quire worker` answers /healthz, /readyz and /metrics. 0: a free one. Unset: none.",
    )
    quire_reading_seconds: float = Field(
        30,
        ge=0.1,
        le=3600,
        description="Longest that a client may read less than 1 KiB a second of its answer; then the connection ends.",
    )
    quire_worker_llm_jobs: int = Field(
        4, ge=1, le=100, description="Jobs that a worker has under way with the LLM at once: indexing and summaries."
    )
    quire_worker_embedding_jobs: int = Field(
        1, ge=1, le=100, description="Jobs that a worker has under way with the embedding model at once."
    )
    quire_worker_tenant_jobs: int = Field(
        0,
        ge=0,
        le=100,
        description="Jobs of one tenant that a worker has under way in a lane (LLM, embeddings) at once. 0: all but one"
        " of the lane's where there are several tenants, else all.",
    )
    quire_worker_lease_seconds: float = Field(
        45.0, ge=1, le=3600, description="Time without a sign of life after which a worker's jobs are another's."
    )
    quire_body_max_bytes: int = Field(33_554_432, ge=1024, description="Largest request body, in bytes.")
    quire_messages_max: int = Field(1000, ge=1, description="Messages that one append may carry.")

    quire_proxy_base_url: str | None = Field(
        None, description="Base URL of the chat API behind the proxy at /v1. Unset: MEMORY_LLM_BASE_URL."
    )
    quire_proxy_api_key: SecretStr | None = Field(
        None, description="Key of the chat API behind the proxy. Unset: MEMORY_LLM_API_KEY, for the same base URL only."
    )
    quire_proxy_models: str = Field(
        "", description="Models that clients of the proxy may name, joined by commas. Empty: all that the API has."
    )
    quire_proxy_model: str | None = Field(
        None, description="The model of requests to the proxy that name none. Unset: MEMORY_LLM_MODEL."
    )
    quire_proxy_budget: int = Field(
        0,
        ge=0,
        le=BUDGET_MAX,
        description="Tokens of a window that the proxy makes, where neither a request nor its conversation says. "
        "0: inferred from the model.",
    )
    quire_proxy_rounds: int = Field(
        4, ge=0, le=20, description="Times that the model may recall something through the proxy for one answer."
    )
    quire_proxy_seconds: float = Field(
        600, ge=1, le=86_400, description="Longest that an answer through the proxy may take, from its first call on."
    )
    quire_proxy_concurrency: int = Field(
        64, ge=1, le=10_000, description="Answers that a process has under way for the proxy at once; then 503."
    )

    otel_exporter_otlp_endpoint: str | None = Field(
        None,
        description="Where traces are sent, by OTLP over HTTP; needs the extra `otel`. Unset: none are made. "
        "OpenTelemetry's other variables hold too.",
    )

    memory_context_window: int = Field(
        0, ge=0, description="Tokens of the model's context window. 0: inferred from the model."
    )
    memory_output_reserve: int = Field(
        4096, ge=0, description="Tokens of the context window kept free for the model's answer."
    )
    memory_full_recent_count: int = Field(
        10, ge=1, description="Messages that stay verbatim after a cut, at least, where they fit MEMORY_KEEP_SHARE."
    )
    memory_enable_summary: bool = Field(True, description="Keep a rolling summary of what left the window.")
    memory_summary_threshold: int = Field(10, ge=1, description="Messages before the first summary.")
    memory_max_summary_tokens: int = Field(1000, ge=50, description="Longest summary, in tokens.")
    memory_condensed_tool_max: int = Field(
        200, ge=0, description="Characters that a tool result keeps in the condensed zone."
    )
    memory_max_messages_per_thread: int = Field(
        0, ge=0, description="Messages a conversation keeps; older ones are pruned once searchable. 0: all."
    )
    memory_conversation_ttl_days: int = Field(
        0, ge=0, le=36_500, description="Days without activity after which a conversation is erased. 0: never."
    )
    memory_archive_threshold: int = Field(
        10_000, ge=500, description="Characters from which on a tool result is archived."
    )
    memory_archive_threshold_tokens: int = Field(
        0, ge=0, description="Tokens from which on a tool result is archived, besides the characters. 0: no such limit."
    )
    memory_archive_ttl_days: int = Field(
        0, ge=0, le=36_500, description="Days after which an archived tool result is erased. 0: never."
    )
    memory_active_pages: int = Field(
        0, ge=0, description="Pages that the window's body may hold before it is cut. 0: as many as fit."
    )
    memory_head_share: float = Field(
        0.10, ge=0, le=0.5, description="Most of the body's room that the head takes after a cut."
    )
    memory_condensed_share: float = Field(
        0.15, ge=0, le=0.8, description="Most of the body's room that condensed messages take after a cut."
    )
    memory_keep_share: float = Field(
        0.20,
        ge=0.05,
        le=0.8,
        description="Most of the body's room that is verbatim right after a cut. The three shares together must be at"
        " most 0.9; what they leave is growth.",
    )
    memory_recall_share: float | None = Field(
        None,
        ge=0.05,
        le=0.8,
        description="Part of the available tokens kept free for recalls and for what a query brings in. Unset: 0.15, at"
        " most 6,000 tokens, and 0.45 for a request with a query.",
    )
    memory_unlist_after_turns: int = Field(
        40, ge=1, description="Turns without a recall after which a page leaves the contents page (m)."
    )
    memory_unlist_unchanged_turns: int = Field(
        80, ge=1, description="Turns with the same recall count after which a page leaves the contents page (p)."
    )
    memory_contents_max_tokens: int = Field(2000, ge=100, description="Longest contents page, in tokens.")
    memory_chapter_lines: bool = Field(True, description="Roll runs of unlisted pages up into chapter lines.")
    memory_recall_top_k: int = Field(5, ge=1, le=100, description="Memories that a query brings in.")

    memory_llm_model: str | None = Field(
        None, description="Chat model for summaries and recall. Unset: extractive summaries, no LLM."
    )
    memory_llm_base_url: str | None = Field(None, description="Base URL of an OpenAI-compatible chat API.")
    memory_llm_api_key: SecretStr | None = Field(None, description="Key of the chat API.")
    memory_llm_timeout_seconds: float = Field(
        60.0, ge=1, le=3600, description="Seconds that a call of a model may take, with its retries."
    )
    memory_llm_concurrency: int = Field(4, ge=1, le=1000, description="Calls of the chat API at once, in a process.")
    memory_llm_context_window: int = Field(
        0, ge=0, description="Tokens of the chat model's context window. 0: inferred from the model, else 32768."
    )
    memory_embedding_model: str | None = Field(
        None, description="Embedding model. Unset: the local one. `none`: no embeddings, search by keyword only."
    )
    memory_embedding_base_url: str | None = Field(
        None, description="Base URL of the embedding API. Unset: the chat API's."
    )
    memory_embedding_api_key: SecretStr | None = Field(
        None, description="Key of the embedding API. Unset: the chat API's."
    )
    memory_embedding_dimensions: int = Field(
        0, ge=0, le=8192, description="Dimensions to ask the embedding API for. 0: the model's own."
    )
    memory_embedding_concurrency: int = Field(
        2, ge=1, le=1000, description="Calls of the embedding API at once, in a process."
    )
    memory_embedding_batch: int = Field(64, ge=1, le=2048, description="Texts in one call of the embedding API.")

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


class InvalidSettingsError(ValueError):
    """Some settings are not valid; the message names them, without their values."""


def read(**given: Any) -> Settings:
    """The settings; what is ``given`` (and not None) comes before the environment. Raises InvalidSettingsError."""
    try:
        return Settings(**{name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        wrong = "\n".join(f"  {str(e['loc'][0]).upper()}: {e['msg']}" for e in error.errors())
        raise InvalidSettingsError(f"These settings are not valid:\n{wrong}") from None

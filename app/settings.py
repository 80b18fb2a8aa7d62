"""Every setting, read from the environment by the composition roots and alembic only."""

import re
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_type_hints

from pydantic import AfterValidator, Field, SecretStr, ValidationError, ValidationInfo, create_model, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from app.core.canonical import loads
from app.core.dialects.question import Dialect
from app.core.edge.audit import Auditing
from app.core.edge.deployment import Access, Proxying, Retention, Working
from app.core.edge.identity import IdentityProvider
from app.core.edge.limits import Quota
from app.core.edge.upstreams import read_upstreams, sound_url
from app.core.messages import Limits
from app.core.model import Policy
from app.core.models import TABLE
from app.core.setting import settings_of
from app.core.window.budget import ZONES_MAX
from app.core.window.profile import Defaults
from app.data_dir import default_data_dir
from quire_verify.issuer import Signer

T = TypeVar("T")

ORIGIN = re.compile(r"https?://[a-z0-9.\-\[\]:]+")
"""As browsers send it: without a path, in lower case."""


def origins(text: str) -> list[str]:
    return [origin.strip() for origin in text.split(",") if origin.strip()]


RULES = (Policy, Defaults, Retention, Limits, Access, Quota, Auditing, IdentityProvider, Proxying, Working)
"""Core values whose fields declare settings, in the order of docs/settings.md."""


def _with_rules(own: type[BaseSettings]) -> type[BaseSettings]:
    """Return the class with the settings that RULES declare; a variable that is not the value itself is checked."""
    members: dict[str, Any] = {}
    for rules in RULES:
        kinds = get_type_hints(rules)
        for field, (one, description) in settings_of(rules).items():
            kind = Annotated[str, AfterValidator(partial(_readable, one.read))] if one.read else kinds[field]
            least, most = one.length or (None, None)
            bounds: dict[str, Any] = {"ge": one.ge, "le": one.le, "min_length": least, "max_length": most}
            members[one.name] = (kind, Field(one.default, description=description, **bounds))
    return create_model(own.__name__, __base__=own, __module__=own.__module__, __doc__=own.__doc__, **members)


def _with_keys(value: SecretStr) -> SecretStr:
    Signer.of(value.get_secret_value())
    return value


def _readable(read: Callable[[str], Any], value: str) -> str:
    read(value)
    return value


def _of_postgres(url: str) -> str:
    if not url.startswith(("postgresql://", "postgres://")):
        raise ValueError("write it as postgresql://user:password@host/database, without a driver such as +asyncpg")
    return url


PostgresUrl = Annotated[str, AfterValidator(_of_postgres)]
ApiUrl = Annotated[str, AfterValidator(sound_url)]


@_with_rules
class Settings(BaseSettings):
    """A setting is the environment variable of the same name in capitals.

    An empty variable counts as unset. Here are those of the process itself; RULES declare the others.
    """

    model_config = SettingsConfigDict(env_ignore_empty=True, extra="ignore", frozen=True)

    database_url: PostgresUrl | None = Field(
        None,
        description="PostgreSQL to connect to, with a role that is neither superuser nor BYPASSRLS. "
        "Unset: an embedded PostgreSQL under QUIRE_DATA_DIR.",
    )
    migration_database_url: PostgresUrl | None = Field(
        None,
        description="The same database with the role that owns its tables, for `quire migrate`. Unset: DATABASE_URL.",
    )

    quire_host: str = Field("127.0.0.1", description="Address to listen on.")
    quire_port: int = Field(8000, ge=0, le=65535, description="Port to listen on; 0 picks a free one.")
    quire_cors_origins: str = Field(
        "",
        description="Comma-separated origins whose pages can call Quire from a browser, such as `https://app.example`.",
    )
    quire_data_dir: Path = Field(
        default_factory=default_data_dir,
        description="Directory of the embedded database and the tokenizer's vocabularies. Under root the default is"
        " `/var/lib/quire` if other users cannot enter root's home.",
    )
    quire_receipts: bool = Field(True, description="Sign a receipt of every window.")
    quire_receipt_key: Annotated[SecretStr, AfterValidator(_with_keys)] | None = Field(
        None,
        description="What signs receipts: 64 hexadecimal digits; several keys with commas, the newest last. Unset:"
        " `receipt.keys` in QUIRE_DATA_DIR, made at first start.",
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

    quire_proxy_base_url: ApiUrl | None = Field(
        None, description="Base URL of the chat API behind the proxy at /v1. Unset: MEMORY_LLM_BASE_URL."
    )
    quire_proxy_api_key: SecretStr | None = Field(
        None,
        description="API key for the chat API behind the proxy. Unset: MEMORY_LLM_API_KEY, for the same base URL only.",
    )
    quire_proxy_upstream_dialect: Dialect = Field(
        "chat",
        description="What the API behind the proxy speaks: `chat` (Chat Completions), `messages` (Anthropic's) or "
        "`responses` (OpenAI's).",
    )
    quire_proxy_upstreams: SecretStr = Field(
        SecretStr(""),
        description='APIs of other models, by patterns of their names: JSON such as `{"claude-*": {"base_url": '
        '"https://api.anthropic.com/v1", "api_key": "…", "dialect": "messages"}}`. The longest pattern that fits wins.',
    )
    quire_masks: Literal["off", "secrets", "personal", "all"] = Field(
        "off",
        description="What is masked in every text before anything is stored: `secrets` (keys, tokens, passwords,"
        " cards), `personal` (e-mail addresses, phone, identity and account numbers), or `all`.",
    )
    quire_models: str = Field(
        "",
        description='Rows for the table of model APIs (`app/core/models.json`), as JSON such as `{"mine": {"prefixes": '
        '["my-model"], "reasoning": "reasoning_content", "window": 65536}}`. `like` names a row to start from,'
        " `input_price` and `output_price` are dollars for a million tokens.",
    )

    otel_exporter_otlp_endpoint: str | None = Field(
        None,
        description="OTLP/HTTP endpoint for traces; needs the extra `otel`. OpenTelemetry's other variables apply too.",
    )

    memory_llm_model: str | None = Field(
        None, description="Chat model for titles, summaries and recall. Unset: extractive, no LLM."
    )
    memory_llm_base_url: ApiUrl | None = Field(None, description="Base URL of an OpenAI-compatible chat API.")
    memory_llm_api_key: SecretStr | None = Field(None, description="API key for the chat API.")
    memory_llm_extra_body: str = Field(
        "",
        description="More members of requests to the chat model, as a JSON object such as"
        ' `{"reasoning_effort": "low"}`.',
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
    memory_embedding_base_url: ApiUrl | None = Field(
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
    memory_rerank_base_url: ApiUrl | None = Field(
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
        if not isinstance(loads(value or "{}"), dict):
            raise ValueError("it must be a JSON object")  # noqa: TRY004
        return value

    @field_validator("quire_models")
    @classmethod
    def _has_sound_rows(cls, value: str) -> str:
        TABLE.extended(value)
        return value

    @field_validator("quire_proxy_upstreams")
    @classmethod
    def _has_sound_upstreams(cls, value: SecretStr) -> SecretStr:
        read_upstreams(value.get_secret_value())
        return value

    @field_validator("quire_jwt_jwks", check_fields=False)
    @classmethod
    def _judge_tokens_whole(cls, value: str | None, info: ValidationInfo) -> str | None:
        parts = (info.data.get("quire_jwt_issuer"), info.data.get("quire_jwt_audience"), value)
        if any(parts) and not all(parts):
            raise ValueError("QUIRE_JWT_ISSUER, QUIRE_JWT_AUDIENCE and QUIRE_JWT_JWKS must be set together")
        return value

    @field_validator("memory_condensed_share", check_fields=False)
    @classmethod
    def _leave_room(cls, value: float, info: ValidationInfo) -> float:
        taken = value + info.data.get("memory_head_share", 0.0)
        if round(taken, 6) > ZONES_MAX:
            raise ValueError(
                f"with MEMORY_HEAD_SHARE it must be at most {ZONES_MAX}, so that messages have room; together they are"
                f" {taken:.4g}"
            )
        return value


def taken(settings: Settings, rules: type[T]) -> T:
    """Return the core value whose settings these are; its other fields have their defaults."""
    values = {field: (one.read, getattr(settings, one.name)) for field, (one, _) in settings_of(rules).items()}
    return rules(**{field: read(value) if read else value for field, (read, value) in values.items()})


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

"""Jobs, stored responses, spending, tenants and keys."""

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Date,
    DateTime,
    Double,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    text,
)

from app.postgres.tables.base import NOW, ZERO, conversation, counter, created, metadata, of_conversation, tenant

idempotency = Table(
    "idempotency",
    metadata,
    tenant(),
    Column("key", Text(collation="C"), nullable=False),
    Column("digest", LargeBinary, nullable=False, comment="SHA-256 of the request"),
    Column("response", Text, nullable=False),
    Column(
        "owner",
        Uuid,
        nullable=False,
        server_default=text("'00000000-0000-0000-0000-000000000000'"),
        comment="hash of the one scope that it may speak of; zeros: not known",
    ),
    created(),
    PrimaryKeyConstraint("tenant_id", "key"),
    CheckConstraint("char_length(key) BETWEEN 1 AND 255", name="key_length"),
)
Index("idempotency_created_idx", idempotency.c.tenant_id, idempotency.c.created_at)
Index("idempotency_owner_idx", idempotency.c.tenant_id, idempotency.c.owner, idempotency.c.key)

work = Table(
    "work",
    metadata,
    tenant(),
    Column("kind", Text, nullable=False),
    Column("subject", Text(collation="C"), nullable=False, comment="what it is about; ids of ours only"),
    Column("id", Uuid, nullable=False, comment="its name outside"),
    Column("lane", Text, nullable=False, comment="which provider it needs; one job a conversation and lane at a time"),
    Column("conversation_id", Text(collation="C")),
    Column(
        "args", Text, nullable=False, server_default=text("'{}'"), comment="JSON of ids and numbers, never of content"
    ),
    Column("version", Integer, nullable=False, server_default=text("1"), comment="bumped by each enqueueing"),
    Column("claimed", Integer, comment="the version that is being worked on"),
    Column("token", Uuid, comment="of the lease; null while nobody works on it"),
    Column("due", DateTime(timezone=True), nullable=False, server_default=NOW, comment="when to run; the lease's end"),
    counter("attempts"),
    Column("excused", Integer, nullable=False, server_default=ZERO, comment="attempts that the provider foiled"),
    Column("failed_at", DateTime(timezone=True), comment="set: a dead letter"),
    Column("error", Text, comment="of the latest attempt; never content"),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=NOW, comment="since when it is due"),
    PrimaryKeyConstraint("tenant_id", "kind", "subject"),
    of_conversation("work"),
)
Index("work_id_key", work.c.tenant_id, work.c.id, unique=True)
Index(
    "work_due_idx",
    work.c.tenant_id,
    work.c.lane,
    work.c.due,
    postgresql_where=text("failed_at IS NULL AND token IS NULL"),
)
Index("work_dead_idx", work.c.tenant_id, work.c.id, postgresql_where=work.c.failed_at.isnot(None))
Index("work_conversation_idx", work.c.tenant_id, work.c.conversation_id)
Index(
    "work_running_key",
    work.c.tenant_id,
    work.c.lane,
    work.c.conversation_id,
    unique=True,
    postgresql_where=work.c.token.isnot(None),
)

SPENT = ("calls", "prompt_tokens", "completion_tokens", "cached_tokens", "written_tokens")

spending = Table(
    "spending",
    metadata,
    tenant(),
    Column("conversation_id", Text(collation="C"), comment="null: the tenant's total, conversations that are gone too"),
    Column("day", Date, nullable=False),
    Column("kind", Text, nullable=False, comment="of the work that it was spent on"),
    Column("model", Text(collation="C"), nullable=False),
    *(counter(name, big=True) for name in SPENT),
    UniqueConstraint(
        "tenant_id", "conversation_id", "day", "kind", "model", name="spending_key", postgresql_nulls_not_distinct=True
    ),
    of_conversation("spending"),
)
Index("spending_day_idx", spending.c.tenant_id, spending.c.day, postgresql_where=spending.c.conversation_id.isnot(None))

proxied_requests = Table(
    "proxied_requests",
    metadata,
    tenant(),
    conversation(),
    Column("id", Uuid, nullable=False, comment="in the order in which they ended"),
    Column("request", Text, nullable=False, comment="what became of it, JSON; never content"),
    PrimaryKeyConstraint("tenant_id", "id"),
    of_conversation("proxied_requests"),
)
Index(
    "proxied_requests_recent_idx",
    proxied_requests.c.tenant_id,
    proxied_requests.c.conversation_id,
    proxied_requests.c.id,
)

events = Table(
    "events",
    metadata,
    tenant(),
    Column("id", Uuid, nullable=False, comment="about in the order in which they happened"),
    Column("seq", BigInteger, comment="in the order in which they are told; null: not numbered yet"),
    Column("type", Text, nullable=False),
    Column("data", Text, nullable=False, comment="JSON of ids and numbers, never of content"),
    PrimaryKeyConstraint("tenant_id", "id"),
)
Index("events_seq_key", events.c.tenant_id, events.c.seq, unique=True, postgresql_where=events.c.seq.isnot(None))
Index("events_new_idx", events.c.tenant_id, events.c.id, postgresql_where=events.c.seq.is_(None))

webhooks = Table(
    "webhooks",
    metadata,
    tenant(),
    Column("id", Uuid, nullable=False),
    Column("url", Text, nullable=False),
    Column("secret", Text, nullable=False, comment="to sign with, so it is kept as it is"),
    Column("types", ARRAY(Text), nullable=False, comment="of events; empty: all"),
    Column("cursor", BigInteger, nullable=False, comment="number of the last event that it got"),
    Column("last_status", Text, comment="of the latest delivery"),
    Column("failing_since", DateTime(timezone=True)),
    Column("disabled_at", DateTime(timezone=True), comment="set: nothing more is sent"),
    created(),
    PrimaryKeyConstraint("tenant_id", "id"),
)

audit = Table(
    "audit",
    metadata,
    tenant(),
    Column("id", Uuid, nullable=False, comment="in the order of the entries"),
    Column("action", Text, nullable=False, comment="read or erase"),
    Column("route", Text, nullable=False, comment="method and path template"),
    Column("ids", Text, nullable=False, comment="JSON: what the request named; never content"),
    Column("key", Uuid, comment="of the caller"),
    Column("user_id", Text(collation="C"), comment="whom the caller is bound to, or names"),
    Column("address", Text, nullable=False, comment="of the client"),
    Column("status", Integer, nullable=False),
    Column("request_id", Text, nullable=False),
    PrimaryKeyConstraint("tenant_id", "id"),
)

# --- Access -----------------------------------------------------------------------------------------
tenants = Table(
    "tenants",
    metadata,
    tenant(),
    Column("name", Text, nullable=False),
    Column("keyed_at", DateTime(timezone=True), comment="since when callers need a key; never unset"),
    created(),
    Column("requests_per_minute", BigInteger, comment="its own limit; null: the deployment's, 0: none"),
    Column("background_tokens_per_day", BigInteger, comment="the same"),
    Column("storage_bytes", BigInteger, comment="the same"),
    Column("user_storage_bytes", BigInteger, comment="the same, of each user"),
    Column("events", Boolean, nullable=False, server_default=text("false"), comment="what happens is told"),
    counter("last_event", big=True),
    PrimaryKeyConstraint("tenant_id"),
    CheckConstraint("char_length(name) BETWEEN 1 AND 200", name="name_length"),
)
"""The one table whose rows every tenant can list: the worker iterates over it, and it holds no content. Only the
tenant itself writes its row."""

keys = Table(
    "keys",
    metadata,
    tenant(),
    Column("id", Uuid, nullable=False, comment="the public part; stands in the key"),
    Column("digest", LargeBinary, nullable=False, comment="SHA-256 of the secret part"),
    Column("name", Text, nullable=False),
    Column("scopes", ARRAY(Text), nullable=False),
    Column("user_id", Text(collation="C"), comment="the one user that it sees; null: all of the tenant's"),
    created(),
    Column("expires_at", DateTime(timezone=True)),
    Column("revoked_at", DateTime(timezone=True)),
    Column("last_used_at", DateTime(timezone=True), comment="to a minute"),
    Column("requests_per_minute", BigInteger, comment="its own limit; null: the deployment's, 0: none"),
    PrimaryKeyConstraint("tenant_id", "id"),
    ForeignKeyConstraint(["tenant_id"], ["tenants.tenant_id"]),
    CheckConstraint("octet_length(digest) = 32", name="digest_length"),
    CheckConstraint(
        "cardinality(scopes) > 0 AND scopes <@ ARRAY['read', 'write', 'admin', 'memories:sensitive']", name="scopes"
    ),
)
rates = Table(
    "rates",
    metadata,
    tenant(),
    Column("subject", Uuid, nullable=False, comment="a key, or the tenant itself"),
    Column("tokens", Double, nullable=False, comment="requests that it can still send"),
    Column("at", DateTime(timezone=True), nullable=False, comment="when it had them"),
    PrimaryKeyConstraint("tenant_id", "subject"),
)

storage = Table(
    "storage",
    metadata,
    tenant(),
    Column("user_id", Text(collation="C"), nullable=False, comment="empty: what is nobody's"),
    counter("bytes", big=True),
    Column("counted_at", DateTime(timezone=True), comment="null: to be counted anew"),
    PrimaryKeyConstraint("tenant_id", "user_id"),
)

Index("keys_user_idx", keys.c.tenant_id, keys.c.user_id, keys.c.id)

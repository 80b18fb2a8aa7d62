"""Every table, constraint and index.

The rules they share:

* ``tenant_id`` leads every primary key, unique key, foreign key and index, so that any table can be
  distributed by it, and row-level security is forced on all of them (see the migrations).
* Callers' content is text: the exact canonical JSON of the message. ``jsonb`` would reorder keys and refuse NUL.
* What a head quotes is append-only and stamped with the conversation's ``revision``, so that the head of an
  epoch can be found again as it was, by any process and for any budget.
"""

from pgvector.sqlalchemy import HALFVEC, SPARSEVEC
from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Date,
    DateTime,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    SmallInteger,
    Table,
    Text,
    Uuid,
    text,
)

DIMENSIONS = 1_000_000_000
"""Dimensions of a text's term vector; see app.text.bm25."""

metadata = MetaData(
    naming_convention={
        "pk": "%(table_name)s_pkey",
        "uq": "%(table_name)s_%(column_0_N_name)s_key",
        "fk": "%(table_name)s_%(column_0_N_name)s_fkey",
        "ix": "%(table_name)s_%(column_0_N_name)s_idx",
        "ck": "%(table_name)s_%(constraint_name)s_check",
    }
)

NOW = text("now()")
ZERO = text("0")


def _tenant() -> Column[object]:
    return Column("tenant_id", Uuid, nullable=False)


def _conversation() -> Column[object]:
    return Column("conversation_id", Text(collation="C"), nullable=False)


def _of_conversation(name: str) -> ForeignKeyConstraint:
    return ForeignKeyConstraint(
        ["tenant_id", "conversation_id"],
        ["conversations.tenant_id", "conversations.id"],
        name=f"{name}_conversation_fkey",
        ondelete="CASCADE",
    )


def _counter(name: str, *, big: bool = False) -> Column[object]:
    return Column(name, BigInteger if big else Integer, nullable=False, server_default=ZERO)


def _created() -> Column[object]:
    return Column("created_at", DateTime(timezone=True), nullable=False, server_default=NOW)


conversations = Table(
    "conversations",
    metadata,
    _tenant(),
    Column("id", Text(collation="C"), nullable=False),
    Column("uid", Uuid, nullable=False, comment="tells a conversation from an erased one of the same id"),
    Column("user_id", Text(collation="C")),
    Column("title", Text),
    Column("system", Text),
    Column("model", Text),
    Column("budget", Integer),
    Column("policy", Text, nullable=False, server_default=text("'{}'"), comment="overrides of paging settings, JSON"),
    Column("metadata", Text, nullable=False, server_default=text("'{}'"), comment="the caller's own, JSON"),
    _created(),
    Column("updated_at", DateTime(timezone=True), nullable=False, server_default=NOW, comment="last activity"),
    Column("version", Integer, nullable=False, server_default=ZERO, comment="bumped by all that an append reads"),
    _counter("last_seq"),
    _counter("last_page"),
    _counter("user_seq"),
    _counter("prompt_through"),
    _counter("open_group"),
    Column("open_calls", Text, nullable=False, server_default=text("'[]'"), comment="calls without a result, JSON"),
    _counter("full_total", big=True),
    _counter("short_total", big=True),
    _counter("history_total", big=True),
    _counter("prompt_tokens"),
    _counter("system_tokens"),
    Column(
        "token_percent",
        SmallInteger,
        nullable=False,
        server_default=text("'100'"),
        comment="tokens that its model makes of a hundred of ours",
    ),
    Column("language", Text, comment="of Quire's own words in its windows: zh or en, from the first user message on"),
    Column("revision", Integer, nullable=False, server_default=ZERO, comment="counts what a head may quote"),
    Column("generation", BigInteger, nullable=False, server_default=ZERO, comment="grows when the past is changed"),
    Column("epoch", BigInteger, nullable=False, server_default=ZERO, comment="number of the own budget's epoch"),
    Column("indexed_through", Integer, nullable=False, server_default=ZERO, comment="all pages up to it are indexed"),
    Column("summary_through", Integer, nullable=False, server_default=ZERO, comment="what the newest summary covers"),
    Column(
        "pruned_through",
        Integer,
        nullable=False,
        server_default=ZERO,
        comment="messages up to it are kept as marks and in search only",
    ),
    Column("chain", LargeBinary, comment="after its last message; null: not known yet"),
    Column("asked", LargeBinary, comment="the chain where the newest request through the proxy ended"),
    Column("answered", LargeBinary, comment="the chain after the first answer that the proxy gave"),
    Column("said_at", DateTime(timezone=True), comment="the newest of its messages'; null: none has any"),
    PrimaryKeyConstraint("tenant_id", "id"),
    CheckConstraint("char_length(id) BETWEEN 1 AND 128", name="id_length"),
    CheckConstraint("last_seq >= 0 AND last_page >= 0", name="counts"),
)
Index("conversations_recent_idx", conversations.c.tenant_id, conversations.c.updated_at, conversations.c.uid)
Index(
    "conversations_user_recent_idx",
    conversations.c.tenant_id,
    conversations.c.user_id,
    conversations.c.updated_at,
    conversations.c.uid,
)
Index(
    "conversations_chain_idx",
    conversations.c.tenant_id,
    conversations.c.user_id,
    conversations.c.chain,
    conversations.c.updated_at,
    postgresql_where=conversations.c.answered.isnot(None),
)
Index(
    "conversations_asked_idx",
    conversations.c.tenant_id,
    conversations.c.user_id,
    conversations.c.asked,
    conversations.c.updated_at,
    postgresql_where=conversations.c.asked.isnot(None),
)

messages = Table(
    "messages",
    metadata,
    _tenant(),
    _conversation(),
    Column("seq", Integer, nullable=False),
    Column("id", Uuid, nullable=False),
    Column("client_id", Text(collation="C")),
    Column("page", Integer, nullable=False),
    Column("user_seq", Integer, nullable=False),
    Column("call_group", Integer, nullable=False),
    Column("kind", Text, nullable=False),
    Column("role", Text, nullable=False),
    Column("body", Text, nullable=False, comment="as sent, canonical JSON; archived text results are left out of it"),
    Column("view", Text, comment="as a model sees it; null if that is the body"),
    Column("short", Text, comment="condensed; null if that is the view"),
    Column("loaded", Text, comment="with what a recall tool brought in"),
    Column("anthropic", Text, comment="as sent in Anthropic form"),
    Column("parts", SmallInteger, nullable=False, comment="chat messages in view"),
    Column("calls", SmallInteger, nullable=False),
    Column("results", SmallInteger, nullable=False),
    Column("full_tokens", Integer, nullable=False),
    Column("short_tokens", Integer, nullable=False),
    Column("loaded_tokens", Integer, nullable=False),
    Column("full_before", BigInteger, nullable=False),
    Column("short_before", BigInteger, nullable=False),
    Column("line", Text, nullable=False, comment="its line on the contents page"),
    Column("line_tokens", Integer, nullable=False),
    Column("archive_ids", ARRAY(Uuid), nullable=False, server_default=text("'{}'")),
    Column("revision", Integer, nullable=False),
    _created(),
    Column("digest", LargeBinary, comment="of what it says: core.sync"),
    Column("chain", LargeBinary, comment="of all digests up to it"),
    Column("said_at", DateTime(timezone=True), comment="when it was said; null: the sender did not tell"),
    PrimaryKeyConstraint("tenant_id", "conversation_id", "seq"),
    _of_conversation("messages"),
    CheckConstraint("kind IN ('prompt', 'message', 'call', 'result', 'orphan')", name="kind"),
    CheckConstraint("short_tokens <= full_tokens", name="short_is_shorter"),
    CheckConstraint("page >= 1 AND seq >= 1 AND call_group BETWEEN 1 AND seq AND user_seq <= seq", name="place"),
)
Index(
    "messages_client_id_key",
    messages.c.tenant_id,
    messages.c.conversation_id,
    messages.c.client_id,
    unique=True,
    postgresql_where=messages.c.client_id.isnot(None),
)
Index(
    "messages_loaded_idx",  # what recall tools loaded: every erasure searches it
    messages.c.tenant_id,
    messages.c.conversation_id,
    messages.c.seq,
    postgresql_where=messages.c.loaded.isnot(None),
)
Index(
    "messages_offset_idx",
    messages.c.tenant_id,
    messages.c.conversation_id,
    messages.c.short_before,
    messages.c.seq,
)

pages = Table(
    "pages",
    metadata,
    _tenant(),
    _conversation(),
    Column("page", Integer, nullable=False),
    Column("first_seq", Integer, nullable=False),
    Column("title", Text, nullable=False),
    Column("title_tokens", Integer, nullable=False),
    Column("revision", Integer, nullable=False),
    _created(),
    PrimaryKeyConstraint("tenant_id", "conversation_id", "page"),
    _of_conversation("pages"),
)

epochs = Table(
    "epochs",
    metadata,
    _tenant(),
    _conversation(),
    Column("number", BigInteger, nullable=False),
    Column("available", Integer, nullable=False, comment="tokens it was laid out for"),
    Column("condensed_from", Integer, nullable=False),
    Column("verbatim_from", Integer, nullable=False),
    Column("pinned", Integer, nullable=False),
    Column("head_room", Integer, nullable=False),
    Column("full_until", BigInteger, nullable=False),
    Column("pages_until", Integer, nullable=False),
    Column("generation", BigInteger, nullable=False),
    Column("trigger_page", Integer, nullable=False),
    Column("revision", Integer, nullable=False),
    Column("half_mark", BigInteger, nullable=False),
    Column("head", Text, nullable=False, comment="JSON of a Head"),
    _created(),
    PrimaryKeyConstraint("tenant_id", "conversation_id", "number"),
    _of_conversation("epochs"),
)

recalls = Table(
    "recalls",
    metadata,
    _tenant(),
    _conversation(),
    Column("page", Integer, nullable=False),
    Column("count", Integer, nullable=False, comment="this was the page's n-th recall"),
    Column("at_page", Integer, nullable=False, comment="the page that was being written"),
    Column("revision", Integer, nullable=False),
    _created(),
    PrimaryKeyConstraint("tenant_id", "conversation_id", "page", "count"),
    _of_conversation("recalls"),
)
Index("recalls_recent_idx", recalls.c.tenant_id, recalls.c.conversation_id, recalls.c.at_page)

notes = Table(
    "notes",
    metadata,
    _tenant(),
    _conversation(),
    Column("id", Uuid, nullable=False),
    Column("seq", Integer, nullable=False, comment="the message it was found in; 0 if a person wrote it"),
    Column("text", Text, nullable=False),
    Column("tokens", Integer, nullable=False),
    Column("source", Text, nullable=False),
    Column(
        "revision", Integer, nullable=False, server_default=ZERO, comment="heads made before it do not know the note"
    ),
    Column("replaced", Integer, comment="from this revision on another note holds instead"),
    _created(),
    PrimaryKeyConstraint("tenant_id", "conversation_id", "id"),
    _of_conversation("notes"),
    CheckConstraint("source IN ('person', 'extractive', 'llm')", name="source"),
)

archive_contents = Table(
    "archive_contents",
    metadata,
    _tenant(),
    Column("scope", Text(collation="C"), nullable=False, comment="u:user, or c:conversation where there is none"),
    Column("digest", LargeBinary, nullable=False, comment="SHA-256 of the content"),
    Column("content", Text, nullable=False),
    Column("nul_offsets", ARRAY(Integer), nullable=False, server_default=text("'{}'")),
    Column("length", Integer, nullable=False),
    Column("tokens", Integer, nullable=False),
    PrimaryKeyConstraint("tenant_id", "scope", "digest"),
)

archives = Table(
    "archives",
    metadata,
    _tenant(),
    Column("id", Uuid, nullable=False),
    Column("scope", Text(collation="C"), nullable=False),
    Column("digest", LargeBinary, nullable=False),
    Column("user_id", Text(collation="C")),
    Column("conversation_id", Text(collation="C")),
    Column("seq", Integer),
    Column("tool_name", Text, nullable=False),
    Column("tool_input", Text, nullable=False),
    Column("query_summary", Text, nullable=False),
    Column("result_summary", Text, nullable=False),
    Column("key_terms", ARRAY(Text), nullable=False),
    Column("sources", ARRAY(Text), nullable=False),
    Column("placeholder", Text, nullable=False),
    Column("language", Text, nullable=False),
    Column("expires_at", DateTime(timezone=True)),
    _created(),
    PrimaryKeyConstraint("tenant_id", "id"),
    ForeignKeyConstraint(
        ["tenant_id", "scope", "digest"],
        ["archive_contents.tenant_id", "archive_contents.scope", "archive_contents.digest"],
        name="archives_content_fkey",
    ),
    _of_conversation("archives"),
)
Index("archives_content_idx", archives.c.tenant_id, archives.c.scope, archives.c.digest)
Index("archives_scope_idx", archives.c.tenant_id, archives.c.scope, archives.c.id)
Index("archives_place_idx", archives.c.tenant_id, archives.c.conversation_id, archives.c.seq)
Index("archives_conversation_idx", archives.c.tenant_id, archives.c.conversation_id, archives.c.id)

memories = Table(
    "memories",
    metadata,
    _tenant(),
    Column("id", Uuid, nullable=False),
    Column("owner", Uuid, nullable=False, comment="hash of the scope that may find it"),
    Column("type", Text, nullable=False),
    Column("conversation_id", Text(collation="C")),
    Column("conversation_uid", Uuid),
    Column("seq", Integer, comment="the message it is of"),
    Column("page", Integer),
    Column("archive_id", Uuid, comment="the archive it is a passage of"),
    Column("start", Integer, nullable=False, comment="its first character in the message's or archive's text"),
    Column("length", Integer, nullable=False),
    Column("terms", SPARSEVEC(DIMENSIONS), nullable=False, comment="keyword weights"),
    Column("content", Text, comment="of a memory that is not a part of a message or archive"),
    Column("nul_offsets", ARRAY(Integer), nullable=False, server_default=text("'{}'")),
    Column("keywords", ARRAY(Text), nullable=False, server_default=text("'{}'"), comment="the caller's own"),
    Column("metadata", Text, nullable=False, server_default=text("'{}'"), comment="the caller's own, JSON"),
    Column("source", Text, nullable=False, server_default=text("'extractive'"), comment="who wrote it"),
    Column("sensitive", Boolean, nullable=False, server_default=text("false"), comment="needs a scope of its own"),
    Column("part_of", Uuid, comment="the memory whose content it is a passage of"),
    Column("expires_at", DateTime(timezone=True)),
    _created(),
    PrimaryKeyConstraint("tenant_id", "id"),
    _of_conversation("memories"),
    ForeignKeyConstraint(
        ["tenant_id", "part_of"],
        ["memories.tenant_id", "memories.id"],
        name="memories_whole_fkey",
        ondelete="CASCADE",
    ),
    ForeignKeyConstraint(
        ["tenant_id", "archive_id"],
        ["archives.tenant_id", "archives.id"],
        name="memories_archive_fkey",
        ondelete="CASCADE",
    ),
    CheckConstraint("type IN ('episode', 'passage', 'preference', 'fact', 'general', 'command_output')", name="type"),
)
# Every column a keyword search reads, so that it visits the table only for rows it returns. Ids are hashed and terms
# bounded, because an index entry holds at most 2704 bytes.
Index(
    "memories_search_idx",
    memories.c.tenant_id,
    memories.c.owner,
    memories.c.id,
    postgresql_include=[
        "type",
        "conversation_uid",
        "seq",
        "page",
        "archive_id",
        "start",
        "length",
        "sensitive",
        "expires_at",
        "terms",
    ],
)
Index("memories_part_idx", memories.c.tenant_id, memories.c.part_of, postgresql_where=memories.c.part_of.isnot(None))
Index("memories_archive_idx", memories.c.tenant_id, memories.c.archive_id, memories.c.start)
Index("memories_conversation_idx", memories.c.tenant_id, memories.c.conversation_id, memories.c.seq)

idempotency = Table(
    "idempotency",
    metadata,
    _tenant(),
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
    _created(),
    PrimaryKeyConstraint("tenant_id", "key"),
    CheckConstraint("char_length(key) BETWEEN 1 AND 255", name="key_length"),
)
Index("idempotency_created_idx", idempotency.c.tenant_id, idempotency.c.created_at)
Index("idempotency_owner_idx", idempotency.c.tenant_id, idempotency.c.owner, idempotency.c.key)

# --- Results of background work ---------------------------------------------------------------------

work = Table(
    "work",
    metadata,
    _tenant(),
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
    _counter("attempts"),
    Column("excused", Integer, nullable=False, server_default=ZERO, comment="attempts that the provider foiled"),
    Column("failed_at", DateTime(timezone=True), comment="set: a dead letter"),
    Column("error", Text, comment="of the latest attempt; never content"),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=NOW, comment="since when it is due"),
    PrimaryKeyConstraint("tenant_id", "kind", "subject"),
    _of_conversation("work"),
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

page_index = Table(
    "page_index",
    metadata,
    _tenant(),
    _conversation(),
    Column("page", Integer, nullable=False),
    Column("revision", Integer, nullable=False, comment="heads made before it do not know the entry"),
    Column("source", Text, nullable=False),
    Column("model", Text),
    Column("title", Text, comment="null: the page's own is as good"),
    Column("title_tokens", Integer, nullable=False, server_default=ZERO),
    Column("topics", ARRAY(Text), nullable=False, server_default=text("'{}'")),
    Column(
        "seqs", ARRAY(Integer), nullable=False, server_default=text("'{}'"), comment="messages that have a line here"
    ),
    Column("lines", ARRAY(Text), nullable=False, server_default=text("'{}'")),
    Column("line_tokens", ARRAY(Integer), nullable=False, server_default=text("'{}'")),
    Column("error", Text, comment="why it is not by the LLM"),
    _created(),
    PrimaryKeyConstraint("tenant_id", "conversation_id", "page"),
    _of_conversation("page_index"),
    CheckConstraint("source IN ('llm', 'extractive')", name="source"),
)

topic_mentions = Table(
    "topic_mentions",
    metadata,
    _tenant(),
    _conversation(),
    Column("topic", Text(collation="C"), nullable=False),
    Column("count", Integer, nullable=False, comment="this was the topic's n-th mention"),
    Column("page", Integer, nullable=False),
    Column("revision", Integer, nullable=False),
    _created(),
    PrimaryKeyConstraint("tenant_id", "conversation_id", "topic", "count"),
    _of_conversation("topic_mentions"),
)
Index("topic_mentions_recent_idx", topic_mentions.c.tenant_id, topic_mentions.c.conversation_id, topic_mentions.c.page)

summaries = Table(
    "summaries",
    metadata,
    _tenant(),
    _conversation(),
    Column("version", Integer, nullable=False),
    Column("through_seq", Integer, nullable=False),
    Column("revision", Integer, nullable=False, comment="heads made before it do not know the version"),
    Column("text", Text, nullable=False),
    Column("tokens", Integer, nullable=False),
    Column("model", Text, nullable=False),
    _created(),
    PrimaryKeyConstraint("tenant_id", "conversation_id", "version"),
    _of_conversation("summaries"),
)

embedding_models = Table(
    "embedding_models",
    metadata,
    _tenant(),
    Column("id", Uuid, nullable=False, comment="uuid5 of name and dimensions"),
    Column("name", Text, nullable=False),
    Column("dimensions", Integer, nullable=False, comment="as the model gives them; wider ones are kept reduced"),
    Column("is_current", Boolean, nullable=False),
    _created(),
    PrimaryKeyConstraint("tenant_id", "id"),
)

embeddings = Table(
    "embeddings",
    metadata,
    _tenant(),
    Column("memory_id", Uuid, nullable=False),
    Column("owner", Uuid, nullable=False),
    Column("model", Uuid, nullable=False),
    Column("embedding", HALFVEC, nullable=False, comment="of unit length"),
    PrimaryKeyConstraint("tenant_id", "memory_id"),
    ForeignKeyConstraint(
        ["tenant_id", "memory_id"],
        ["memories.tenant_id", "memories.id"],
        name="embeddings_memory_fkey",
        ondelete="CASCADE",
    ),
)
# Every column a semantic search reads; see the limit at memories_search_idx.
Index(
    "embeddings_search_idx",
    embeddings.c.tenant_id,
    embeddings.c.owner,
    embeddings.c.model,
    embeddings.c.memory_id,
    postgresql_include=["embedding"],
)

unembedded = Table(
    "unembedded",
    metadata,
    _tenant(),
    Column("owner", Uuid, nullable=False),
    Column("memory_id", Uuid, nullable=False),
    PrimaryKeyConstraint("tenant_id", "owner", "memory_id"),
    ForeignKeyConstraint(
        ["tenant_id", "memory_id"],
        ["memories.tenant_id", "memories.id"],
        name="unembedded_memory_fkey",
        ondelete="CASCADE",
    ),
)
Index("unembedded_memory_idx", unembedded.c.tenant_id, unembedded.c.memory_id)

spending = Table(
    "spending",
    metadata,
    _tenant(),
    Column("day", Date, nullable=False),
    Column("kind", Text, nullable=False, comment="of the work that it was spent on"),
    _counter("calls", big=True),
    _counter("prompt_tokens", big=True),
    _counter("completion_tokens", big=True),
    PrimaryKeyConstraint("tenant_id", "day", "kind"),
)

conversation_spending = Table(
    "conversation_spending",
    metadata,
    _tenant(),
    _conversation(),
    Column("kind", Text, nullable=False),
    _counter("calls", big=True),
    _counter("prompt_tokens", big=True),
    _counter("completion_tokens", big=True),
    PrimaryKeyConstraint("tenant_id", "conversation_id", "kind"),
    _of_conversation("conversation_spending"),
)

# --- Access -----------------------------------------------------------------------------------------

tenants = Table(
    "tenants",
    metadata,
    _tenant(),
    Column("name", Text, nullable=False),
    Column("keyed_at", DateTime(timezone=True), comment="since when callers need a key; never unset"),
    _created(),
    PrimaryKeyConstraint("tenant_id"),
    CheckConstraint("char_length(name) BETWEEN 1 AND 200", name="name_length"),
)
"""The one table whose rows every tenant can list: the worker iterates over it, and it holds no content. Only the
tenant itself writes its row."""

keys = Table(
    "keys",
    metadata,
    _tenant(),
    Column("id", Uuid, nullable=False, comment="the public part; stands in the key"),
    Column("digest", LargeBinary, nullable=False, comment="SHA-256 of the secret part"),
    Column("name", Text, nullable=False),
    Column("scopes", ARRAY(Text), nullable=False),
    Column("user_id", Text(collation="C"), comment="the one user that it sees; null: all of the tenant's"),
    _created(),
    Column("expires_at", DateTime(timezone=True)),
    Column("revoked_at", DateTime(timezone=True)),
    Column("last_used_at", DateTime(timezone=True), comment="to a minute"),
    PrimaryKeyConstraint("tenant_id", "id"),
    ForeignKeyConstraint(["tenant_id"], ["tenants.tenant_id"]),
    CheckConstraint("octet_length(digest) = 32", name="digest_length"),
    CheckConstraint(
        "cardinality(scopes) > 0 AND scopes <@ ARRAY['read', 'write', 'admin', 'memories:sensitive']", name="scopes"
    ),
)
Index("keys_user_idx", keys.c.tenant_id, keys.c.user_id, keys.c.id)

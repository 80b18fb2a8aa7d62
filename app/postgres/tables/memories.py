"""Archives, memories and their vectors."""

from pgvector.sqlalchemy import HALFVEC, SPARSEVEC
from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    SmallInteger,
    Table,
    Text,
    Uuid,
    and_,
    text,
)

from app.postgres.tables.base import created, metadata, of_conversation, tenant

DIMENSIONS = 1_000_000_000
"""Dimensions of a text's term vector; see app.text.bm25."""

archive_contents = Table(
    "archive_contents",
    metadata,
    tenant(),
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
    tenant(),
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
    created(),
    Column(
        "parts",
        Text,
        comment="what matters of it to its page's question, the best first, as JSON; null: not chosen",
    ),
    PrimaryKeyConstraint("tenant_id", "id"),
    ForeignKeyConstraint(
        ["tenant_id", "scope", "digest"],
        ["archive_contents.tenant_id", "archive_contents.scope", "archive_contents.digest"],
        name="archives_content_fkey",
    ),
    of_conversation("archives"),
)
Index(
    "archives_expiry_idx",
    archives.c.tenant_id,
    archives.c.expires_at,
    postgresql_where=archives.c.expires_at.isnot(None),
)
Index("archives_content_idx", archives.c.tenant_id, archives.c.scope, archives.c.digest)
Index("archives_scope_idx", archives.c.tenant_id, archives.c.scope, archives.c.id)
Index("archives_place_idx", archives.c.tenant_id, archives.c.conversation_id, archives.c.seq)
Index("archives_conversation_idx", archives.c.tenant_id, archives.c.conversation_id, archives.c.id)

memories = Table(
    "memories",
    metadata,
    tenant(),
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
    Column(
        "refused", Boolean, nullable=False, server_default=text("false"), comment="refused by the embedding provider"
    ),
    Column("part_of", Uuid, comment="the memory whose content it is a passage of"),
    Column("expires_at", DateTime(timezone=True)),
    created(),
    Column("scope", Text(collation="C"), comment="where it holds: u:user, s:space or c:conversation; null: a passage"),
    Column("holder", Uuid, comment="hash of that; the owner is the wider scope that finds it"),
    Column("key", Text(collation="C"), comment="of what its scope has one value of at a time"),
    Column("words", ARRAY(Integer), comment="terms of a key's value; null: of one that its message finds"),
    Column("pinned", Boolean, nullable=False, server_default=text("false"), comment="kept in view"),
    Column("status", Text, nullable=False, server_default=text("'held'")),
    Column("tokens", Integer, nullable=False, server_default=text("'0'"), comment="of a pinned one's content"),
    Column("quote", Text, comment="the person's words in its message, where they are not its content"),
    Column("valid_from", DateTime(timezone=True), comment="since when it is true"),
    Column("valid_to", DateTime(timezone=True), comment="when it was ended; that of its first moment: it ends its key"),
    Column("learnt_at", DateTime(timezone=True), comment="when it was stored: heads made before do not know it"),
    Column("former", Boolean, nullable=False, server_default=text("false"), comment="another value of its key holds"),
    PrimaryKeyConstraint("tenant_id", "id"),
    of_conversation("memories"),
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
    CheckConstraint("status IN ('held', 'proposed', 'refused', 'withdrawn', 'retracted')", name="status"),
    CheckConstraint("valid_to >= valid_from", name="validity"),
    CheckConstraint(
        "scope IS NULL OR (holder IS NOT NULL AND valid_from IS NOT NULL AND learnt_at IS NOT NULL)", name="dated"
    ),
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
# Partial, all of them, so that no plan of a search can use them: one made before the table is analyzed would read all
# of the tenant's memories for each that it looks up by id.
Index(
    "memories_expiry_idx",
    memories.c.tenant_id,
    memories.c.expires_at,
    postgresql_where=memories.c.expires_at.isnot(None),
)
Index("memories_refused_idx", memories.c.tenant_id, memories.c.owner, postgresql_where=memories.c.refused)
Index(
    "memories_pinned_idx",
    memories.c.tenant_id,
    memories.c.holder,
    memories.c.key,
    memories.c.valid_from,
    postgresql_where=and_(memories.c.pinned, ~memories.c.former),
)
Index(
    "memories_value_key",
    memories.c.tenant_id,
    memories.c.holder,
    memories.c.key,
    unique=True,
    postgresql_where=text("key IS NOT NULL AND status = 'held' AND NOT former"),
)
Index(
    "memories_key_idx",
    memories.c.tenant_id,
    memories.c.holder,
    memories.c.key,
    memories.c.valid_from,
    postgresql_where=memories.c.key.isnot(None),
)
Index(
    "memories_content_idx",
    memories.c.tenant_id,
    memories.c.holder,
    text("md5(content)"),
    postgresql_where=memories.c.holder.isnot(None),
)
Index("memories_part_idx", memories.c.tenant_id, memories.c.part_of, postgresql_where=memories.c.part_of.isnot(None))
Index(
    "memories_archive_idx",
    memories.c.tenant_id,
    memories.c.archive_id,
    memories.c.start,
    postgresql_where=memories.c.archive_id.isnot(None),
)
Index(
    "memories_conversation_idx",
    memories.c.tenant_id,
    memories.c.conversation_id,
    memories.c.seq,
    postgresql_where=memories.c.conversation_id.isnot(None),
)

spaces = Table(
    "spaces",
    metadata,
    tenant(),
    Column("id", Text(collation="C"), nullable=False),
    Column("name", Text),
    Column(
        "participants",
        Text,
        nullable=False,
        server_default=text("'{}'"),
        comment="users by the names that messages give them, JSON",
    ),
    Column("metadata", Text, nullable=False, server_default=text("'{}'"), comment="the caller's own, JSON"),
    created(),
    PrimaryKeyConstraint("tenant_id", "id"),
    CheckConstraint("char_length(id) BETWEEN 1 AND 128", name="id_length"),
)

space_members = Table(
    "space_members",
    metadata,
    tenant(),
    Column("space_id", Text(collation="C"), nullable=False),
    Column("user_id", Text(collation="C"), nullable=False),
    Column("rights", Text, nullable=False, comment="read or write"),
    Column("owner", Uuid, nullable=False, comment="hash of the space's scope"),
    Column("member", Uuid, nullable=False, comment="hash of the user's scope"),
    created(),
    PrimaryKeyConstraint("tenant_id", "space_id", "user_id"),
    ForeignKeyConstraint(
        ["tenant_id", "space_id"],
        ["spaces.tenant_id", "spaces.id"],
        name="space_members_space_fkey",
        ondelete="CASCADE",
    ),
    CheckConstraint("rights IN ('read', 'write')", name="rights"),
)
Index(
    "space_members_member_idx",
    space_members.c.tenant_id,
    space_members.c.member,
    space_members.c.space_id,
    postgresql_include=["owner"],
)

withdrawals = Table(
    "withdrawals",
    metadata,
    tenant(),
    Column("owner", Uuid, nullable=False),
    Column("count", BigInteger, nullable=False, comment="times that a memory in view of the scope was taken back"),
    Column("at", DateTime(timezone=True), nullable=False, comment="the last of them"),
    PrimaryKeyConstraint("tenant_id", "owner"),
)

embedding_models = Table(
    "embedding_models",
    metadata,
    tenant(),
    Column("id", Uuid, nullable=False, comment="uuid5 of name and dimensions"),
    Column("name", Text, nullable=False),
    Column("dimensions", Integer, nullable=False, comment="as the model gives them; wider ones are kept reduced"),
    Column("is_current", Boolean, nullable=False),
    created(),
    PrimaryKeyConstraint("tenant_id", "id"),
)

embeddings = Table(
    "embeddings",
    metadata,
    tenant(),
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

# Of owners with very many memories alone: see app.jobs.search_index.
search_indexes = Table(
    "search_indexes",
    metadata,
    tenant(),
    Column("owner", Uuid, nullable=False),
    Column("model", Uuid, nullable=False, comment="whose vectors are in lists"),
    Column("centroids", ARRAY(HALFVEC), nullable=False, comment="of its lists"),
    Column("through", Uuid, comment="its memories up to it are indexed; null: all that have or had a vector"),
    PrimaryKeyConstraint("tenant_id", "owner"),
)

postings = Table(
    "postings",
    metadata,
    tenant(),
    Column("owner", Uuid, nullable=False),
    Column("term", Integer, nullable=False),
    Column("memory_id", Uuid, nullable=False),
    PrimaryKeyConstraint("tenant_id", "owner", "term", "memory_id"),
    ForeignKeyConstraint(
        ["tenant_id", "memory_id"],
        ["memories.tenant_id", "memories.id"],
        name="postings_memory_fkey",
        ondelete="CASCADE",
    ),
)
Index("postings_memory_idx", postings.c.tenant_id, postings.c.memory_id)

# Copies of vectors: a column of theirs would have to be written later, which leaves half of their index empty.
listed = Table(
    "listed",
    metadata,
    tenant(),
    Column("memory_id", Uuid, nullable=False),
    Column("owner", Uuid, nullable=False),
    Column("model", Uuid, nullable=False),
    Column("list", SmallInteger, nullable=False, comment="of its owner's search index"),
    Column("embedding", HALFVEC, nullable=False),
    PrimaryKeyConstraint("tenant_id", "memory_id"),
    ForeignKeyConstraint(
        ["tenant_id", "memory_id"],
        ["embeddings.tenant_id", "embeddings.memory_id"],
        name="listed_embedding_fkey",
        ondelete="CASCADE",
    ),
)
Index(
    "listed_search_idx",
    listed.c.tenant_id,
    listed.c.owner,
    listed.c.model,
    listed.c.list,
    postgresql_include=["memory_id", "embedding"],
)

unembedded = Table(
    "unembedded",
    metadata,
    tenant(),
    Column("owner", Uuid, nullable=False),
    Column("memory_id", Uuid, nullable=False),
    Column("is_said", Boolean, nullable=False, server_default=text("false"), comment="its message was said just now"),
    PrimaryKeyConstraint("tenant_id", "owner", "memory_id"),
    ForeignKeyConstraint(
        ["tenant_id", "memory_id"],
        ["memories.tenant_id", "memories.id"],
        name="unembedded_memory_fkey",
        ondelete="CASCADE",
    ),
)
Index("unembedded_memory_idx", unembedded.c.tenant_id, unembedded.c.memory_id)

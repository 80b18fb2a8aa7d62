"""Conversations, and what is made of their pages."""

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    SmallInteger,
    Table,
    Text,
    Uuid,
    text,
)

from app.postgres.tables.base import NOW, ZERO, conversation, counter, created, metadata, of_conversation, tenant

conversations = Table(
    "conversations",
    metadata,
    tenant(),
    Column("id", Text(collation="C"), nullable=False),
    Column("uid", Uuid, nullable=False, comment="tells a conversation from an erased one of the same id"),
    Column("user_id", Text(collation="C")),
    Column("space_id", Text(collation="C"), comment="the space that it belongs to; then no user"),
    Column("parent", Text(collation="C"), comment="the conversation whose sub-agent speaks in it"),
    Column(
        "is_apart",
        Boolean,
        nullable=False,
        server_default=text("false"),
        comment="what is said in it is found in it alone",
    ),
    Column("title", Text),
    Column("system", Text),
    Column("model", Text),
    Column("budget", Integer),
    Column("policy", Text, nullable=False, server_default=text("'{}'"), comment="overrides of paging settings, JSON"),
    Column("metadata", Text, nullable=False, server_default=text("'{}'"), comment="the caller's own, JSON"),
    created(),
    Column("updated_at", DateTime(timezone=True), nullable=False, server_default=NOW, comment="last activity"),
    Column("version", Integer, nullable=False, server_default=ZERO, comment="bumped by all that an append reads"),
    counter("last_seq"),
    counter("last_page"),
    counter("user_seq"),
    counter("prompt_through"),
    counter("open_group"),
    Column("open_calls", Text, nullable=False, server_default=text("'[]'"), comment="calls without a result, JSON"),
    counter("full_total", big=True),
    counter("short_total", big=True),
    counter("history_total", big=True),
    counter("prompt_tokens"),
    counter("system_tokens"),
    Column(
        "learned_percent",
        SmallInteger,
        nullable=False,
        server_default=ZERO,
        comment="what its model's API counted, in percent of the family's formula; 0: nothing was reported",
    ),
    Column(
        "file_percents",
        Text,
        nullable=False,
        server_default=text("'{}'"),
        comment="what its model's API makes of files, in percent of the usual, JSON by kind",
    ),
    Column("file_weights", Text, nullable=False, server_default=text("'[]'"), comment="its newest files' tokens, JSON"),
    Column("language", Text, comment="of Quire's own words in its windows: zh or en, from the first user message on"),
    Column("generation", BigInteger, nullable=False, server_default=ZERO, comment="grows when the past is changed"),
    Column("epoch", BigInteger, nullable=False, server_default=ZERO, comment="number of its newest cut"),
    Column("indexed_through", Integer, nullable=False, server_default=ZERO, comment="all pages up to it are indexed"),
    Column("summary_through", Integer, nullable=False, server_default=ZERO, comment="what the newest summary covers"),
    Column(
        "pruned_through",
        Integer,
        nullable=False,
        server_default=ZERO,
        comment="messages up to it are kept as marks and in search only",
    ),
    Column("chain", LargeBinary, comment="after its last message; null: it has none"),
    Column("asked", LargeBinary, comment="the chain where the newest request through the proxy ended"),
    Column("answered", LargeBinary, comment="the chain after the first answer that the proxy gave"),
    Column("said_at", DateTime(timezone=True), comment="the newest of its messages'; null: none has any"),
    Column("said_offset", SmallInteger, nullable=False, server_default=ZERO, comment="minutes ahead of UTC"),
    counter("chaptered_through"),
    Column("asked_from", Integer, comment="where the unanswered question to the proxy begins; null: there is none"),
    Column(
        "refused",
        Boolean,
        nullable=False,
        server_default=text("false"),
        comment="the model's API refused that question for good",
    ),
    counter("erasures"),
    Column(
        "has_earlier",
        Boolean,
        nullable=False,
        server_default=text("false"),
        comment="its user had other conversations when it began",
    ),
    Column(
        "scopes",
        ARRAY(Uuid),
        nullable=False,
        server_default=text("'{}'"),
        comment="owners of what it keeps in mind, the widest first",
    ),
    counter("recalled_seq"),
    Column("recalled", Text, comment="what was recalled for that user message, as a window shows it; null: nothing"),
    counter("recalled_tokens"),
    Column("parent_id", Text(collation="C"), comment="of a branch: the keeper of its last shared message"),
    Column("line", Text, nullable=False, server_default=text("'[]'"), comment="stretches of its ancestors, JSON"),
    Column("trunk", Text(collation="C"), comment="of a branch: the conversation that the tree began with"),
    Column(
        "is_forked", Boolean, nullable=False, server_default=text("false"), comment="others branch off, or did, from it"
    ),
    Column("shown", Text(collation="C"), comment="the branch that its id shows: where a caller's list went on"),
    PrimaryKeyConstraint("tenant_id", "id"),
    CheckConstraint("char_length(id) BETWEEN 1 AND 128", name="id_length"),
    CheckConstraint("last_seq >= 0 AND last_page >= 0", name="counts"),
)
Index(
    "conversations_space_recent_idx",
    conversations.c.tenant_id,
    conversations.c.space_id,
    conversations.c.updated_at,
    conversations.c.uid,
    postgresql_where=conversations.c.space_id.isnot(None),
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
    postgresql_where=text("octet_length(answered) > 0"),
)
Index(
    "conversations_asked_idx",
    conversations.c.tenant_id,
    conversations.c.user_id,
    conversations.c.asked,
    conversations.c.updated_at,
    postgresql_where=text("octet_length(asked) > 0"),
)

Index(
    "conversations_parent_idx",
    conversations.c.tenant_id,
    conversations.c.parent_id,
    conversations.c.id,
    postgresql_where=conversations.c.parent_id.isnot(None),
)
Index(
    "conversations_trunk_idx",
    conversations.c.tenant_id,
    conversations.c.trunk,
    conversations.c.updated_at,
    postgresql_where=conversations.c.trunk.isnot(None),
)
Index(
    "conversations_answered_idx",  # those that a list with an edited turn can branch off from
    conversations.c.tenant_id,
    conversations.c.user_id,
    conversations.c.answered,
    conversations.c.updated_at,
    postgresql_where=text("octet_length(answered) > 0"),
)

messages = Table(
    "messages",
    metadata,
    tenant(),
    conversation(),
    Column("seq", Integer, nullable=False),
    Column("id", Uuid, nullable=False),
    Column("client_id", Text(collation="C")),
    Column("page", Integer, nullable=False),
    Column("user_seq", Integer, nullable=False),
    Column("call_group", Integer, nullable=False),
    Column("kind", Text, nullable=False),
    Column("role", Text, nullable=False),
    Column("author", Text, nullable=False, server_default=text("'person'"), comment="whose words it holds"),
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
    Column("history_before", BigInteger, nullable=False, server_default=ZERO, comment="with what is archived"),
    Column("line", Text, nullable=False, comment="its line on the contents page"),
    Column("line_tokens", Integer, nullable=False),
    Column("words", Text, nullable=False, server_default=text("''"), comment="that can name a subject; for chapters"),
    Column("archive_ids", ARRAY(Uuid), nullable=False, server_default=text("'{}'")),
    Column(
        "fresh_tokens",
        ARRAY(Integer),
        nullable=False,
        server_default=text("'{}'"),
        comment="what each of them adds if it is shown whole",
    ),
    Column(
        "marks",
        ARRAY(Integer),
        nullable=False,
        server_default=text("'{}'"),
        comment="digits, Han, capitals and files, verbatim, condensed and of what passes; no zeros at the end",
    ),
    created(),
    Column("digest", LargeBinary, comment="of what it says: core.history.sync"),
    Column("chain", LargeBinary, comment="of all digests up to it"),
    Column("said_at", DateTime(timezone=True), comment="when it was said; null: the sender did not tell"),
    Column("said_offset", SmallInteger, nullable=False, server_default=ZERO, comment="minutes ahead of UTC"),
    Column(
        "salt",
        LargeBinary,
        nullable=False,
        server_default=text("uuid_send(gen_random_uuid())"),
        comment="in receipts; another once it is erased",
    ),
    PrimaryKeyConstraint("tenant_id", "conversation_id", "seq"),
    of_conversation("messages"),
    CheckConstraint("kind IN ('prompt', 'message', 'call', 'result', 'orphan', 'refused')", name="kind"),
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
    "messages_response_idx",  # answers by the id that a client of Responses continues them by
    messages.c.tenant_id,
    messages.c.client_id,
    postgresql_where=messages.c.client_id.like("resp\\_%"),
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
    tenant(),
    conversation(),
    Column("page", Integer, nullable=False),
    Column("first_seq", Integer, nullable=False),
    Column("title", Text, nullable=False),
    Column("title_tokens", Integer, nullable=False),
    created(),
    PrimaryKeyConstraint("tenant_id", "conversation_id", "page"),
    of_conversation("pages"),
)

cuts = Table(
    "cuts",
    metadata,
    tenant(),
    conversation(),
    Column("number", BigInteger, nullable=False),
    Column("budget", Integer, nullable=False),
    Column("step", SmallInteger, nullable=False, comment="in which the body gives way to a tail; 0: not at all"),
    Column("condensed_from", Integer, nullable=False),
    Column("verbatim_from", Integer, nullable=False),
    Column("pinned", Integer, nullable=False),
    Column("room", Integer, nullable=False, comment="tokens of head and body that it was made for"),
    Column("half_mark", BigInteger, nullable=False),
    Column("full_total", BigInteger, nullable=False, comment="tokens of the history when it was made"),
    Column("last_seq", Integer, nullable=False, comment="the newest message when it was made"),
    Column("last_page", Integer, nullable=False),
    Column("generation", BigInteger, nullable=False),
    Column("is_squeezed", Boolean, nullable=False, comment="not even the newest group fits: it holds for one message"),
    Column("forms", Text, nullable=False, comment="of fresh results that keep theirs, JSON"),
    Column("head", Text, nullable=False, comment="JSON of a Head"),
    Column("sources", ARRAY(Uuid), nullable=False, server_default=text("'{}'"), comment="memories that it quotes"),
    created(),
    PrimaryKeyConstraint("tenant_id", "conversation_id", "number"),
    of_conversation("cuts"),
)
Index(
    "cuts_sources_idx",
    cuts.c.tenant_id,
    cuts.c.conversation_id,
    postgresql_where=text("cardinality(sources) > 0"),
)

recalls = Table(
    "recalls",
    metadata,
    tenant(),
    conversation(),
    Column("page", Integer, nullable=False),
    Column("count", Integer, nullable=False, comment="this was the page's n-th recall"),
    Column("at_page", Integer, nullable=False, comment="the page that was being written"),
    created(),
    PrimaryKeyConstraint("tenant_id", "conversation_id", "page", "count"),
    of_conversation("recalls"),
)
Index("recalls_recent_idx", recalls.c.tenant_id, recalls.c.conversation_id, recalls.c.at_page)

page_index = Table(
    "page_index",
    metadata,
    tenant(),
    conversation(),
    Column("page", Integer, nullable=False),
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
    created(),
    PrimaryKeyConstraint("tenant_id", "conversation_id", "page"),
    of_conversation("page_index"),
    CheckConstraint("source IN ('llm', 'extractive')", name="source"),
)

chapters = Table(
    "chapters",
    metadata,
    tenant(),
    conversation(),
    Column("level", SmallInteger, nullable=False, comment="1: a chapter; more: a volume of those one level below"),
    Column("first_page", Integer, nullable=False),
    Column("last_page", Integer, nullable=False),
    Column("at_page", Integer, nullable=False, comment="opened when it closed; heads made before do not know it"),
    Column("terms", ARRAY(Text), nullable=False, comment="what tells it from the others, the best first"),
    Column("day", Text, nullable=False, comment="the first one, such as 2030-01-31"),
    created(),
    PrimaryKeyConstraint("tenant_id", "conversation_id", "level", "first_page"),
    of_conversation("chapters"),
    CheckConstraint("level >= 1 AND first_page BETWEEN 1 AND last_page AND last_page < at_page", name="place"),
)

chapter_names = Table(
    "chapter_names",
    metadata,
    tenant(),
    conversation(),
    Column("first_page", Integer, nullable=False, comment="of the chapter"),
    Column("last_page", Integer, nullable=False),
    Column("model", Text, nullable=False),
    Column("title", Text, nullable=False),
    created(),
    PrimaryKeyConstraint("tenant_id", "conversation_id", "first_page"),
    of_conversation("chapter_names"),
)

topic_mentions = Table(
    "topic_mentions",
    metadata,
    tenant(),
    conversation(),
    Column("topic", Text(collation="C"), nullable=False),
    Column("count", Integer, nullable=False, comment="this was the topic's n-th mention"),
    Column("page", Integer, nullable=False),
    created(),
    PrimaryKeyConstraint("tenant_id", "conversation_id", "topic", "count"),
    of_conversation("topic_mentions"),
)
Index("topic_mentions_recent_idx", topic_mentions.c.tenant_id, topic_mentions.c.conversation_id, topic_mentions.c.page)

summaries = Table(
    "summaries",
    metadata,
    tenant(),
    conversation(),
    Column("version", Integer, nullable=False),
    Column("through_seq", Integer, nullable=False),
    Column("text", Text, nullable=False),
    Column("tokens", Integer, nullable=False),
    Column("model", Text, nullable=False),
    created(),
    PrimaryKeyConstraint("tenant_id", "conversation_id", "version"),
    of_conversation("summaries"),
)

served_windows = Table(
    "served_windows",
    metadata,
    tenant(),
    conversation(),
    Column("first", Integer, nullable=False, comment="number of its first window; those after it count on"),
    Column("body", LargeBinary, nullable=False, comment="its windows' places, sizes and receipts; no text"),
    PrimaryKeyConstraint("tenant_id", "conversation_id", "first"),
    of_conversation("served_windows"),
    CheckConstraint("first >= 1", name="first"),
)

served_texts = Table(
    "served_texts",
    metadata,
    tenant(),
    conversation(),
    Column("digest", LargeBinary, nullable=False, comment="of the salted text"),
    Column("salt", LargeBinary, nullable=False),
    Column("part", Text, nullable=False, comment="of a window: head, system, tools, tail or query"),
    Column("through", Integer, nullable=False, comment="it can quote messages up to this one"),
    Column("body", LargeBinary, nullable=False, comment="its words and the places it quotes, packed"),
    Column("sources", ARRAY(Uuid), nullable=False, server_default=text("'{}'"), comment="memories and archives in it"),
    PrimaryKeyConstraint("tenant_id", "conversation_id", "digest"),
    of_conversation("served_texts"),
)
Index(
    "served_texts_sources_idx",
    served_texts.c.tenant_id,
    served_texts.c.conversation_id,
    postgresql_where=text("cardinality(sources) > 0"),
)

own_texts = Table(
    "own_texts",
    metadata,
    tenant(),
    Column("digest", LargeBinary, nullable=False, comment="of the text"),
    Column("body", LargeBinary, nullable=False, comment="Quire's own words in windows, compressed"),
    PrimaryKeyConstraint("tenant_id", "digest"),
)

"""The schema of Quire 0.1.

Revision: 0001
Follows: nothing
"""

import sqlalchemy as sa
from pgvector.sqlalchemy import HALFVEC, SPARSEVEC

from alembic import op

revision: str = '0001'
down_revision: str | None = None
branch_labels: None = None
depends_on: None = None

IN_VIEW = "current_setting('app.tenant', true)"
"""A tenant, and after it what of its rows a transaction sees: a star for all, or in three lines the owners, the scopes
and the conversations, each a star for all. Unset, or local to an earlier transaction, nothing.
"""
TENANT = f"tenant_id = nullif(left({IN_VIEW}, 36), '')::uuid"


def _line(place: int, kind: str) -> str:
    """An array, or null for all."""
    line = f"split_part({IN_VIEW}, E'\\n', {place})"
    return f"""(CASE WHEN '*' IN (substr({IN_VIEW}, 37), {line}) THEN NULL
 ELSE coalesce(nullif({line}, ''), '{{}}')::{kind}[] END)"""


def _once(line: str) -> str:
    """The same, read once a statement, not for each row: of tables that are read by the hundred."""
    return f"((SELECT {line})::{'uuid' if 'uuid' in line else 'text'}[])"


OWNERS, SCOPES, CONVERSATIONS = _once(_line(2, "uuid")), _line(3, "text"), _once(_line(4, "text"))
TABLES = (
    "archive_contents",
    "conversations",
    "embedding_models",
    "audit",
    "events",
    "webhooks",
    "idempotency",
    "own_texts",
    "rates",
    "spending",
    "storage",
    "tenants",
    "archives",
    "chapters",
    "chapter_names",
    "cuts",
    "keys",
    "messages",
    "page_index",
    "pages",
    "proxied_requests",
    "recalls",
    "served_texts",
    "served_windows",
    "summaries",
    "work",
    "memories",
    "embeddings",
    "search_indexes",
    "postings",
    "listed",
    "unembedded",
    "withdrawals",
    "spaces",
    "space_members",
)
BY_OWNER = ("memories", "embeddings", "search_indexes", "postings", "listed", "unembedded")
IN_SCOPE = {
    "conversations": "coalesce('s:' || space_id, 'u:' || user_id, '')",
    "archives": "scope",
    "archive_contents": "scope",
    "spaces": "'s:' || id",
    "space_members": "'s:' || space_id",
}
OF_CONVERSATIONS = (
    "messages", "pages", "page_index", "chapters", "chapter_names", "cuts", "recalls", "served_texts",
    "served_windows", "summaries", "proxied_requests", "spending",
)
"""Rows of the conversations that a transaction has opened, and of the others that it sees: a look-up for each row, which
the OFFSET keeps from becoming a scan of all conversations.
"""
ANSWERS = f"""(owner = '00000000-0000-0000-0000-000000000000' OR coalesce(owner = ANY ({OWNERS}), true)
 OR (SELECT {SCOPES} IS NULL))"""
WATCHED = ("work", "events")
"""Ids and numbers, of which a worker must see in which tenants some wait."""
READ_ALONE = """
DO $$ DECLARE role text; BEGIN
  FOR role IN SELECT DISTINCT grantee FROM information_schema.role_table_grants
               WHERE table_name = 'alembic_version' AND grantee <> current_user LOOP
    EXECUTE format('REVOKE INSERT, UPDATE, DELETE ON alembic_version FROM %I', role);
  END LOOP;
END $$
"""
"""The app's role compares the schema's version, and has no part in it."""
GROWING = ("messages", "memories", "embeddings", "postings", "listed")


def _in_view(table: str) -> str:
    """Return the condition under which a transaction sees a row of its tenant."""
    if table in BY_OWNER:
        return f"coalesce(owner = ANY ({OWNERS}), true)"
    if table in IN_SCOPE:
        scopes = SCOPES if table == "conversations" else _once(SCOPES)
        return f"coalesce({IN_SCOPE[table]} = ANY ({scopes}), true)"
    if table in OF_CONVERSATIONS:
        name = "coalesce(conversation_id, '')" if table == "spending" else "conversation_id"  # null: of the tenant
        return f"""(coalesce({name} = ANY ({CONVERSATIONS}), true) OR EXISTS (SELECT FROM conversations c
 WHERE c.tenant_id = {table}.tenant_id AND c.id = {table}.conversation_id OFFSET 0))"""
    return ANSWERS if table == "idempotency" else "true"


def _isolate(table: str) -> None:
    """Rows of the transaction's tenant only, for the owner too; no tenant, no rows. Who may write a conversation's rows
    is asked where it is looked up: a policy would not see the one that the same statement makes.
    """
    op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
    op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
    visible = f"{TENANT} AND {_in_view(table)}"
    checked = visible if table in BY_OWNER else TENANT
    op.execute(f"CREATE POLICY tenant ON {table} USING ({visible}) WITH CHECK ({checked})")


def upgrade() -> None:
    """One statement for each `op.execute`."""
    op.create_table('archive_contents',
    sa.Column('tenant_id', sa.Uuid(), nullable=False),
    sa.Column('scope', sa.Text(collation='C'), nullable=False, comment='u:user, or c:conversation where there is none'),
    sa.Column('digest', sa.LargeBinary(), nullable=False, comment='SHA-256 of the content'),
    sa.Column('content', sa.Text(), nullable=False),
    sa.Column('nul_offsets', sa.ARRAY(sa.Integer()), server_default=sa.text("'{}'"), nullable=False),
    sa.Column('length', sa.Integer(), nullable=False),
    sa.Column('tokens', sa.Integer(), nullable=False),
    sa.PrimaryKeyConstraint('tenant_id', 'scope', 'digest', name=op.f('archive_contents_pkey'))
    )
    op.create_table('conversations',
    sa.Column('tenant_id', sa.Uuid(), nullable=False),
    sa.Column('id', sa.Text(collation='C'), nullable=False),
    sa.Column('uid', sa.Uuid(), nullable=False, comment='tells a conversation from an erased one of the same id'),
    sa.Column('user_id', sa.Text(collation='C'), nullable=True),
    sa.Column('space_id', sa.Text(collation='C'), nullable=True, comment='the space that it belongs to; then no user'),
    sa.Column('parent', sa.Text(collation='C'), nullable=True, comment='the conversation whose sub-agent speaks in it'),
    sa.Column('is_apart', sa.Boolean(), server_default=sa.text('false'), nullable=False, comment='what is said in it is found in it alone'),
    sa.Column('title', sa.Text(), nullable=True),
    sa.Column('system', sa.Text(), nullable=True),
    sa.Column('model', sa.Text(), nullable=True),
    sa.Column('budget', sa.Integer(), nullable=True),
    sa.Column('policy', sa.Text(), server_default=sa.text("'{}'"), nullable=False, comment='overrides of paging settings, JSON'),
    sa.Column('metadata', sa.Text(), server_default=sa.text("'{}'"), nullable=False, comment="the caller's own, JSON"),
    sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('now()'), nullable=False),
    sa.Column('updated_at', sa.DateTime(timezone=True), server_default=sa.text('now()'), nullable=False, comment='last activity'),
    sa.Column('version', sa.Integer(), server_default=sa.text('0'), nullable=False, comment='bumped by all that an append reads'),
    sa.Column('last_seq', sa.Integer(), server_default=sa.text('0'), nullable=False),
    sa.Column('last_page', sa.Integer(), server_default=sa.text('0'), nullable=False),
    sa.Column('user_seq', sa.Integer(), server_default=sa.text('0'), nullable=False),
    sa.Column('prompt_through', sa.Integer(), server_default=sa.text('0'), nullable=False),
    sa.Column('open_group', sa.Integer(), server_default=sa.text('0'), nullable=False),
    sa.Column('open_calls', sa.Text(), server_default=sa.text("'[]'"), nullable=False, comment='calls without a result, JSON'),
    sa.Column('full_total', sa.BigInteger(), server_default=sa.text('0'), nullable=False),
    sa.Column('short_total', sa.BigInteger(), server_default=sa.text('0'), nullable=False),
    sa.Column('history_total', sa.BigInteger(), server_default=sa.text('0'), nullable=False),
    sa.Column('prompt_tokens', sa.Integer(), server_default=sa.text('0'), nullable=False),
    sa.Column('system_tokens', sa.Integer(), server_default=sa.text('0'), nullable=False),
    sa.Column('learned_percent', sa.SmallInteger(), server_default=sa.text('0'), nullable=False, comment="what its model's API counted, in percent of the family's formula; 0: nothing was reported"),
    sa.Column('file_percents', sa.Text(), server_default=sa.text("'{}'"), nullable=False, comment="what its model's API makes of files, in percent of the usual, JSON by kind"),
    sa.Column('file_weights', sa.Text(), server_default=sa.text("'[]'"), nullable=False, comment="its newest files' tokens, JSON"),
    sa.Column('language', sa.Text(), nullable=True, comment="of Quire's own words in its windows: zh or en, from the first user message on"),
    sa.Column('generation', sa.BigInteger(), server_default=sa.text('0'), nullable=False, comment='grows when the past is changed'),
    sa.Column('epoch', sa.BigInteger(), server_default=sa.text('0'), nullable=False, comment='number of its newest cut'),
    sa.Column('indexed_through', sa.Integer(), server_default=sa.text('0'), nullable=False, comment='all pages up to it are indexed'),
    sa.Column('summary_through', sa.Integer(), server_default=sa.text('0'), nullable=False, comment='what the newest summary covers'),
    sa.Column('pruned_through', sa.Integer(), server_default=sa.text('0'), nullable=False, comment='messages up to it are kept as marks and in search only'),
    sa.Column('chain', sa.LargeBinary(), nullable=True, comment='after its last message; null: it has none'),
    sa.Column('asked', sa.LargeBinary(), nullable=True, comment='the chain where the newest request through the proxy ended'),
    sa.Column('answered', sa.LargeBinary(), nullable=True, comment='the chain after the first answer that the proxy gave'),
    sa.Column('said_at', sa.DateTime(timezone=True), nullable=True, comment="the newest of its messages'; null: none has any"),
    sa.Column('said_offset', sa.SmallInteger(), server_default=sa.text('0'), nullable=False, comment='minutes ahead of UTC'),
    sa.Column('chaptered_through', sa.Integer(), server_default=sa.text('0'), nullable=False),
    sa.Column('asked_from', sa.Integer(), nullable=True, comment='where the unanswered question to the proxy begins; null: there is none'),
    sa.Column('refused', sa.Boolean(), server_default=sa.text('false'), nullable=False, comment="the model's API refused that question for good"),
    sa.Column('erasures', sa.Integer(), server_default=sa.text('0'), nullable=False),
    sa.Column('has_earlier', sa.Boolean(), server_default=sa.text('false'), nullable=False, comment='its user had other conversations when it began'),
    sa.Column('scopes', sa.ARRAY(sa.Uuid()), server_default=sa.text("'{}'"), nullable=False, comment='owners of what it keeps in mind, the widest first'),
    sa.Column('recalled_seq', sa.Integer(), server_default=sa.text('0'), nullable=False),
    sa.Column('recalled', sa.Text(), nullable=True, comment='what was recalled for that user message, as a window shows it; null: nothing'),
    sa.Column('recalled_tokens', sa.Integer(), server_default=sa.text('0'), nullable=False),
    sa.Column('parent_id', sa.Text(collation='C'), nullable=True, comment='of a branch: the keeper of its last shared message'),
    sa.Column('line', sa.Text(), server_default=sa.text("'[]'"), nullable=False, comment='stretches of its ancestors, JSON'),
    sa.Column('trunk', sa.Text(collation='C'), nullable=True, comment='of a branch: the conversation that the tree began with'),
    sa.Column('is_forked', sa.Boolean(), server_default=sa.text('false'), nullable=False, comment='others branch off, or did, from it'),
    sa.Column('shown', sa.Text(collation='C'), nullable=True, comment="the branch that its id shows: where a caller's list went on"),
    sa.CheckConstraint('char_length(id) BETWEEN 1 AND 128', name=op.f('conversations_id_length_check')),
    sa.CheckConstraint('last_seq >= 0 AND last_page >= 0', name=op.f('conversations_counts_check')),
    sa.PrimaryKeyConstraint('tenant_id', 'id', name=op.f('conversations_pkey'))
    )
    # Those that a list with an edited turn can branch off from.
    op.create_index('conversations_answered_idx', 'conversations', ['tenant_id', 'user_id', 'answered', 'updated_at'], unique=False, postgresql_where=sa.text('octet_length(answered) > 0'))
    op.create_index('conversations_parent_idx', 'conversations', ['tenant_id', 'parent_id', 'id'], unique=False, postgresql_where=sa.text('parent_id IS NOT NULL'))
    op.create_index('conversations_trunk_idx', 'conversations', ['tenant_id', 'trunk', 'updated_at'], unique=False, postgresql_where=sa.text('trunk IS NOT NULL'))
    op.create_index('conversations_asked_idx', 'conversations', ['tenant_id', 'user_id', 'asked', 'updated_at'], unique=False, postgresql_where=sa.text('octet_length(asked) > 0'))
    op.create_index('conversations_chain_idx', 'conversations', ['tenant_id', 'user_id', 'chain', 'updated_at'], unique=False, postgresql_where=sa.text('octet_length(answered) > 0'))
    op.create_index('conversations_recent_idx', 'conversations', ['tenant_id', 'updated_at', 'uid'], unique=False)
    op.create_index('conversations_space_recent_idx', 'conversations', ['tenant_id', 'space_id', 'updated_at', 'uid'], unique=False, postgresql_where=sa.text('space_id IS NOT NULL'))
    op.create_index('conversations_user_recent_idx', 'conversations', ['tenant_id', 'user_id', 'updated_at', 'uid'], unique=False)
    op.create_table('embedding_models',
    sa.Column('tenant_id', sa.Uuid(), nullable=False),
    sa.Column('id', sa.Uuid(), nullable=False, comment='uuid5 of name and dimensions'),
    sa.Column('name', sa.Text(), nullable=False),
    sa.Column('dimensions', sa.Integer(), nullable=False, comment='as the model gives them; wider ones are kept reduced'),
    sa.Column('is_current', sa.Boolean(), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('now()'), nullable=False),
    sa.PrimaryKeyConstraint('tenant_id', 'id', name=op.f('embedding_models_pkey'))
    )
    op.create_table('events',
    sa.Column('tenant_id', sa.Uuid(), nullable=False),
    sa.Column('id', sa.Uuid(), nullable=False, comment='about in the order in which they happened'),
    sa.Column('seq', sa.BigInteger(), nullable=True, comment='in the order in which they are told; null: not numbered yet'),
    sa.Column('type', sa.Text(), nullable=False),
    sa.Column('data', sa.Text(), nullable=False, comment='JSON of ids and numbers, never of content'),
    sa.PrimaryKeyConstraint('tenant_id', 'id', name=op.f('events_pkey'))
    )
    op.create_index('events_seq_key', 'events', ['tenant_id', 'seq'], unique=True, postgresql_where=sa.text('seq IS NOT NULL'))
    op.create_index('events_new_idx', 'events', ['tenant_id', 'id'], unique=False, postgresql_where=sa.text('seq IS NULL'))
    op.create_table('audit',
    sa.Column('tenant_id', sa.Uuid(), nullable=False),
    sa.Column('id', sa.Uuid(), nullable=False, comment='in the order of the entries'),
    sa.Column('action', sa.Text(), nullable=False, comment='read or erase'),
    sa.Column('route', sa.Text(), nullable=False, comment='method and path template'),
    sa.Column('ids', sa.Text(), nullable=False, comment='JSON: what the request named; never content'),
    sa.Column('key', sa.Uuid(), nullable=True, comment='of the caller'),
    sa.Column('user_id', sa.Text(collation='C'), nullable=True, comment='whom the caller is bound to, or names'),
    sa.Column('address', sa.Text(), nullable=False, comment='of the client'),
    sa.Column('status', sa.Integer(), nullable=False),
    sa.Column('request_id', sa.Text(), nullable=False),
    sa.PrimaryKeyConstraint('tenant_id', 'id', name=op.f('audit_pkey'))
    )
    op.create_table('webhooks',
    sa.Column('tenant_id', sa.Uuid(), nullable=False),
    sa.Column('id', sa.Uuid(), nullable=False),
    sa.Column('url', sa.Text(), nullable=False),
    sa.Column('secret', sa.Text(), nullable=False, comment='to sign with, so it is kept as it is'),
    sa.Column('types', sa.ARRAY(sa.Text()), nullable=False, comment='of events; empty: all'),
    sa.Column('cursor', sa.BigInteger(), nullable=False, comment='number of the last event that it got'),
    sa.Column('last_status', sa.Text(), nullable=True, comment='of the latest delivery'),
    sa.Column('failing_since', sa.DateTime(timezone=True), nullable=True),
    sa.Column('disabled_at', sa.DateTime(timezone=True), nullable=True, comment='set: nothing more is sent'),
    sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('now()'), nullable=False),
    sa.PrimaryKeyConstraint('tenant_id', 'id', name=op.f('webhooks_pkey'))
    )
    op.create_table('idempotency',
    sa.Column('tenant_id', sa.Uuid(), nullable=False),
    sa.Column('key', sa.Text(collation='C'), nullable=False),
    sa.Column('digest', sa.LargeBinary(), nullable=False, comment='SHA-256 of the request'),
    sa.Column('response', sa.Text(), nullable=False),
    sa.Column('owner', sa.Uuid(), server_default=sa.text("'00000000-0000-0000-0000-000000000000'"), nullable=False, comment='hash of the one scope that it may speak of; zeros: not known'),
    sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('now()'), nullable=False),
    sa.CheckConstraint('char_length(key) BETWEEN 1 AND 255', name=op.f('idempotency_key_length_check')),
    sa.PrimaryKeyConstraint('tenant_id', 'key', name=op.f('idempotency_pkey'))
    )
    op.create_index('idempotency_created_idx', 'idempotency', ['tenant_id', 'created_at'], unique=False)
    op.create_index('idempotency_owner_idx', 'idempotency', ['tenant_id', 'owner', 'key'], unique=False)
    op.create_table('own_texts',
    sa.Column('tenant_id', sa.Uuid(), nullable=False),
    sa.Column('digest', sa.LargeBinary(), nullable=False, comment='of the text'),
    sa.Column('body', sa.LargeBinary(), nullable=False, comment="Quire's own words in windows, compressed"),
    sa.PrimaryKeyConstraint('tenant_id', 'digest', name=op.f('own_texts_pkey'))
    )
    op.create_table('rates',
    sa.Column('tenant_id', sa.Uuid(), nullable=False),
    sa.Column('subject', sa.Uuid(), nullable=False, comment='a key, or the tenant itself'),
    sa.Column('tokens', sa.Double(), nullable=False, comment='requests that it can still send'),
    sa.Column('at', sa.DateTime(timezone=True), nullable=False, comment='when it had them'),
    sa.PrimaryKeyConstraint('tenant_id', 'subject', name=op.f('rates_pkey'))
    )
    op.create_table('storage',
    sa.Column('tenant_id', sa.Uuid(), nullable=False),
    sa.Column('user_id', sa.Text(collation='C'), nullable=False, comment="empty: what is nobody's"),
    sa.Column('bytes', sa.BigInteger(), server_default=sa.text('0'), nullable=False),
    sa.Column('counted_at', sa.DateTime(timezone=True), nullable=True, comment='null: to be counted anew'),
    sa.PrimaryKeyConstraint('tenant_id', 'user_id', name=op.f('storage_pkey'))
    )
    # The one table whose rows every tenant can list: the worker iterates over it, and it holds no content. Only the
    # tenant itself writes its row.
    op.create_table('tenants',
    sa.Column('tenant_id', sa.Uuid(), nullable=False),
    sa.Column('name', sa.Text(), nullable=False),
    sa.Column('keyed_at', sa.DateTime(timezone=True), nullable=True, comment='since when callers need a key; never unset'),
    sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('now()'), nullable=False),
    sa.Column('requests_per_minute', sa.BigInteger(), nullable=True, comment="its own limit; null: the deployment's, 0: none"),
    sa.Column('background_tokens_per_day', sa.BigInteger(), nullable=True, comment='the same'),
    sa.Column('storage_bytes', sa.BigInteger(), nullable=True, comment='the same'),
    sa.Column('user_storage_bytes', sa.BigInteger(), nullable=True, comment='the same, of each user'),
    sa.Column('events', sa.Boolean(), server_default=sa.text('false'), nullable=False, comment='what happens is told'),
    sa.Column('last_event', sa.BigInteger(), server_default=sa.text('0'), nullable=False),
    sa.CheckConstraint('char_length(name) BETWEEN 1 AND 200', name=op.f('tenants_name_length_check')),
    sa.PrimaryKeyConstraint('tenant_id', name=op.f('tenants_pkey'))
    )
    op.create_table('archives',
    sa.Column('tenant_id', sa.Uuid(), nullable=False),
    sa.Column('id', sa.Uuid(), nullable=False),
    sa.Column('scope', sa.Text(collation='C'), nullable=False),
    sa.Column('digest', sa.LargeBinary(), nullable=False),
    sa.Column('user_id', sa.Text(collation='C'), nullable=True),
    sa.Column('conversation_id', sa.Text(collation='C'), nullable=True),
    sa.Column('seq', sa.Integer(), nullable=True),
    sa.Column('tool_name', sa.Text(), nullable=False),
    sa.Column('tool_input', sa.Text(), nullable=False),
    sa.Column('query_summary', sa.Text(), nullable=False),
    sa.Column('result_summary', sa.Text(), nullable=False),
    sa.Column('key_terms', sa.ARRAY(sa.Text()), nullable=False),
    sa.Column('sources', sa.ARRAY(sa.Text()), nullable=False),
    sa.Column('placeholder', sa.Text(), nullable=False),
    sa.Column('language', sa.Text(), nullable=False),
    sa.Column('expires_at', sa.DateTime(timezone=True), nullable=True),
    sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('now()'), nullable=False),
    sa.Column('parts', sa.Text(), nullable=True, comment="what matters of it to its page's question, the best first, as JSON; null: not chosen"),
    sa.ForeignKeyConstraint(['tenant_id', 'conversation_id'], ['conversations.tenant_id', 'conversations.id'], name='archives_conversation_fkey', ondelete='CASCADE'),
    sa.ForeignKeyConstraint(['tenant_id', 'scope', 'digest'], ['archive_contents.tenant_id', 'archive_contents.scope', 'archive_contents.digest'], name='archives_content_fkey'),
    sa.PrimaryKeyConstraint('tenant_id', 'id', name=op.f('archives_pkey'))
    )
    op.create_index('archives_content_idx', 'archives', ['tenant_id', 'scope', 'digest'], unique=False)
    op.create_index('archives_conversation_idx', 'archives', ['tenant_id', 'conversation_id', 'id'], unique=False)
    op.create_index('archives_expiry_idx', 'archives', ['tenant_id', 'expires_at'], unique=False, postgresql_where=sa.text('expires_at IS NOT NULL'))
    op.create_index('archives_place_idx', 'archives', ['tenant_id', 'conversation_id', 'seq'], unique=False)
    op.create_index('archives_scope_idx', 'archives', ['tenant_id', 'scope', 'id'], unique=False)
    op.create_table('chapters',
    sa.Column('tenant_id', sa.Uuid(), nullable=False),
    sa.Column('conversation_id', sa.Text(collation='C'), nullable=False),
    sa.Column('level', sa.SmallInteger(), nullable=False, comment='1: a chapter; more: a volume of those one level below'),
    sa.Column('first_page', sa.Integer(), nullable=False),
    sa.Column('last_page', sa.Integer(), nullable=False),
    sa.Column('at_page', sa.Integer(), nullable=False, comment='opened when it closed; heads made before do not know it'),
    sa.Column('terms', sa.ARRAY(sa.Text()), nullable=False, comment='what tells it from the others, the best first'),
    sa.Column('day', sa.Text(), nullable=False, comment='the first one, such as 2030-01-31'),
    sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('now()'), nullable=False),
    sa.CheckConstraint('level >= 1 AND first_page BETWEEN 1 AND last_page AND last_page < at_page', name=op.f('chapters_place_check')),
    sa.ForeignKeyConstraint(['tenant_id', 'conversation_id'], ['conversations.tenant_id', 'conversations.id'], name='chapters_conversation_fkey', ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('tenant_id', 'conversation_id', 'level', 'first_page', name=op.f('chapters_pkey'))
    )
    op.create_table('chapter_names',
    sa.Column('tenant_id', sa.Uuid(), nullable=False),
    sa.Column('conversation_id', sa.Text(collation='C'), nullable=False),
    sa.Column('first_page', sa.Integer(), nullable=False, comment='of the chapter'),
    sa.Column('last_page', sa.Integer(), nullable=False),
    sa.Column('model', sa.Text(), nullable=False),
    sa.Column('title', sa.Text(), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('now()'), nullable=False),
    sa.ForeignKeyConstraint(['tenant_id', 'conversation_id'], ['conversations.tenant_id', 'conversations.id'], name='chapter_names_conversation_fkey', ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('tenant_id', 'conversation_id', 'first_page', name=op.f('chapter_names_pkey'))
    )
    op.create_table('spending',
    sa.Column('tenant_id', sa.Uuid(), nullable=False),
    sa.Column('conversation_id', sa.Text(collation='C'), nullable=True, comment="null: the tenant's total, conversations that are gone too"),
    sa.Column('day', sa.Date(), nullable=False),
    sa.Column('kind', sa.Text(), nullable=False, comment='of the work that it was spent on'),
    sa.Column('model', sa.Text(collation='C'), nullable=False),
    sa.Column('calls', sa.BigInteger(), server_default=sa.text('0'), nullable=False),
    sa.Column('prompt_tokens', sa.BigInteger(), server_default=sa.text('0'), nullable=False),
    sa.Column('completion_tokens', sa.BigInteger(), server_default=sa.text('0'), nullable=False),
    sa.Column('cached_tokens', sa.BigInteger(), server_default=sa.text('0'), nullable=False),
    sa.Column('written_tokens', sa.BigInteger(), server_default=sa.text('0'), nullable=False),
    sa.Column('saved_tokens', sa.BigInteger(), server_default=sa.text('0'), nullable=False, comment='of histories that windows left out'),
    sa.ForeignKeyConstraint(['tenant_id', 'conversation_id'], ['conversations.tenant_id', 'conversations.id'], name='spending_conversation_fkey', ondelete='CASCADE'),
    sa.UniqueConstraint('tenant_id', 'conversation_id', 'day', 'kind', 'model', name='spending_key', postgresql_nulls_not_distinct=True)
    )
    op.create_index('spending_day_idx', 'spending', ['tenant_id', 'day'], unique=False, postgresql_where=sa.text('conversation_id IS NOT NULL'))
    op.create_table('cuts',
    sa.Column('tenant_id', sa.Uuid(), nullable=False),
    sa.Column('conversation_id', sa.Text(collation='C'), nullable=False),
    sa.Column('number', sa.BigInteger(), nullable=False),
    sa.Column('budget', sa.Integer(), nullable=False),
    sa.Column('step', sa.SmallInteger(), nullable=False, comment='in which the body gives way to a tail; 0: not at all'),
    sa.Column('condensed_from', sa.Integer(), nullable=False),
    sa.Column('verbatim_from', sa.Integer(), nullable=False),
    sa.Column('pinned', sa.Integer(), nullable=False),
    sa.Column('room', sa.Integer(), nullable=False, comment='tokens of head and body that it was made for'),
    sa.Column('half_mark', sa.BigInteger(), nullable=False),
    sa.Column('full_total', sa.BigInteger(), nullable=False, comment='tokens of the history when it was made'),
    sa.Column('last_seq', sa.Integer(), nullable=False, comment='the newest message when it was made'),
    sa.Column('last_page', sa.Integer(), nullable=False),
    sa.Column('generation', sa.BigInteger(), nullable=False),
    sa.Column('is_squeezed', sa.Boolean(), nullable=False, comment='not even the newest group fits: it holds for one message'),
    sa.Column('forms', sa.Text(), nullable=False, comment='of fresh results that keep theirs, JSON'),
    sa.Column('head', sa.Text(), nullable=False, comment='JSON of a Head'),
    sa.Column('sources', sa.ARRAY(sa.Uuid()), server_default=sa.text("'{}'"), nullable=False, comment='memories that it quotes'),
    sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('now()'), nullable=False),
    sa.ForeignKeyConstraint(['tenant_id', 'conversation_id'], ['conversations.tenant_id', 'conversations.id'], name='cuts_conversation_fkey', ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('tenant_id', 'conversation_id', 'number', name=op.f('cuts_pkey'))
    )
    op.create_index('cuts_sources_idx', 'cuts', ['tenant_id', 'conversation_id'], unique=False, postgresql_where=sa.text('cardinality(sources) > 0'))
    op.create_table('keys',
    sa.Column('tenant_id', sa.Uuid(), nullable=False),
    sa.Column('id', sa.Uuid(), nullable=False, comment='the public part; stands in the key'),
    sa.Column('digest', sa.LargeBinary(), nullable=False, comment='SHA-256 of the secret part'),
    sa.Column('name', sa.Text(), nullable=False),
    sa.Column('scopes', sa.ARRAY(sa.Text()), nullable=False),
    sa.Column('user_id', sa.Text(collation='C'), nullable=True, comment="the one user that it sees; null: all of the tenant's"),
    sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('now()'), nullable=False),
    sa.Column('expires_at', sa.DateTime(timezone=True), nullable=True),
    sa.Column('revoked_at', sa.DateTime(timezone=True), nullable=True),
    sa.Column('last_used_at', sa.DateTime(timezone=True), nullable=True, comment='to a minute'),
    sa.Column('requests_per_minute', sa.BigInteger(), nullable=True, comment="its own limit; null: the deployment's, 0: none"),
    sa.CheckConstraint("cardinality(scopes) > 0 AND scopes <@ ARRAY['read', 'write', 'admin', 'memories:sensitive']", name=op.f('keys_scopes_check')),
    sa.CheckConstraint('octet_length(digest) = 32', name=op.f('keys_digest_length_check')),
    sa.ForeignKeyConstraint(['tenant_id'], ['tenants.tenant_id'], name=op.f('keys_tenant_id_fkey')),
    sa.PrimaryKeyConstraint('tenant_id', 'id', name=op.f('keys_pkey'))
    )
    op.create_index('keys_user_idx', 'keys', ['tenant_id', 'user_id', 'id'], unique=False)
    op.create_table('messages',
    sa.Column('tenant_id', sa.Uuid(), nullable=False),
    sa.Column('conversation_id', sa.Text(collation='C'), nullable=False),
    sa.Column('seq', sa.Integer(), nullable=False),
    sa.Column('id', sa.Uuid(), nullable=False),
    sa.Column('client_id', sa.Text(collation='C'), nullable=True),
    sa.Column('page', sa.Integer(), nullable=False),
    sa.Column('user_seq', sa.Integer(), nullable=False),
    sa.Column('call_group', sa.Integer(), nullable=False),
    sa.Column('kind', sa.Text(), nullable=False),
    sa.Column('role', sa.Text(), nullable=False),
    sa.Column('author', sa.Text(), server_default=sa.text("'person'"), nullable=False, comment='whose words it holds'),
    sa.Column('body', sa.Text(), nullable=False, comment='as sent, canonical JSON; archived text results are left out of it'),
    sa.Column('view', sa.Text(), nullable=True, comment='as a model sees it; null if that is the body'),
    sa.Column('short', sa.Text(), nullable=True, comment='condensed; null if that is the view'),
    sa.Column('loaded', sa.Text(), nullable=True, comment='with what a recall tool brought in'),
    sa.Column('anthropic', sa.Text(), nullable=True, comment='as sent in Anthropic form'),
    sa.Column('parts', sa.SmallInteger(), nullable=False, comment='chat messages in view'),
    sa.Column('calls', sa.SmallInteger(), nullable=False),
    sa.Column('results', sa.SmallInteger(), nullable=False),
    sa.Column('full_tokens', sa.Integer(), nullable=False),
    sa.Column('short_tokens', sa.Integer(), nullable=False),
    sa.Column('loaded_tokens', sa.Integer(), nullable=False),
    sa.Column('full_before', sa.BigInteger(), nullable=False),
    sa.Column('short_before', sa.BigInteger(), nullable=False),
    sa.Column('history_before', sa.BigInteger(), server_default=sa.text('0'), nullable=False, comment='with what is archived'),
    sa.Column('line', sa.Text(), nullable=False, comment='its line on the contents page'),
    sa.Column('line_tokens', sa.Integer(), nullable=False),
    sa.Column('words', sa.Text(), server_default=sa.text("''"), nullable=False, comment='that can name a subject; for chapters'),
    sa.Column('archive_ids', sa.ARRAY(sa.Uuid()), server_default=sa.text("'{}'"), nullable=False),
    sa.Column('fresh_tokens', sa.ARRAY(sa.Integer()), server_default=sa.text("'{}'"), nullable=False, comment='what each of them adds if it is shown whole'),
    sa.Column('marks', sa.ARRAY(sa.Integer()), server_default=sa.text("'{}'"), nullable=False, comment='digits, Han, capitals and files, verbatim, condensed and of what passes; no zeros at the end'),
    sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('now()'), nullable=False),
    sa.Column('digest', sa.LargeBinary(), nullable=True, comment='of what it says: core.history.sync'),
    sa.Column('chain', sa.LargeBinary(), nullable=True, comment='of all digests up to it'),
    sa.Column('said_at', sa.DateTime(timezone=True), nullable=True, comment='when it was said; null: the sender did not tell'),
    sa.Column('said_offset', sa.SmallInteger(), server_default=sa.text('0'), nullable=False, comment='minutes ahead of UTC'),
    sa.Column('salt', sa.LargeBinary(), server_default=sa.text('uuid_send(gen_random_uuid())'), nullable=False, comment='in receipts; another once it is erased'),
    sa.CheckConstraint("kind IN ('prompt', 'message', 'call', 'result', 'orphan', 'refused')", name=op.f('messages_kind_check')),
    sa.CheckConstraint('page >= 1 AND seq >= 1 AND call_group BETWEEN 1 AND seq AND user_seq <= seq', name=op.f('messages_place_check')),
    sa.CheckConstraint('short_tokens <= full_tokens', name=op.f('messages_short_is_shorter_check')),
    sa.ForeignKeyConstraint(['tenant_id', 'conversation_id'], ['conversations.tenant_id', 'conversations.id'], name='messages_conversation_fkey', ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('tenant_id', 'conversation_id', 'seq', name=op.f('messages_pkey'))
    )
    op.create_index('messages_client_id_key', 'messages', ['tenant_id', 'conversation_id', 'client_id'], unique=True, postgresql_where=sa.text('client_id IS NOT NULL'))
    # What recall tools loaded: every erasure searches it.
    op.create_index('messages_loaded_idx', 'messages', ['tenant_id', 'conversation_id', 'seq'], unique=False, postgresql_where=sa.text('loaded IS NOT NULL'))
    op.create_index('messages_offset_idx', 'messages', ['tenant_id', 'conversation_id', 'short_before', 'seq'], unique=False)
    # Answers by the id that a client of Responses continues them by.
    op.create_index('messages_response_idx', 'messages', ['tenant_id', 'client_id'], unique=False, postgresql_where=sa.text("client_id LIKE 'resp\\_%'"))
    op.create_table('page_index',
    sa.Column('tenant_id', sa.Uuid(), nullable=False),
    sa.Column('conversation_id', sa.Text(collation='C'), nullable=False),
    sa.Column('page', sa.Integer(), nullable=False),
    sa.Column('source', sa.Text(), nullable=False),
    sa.Column('model', sa.Text(), nullable=True),
    sa.Column('title', sa.Text(), nullable=True, comment="null: the page's own is as good"),
    sa.Column('title_tokens', sa.Integer(), server_default=sa.text('0'), nullable=False),
    sa.Column('topics', sa.ARRAY(sa.Text()), server_default=sa.text("'{}'"), nullable=False),
    sa.Column('seqs', sa.ARRAY(sa.Integer()), server_default=sa.text("'{}'"), nullable=False, comment='messages that have a line here'),
    sa.Column('lines', sa.ARRAY(sa.Text()), server_default=sa.text("'{}'"), nullable=False),
    sa.Column('line_tokens', sa.ARRAY(sa.Integer()), server_default=sa.text("'{}'"), nullable=False),
    sa.Column('error', sa.Text(), nullable=True, comment='why it is not by the LLM'),
    sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('now()'), nullable=False),
    sa.CheckConstraint("source IN ('llm', 'extractive')", name=op.f('page_index_source_check')),
    sa.ForeignKeyConstraint(['tenant_id', 'conversation_id'], ['conversations.tenant_id', 'conversations.id'], name='page_index_conversation_fkey', ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('tenant_id', 'conversation_id', 'page', name=op.f('page_index_pkey'))
    )
    op.create_table('pages',
    sa.Column('tenant_id', sa.Uuid(), nullable=False),
    sa.Column('conversation_id', sa.Text(collation='C'), nullable=False),
    sa.Column('page', sa.Integer(), nullable=False),
    sa.Column('first_seq', sa.Integer(), nullable=False),
    sa.Column('title', sa.Text(), nullable=False),
    sa.Column('title_tokens', sa.Integer(), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('now()'), nullable=False),
    sa.ForeignKeyConstraint(['tenant_id', 'conversation_id'], ['conversations.tenant_id', 'conversations.id'], name='pages_conversation_fkey', ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('tenant_id', 'conversation_id', 'page', name=op.f('pages_pkey'))
    )
    op.create_table('proxied_requests',
    sa.Column('tenant_id', sa.Uuid(), nullable=False),
    sa.Column('conversation_id', sa.Text(collation='C'), nullable=False),
    sa.Column('id', sa.Uuid(), nullable=False, comment='in the order in which they ended'),
    sa.Column('request', sa.Text(), nullable=False, comment='what became of it, JSON; never content'),
    sa.ForeignKeyConstraint(['tenant_id', 'conversation_id'], ['conversations.tenant_id', 'conversations.id'], name='proxied_requests_conversation_fkey', ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('tenant_id', 'id', name=op.f('proxied_requests_pkey'))
    )
    op.create_index('proxied_requests_recent_idx', 'proxied_requests', ['tenant_id', 'conversation_id', 'id'], unique=False)
    op.create_table('recalls',
    sa.Column('tenant_id', sa.Uuid(), nullable=False),
    sa.Column('conversation_id', sa.Text(collation='C'), nullable=False),
    sa.Column('page', sa.Integer(), nullable=False),
    sa.Column('count', sa.Integer(), nullable=False, comment="this was the page's n-th recall"),
    sa.Column('at_page', sa.Integer(), nullable=False, comment='the page that was being written'),
    sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('now()'), nullable=False),
    sa.ForeignKeyConstraint(['tenant_id', 'conversation_id'], ['conversations.tenant_id', 'conversations.id'], name='recalls_conversation_fkey', ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('tenant_id', 'conversation_id', 'page', 'count', name=op.f('recalls_pkey'))
    )
    op.create_index('recalls_recent_idx', 'recalls', ['tenant_id', 'conversation_id', 'at_page'], unique=False)
    op.create_table('served_texts',
    sa.Column('tenant_id', sa.Uuid(), nullable=False),
    sa.Column('conversation_id', sa.Text(collation='C'), nullable=False),
    sa.Column('digest', sa.LargeBinary(), nullable=False, comment='of the salted text'),
    sa.Column('salt', sa.LargeBinary(), nullable=False),
    sa.Column('part', sa.Text(), nullable=False, comment='of a window: head, system, tools, tail or query'),
    sa.Column('through', sa.Integer(), nullable=False, comment='it can quote messages up to this one'),
    sa.Column('body', sa.LargeBinary(), nullable=False, comment='its words and the places it quotes, packed'),
    sa.Column('sources', sa.ARRAY(sa.Uuid()), server_default=sa.text("'{}'"), nullable=False, comment='memories and archives in it'),
    sa.ForeignKeyConstraint(['tenant_id', 'conversation_id'], ['conversations.tenant_id', 'conversations.id'], name='served_texts_conversation_fkey', ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('tenant_id', 'conversation_id', 'digest', name=op.f('served_texts_pkey'))
    )
    op.create_index('served_texts_sources_idx', 'served_texts', ['tenant_id', 'conversation_id'], unique=False, postgresql_where=sa.text('cardinality(sources) > 0'))
    op.create_table('served_windows',
    sa.Column('tenant_id', sa.Uuid(), nullable=False),
    sa.Column('conversation_id', sa.Text(collation='C'), nullable=False),
    sa.Column('first', sa.Integer(), nullable=False, comment='number of its first window; those after it count on'),
    sa.Column('body', sa.LargeBinary(), nullable=False, comment="its windows' places, sizes and receipts; no text"),
    sa.CheckConstraint('first >= 1', name=op.f('served_windows_first_check')),
    sa.ForeignKeyConstraint(['tenant_id', 'conversation_id'], ['conversations.tenant_id', 'conversations.id'], name='served_windows_conversation_fkey', ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('tenant_id', 'conversation_id', 'first', name=op.f('served_windows_pkey'))
    )
    op.create_table('summaries',
    sa.Column('tenant_id', sa.Uuid(), nullable=False),
    sa.Column('conversation_id', sa.Text(collation='C'), nullable=False),
    sa.Column('version', sa.Integer(), nullable=False),
    sa.Column('through_seq', sa.Integer(), nullable=False),
    sa.Column('text', sa.Text(), nullable=False),
    sa.Column('tokens', sa.Integer(), nullable=False),
    sa.Column('model', sa.Text(), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('now()'), nullable=False),
    sa.ForeignKeyConstraint(['tenant_id', 'conversation_id'], ['conversations.tenant_id', 'conversations.id'], name='summaries_conversation_fkey', ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('tenant_id', 'conversation_id', 'version', name=op.f('summaries_pkey'))
    )
    op.create_table('work',
    sa.Column('tenant_id', sa.Uuid(), nullable=False),
    sa.Column('kind', sa.Text(), nullable=False),
    sa.Column('subject', sa.Text(collation='C'), nullable=False, comment='what it is about; ids of ours only'),
    sa.Column('id', sa.Uuid(), nullable=False, comment='its name outside'),
    sa.Column('lane', sa.Text(), nullable=False, comment='which provider it needs; one job a conversation and lane at a time'),
    sa.Column('conversation_id', sa.Text(collation='C'), nullable=True),
    sa.Column('args', sa.Text(), server_default=sa.text("'{}'"), nullable=False, comment='JSON of ids and numbers, never of content'),
    sa.Column('version', sa.Integer(), server_default=sa.text('1'), nullable=False, comment='bumped by each enqueueing'),
    sa.Column('claimed', sa.Integer(), nullable=True, comment='the version that is being worked on'),
    sa.Column('token', sa.Uuid(), nullable=True, comment='of the lease; null while nobody works on it'),
    sa.Column('due', sa.DateTime(timezone=True), server_default=sa.text('now()'), nullable=False, comment="when to run; the lease's end"),
    sa.Column('attempts', sa.Integer(), server_default=sa.text('0'), nullable=False),
    sa.Column('excused', sa.Integer(), server_default=sa.text('0'), nullable=False, comment='attempts that the provider foiled'),
    sa.Column('failed_at', sa.DateTime(timezone=True), nullable=True, comment='set: a dead letter'),
    sa.Column('error', sa.Text(), nullable=True, comment='of the latest attempt; never content'),
    sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('now()'), nullable=False, comment='since when it is due'),
    sa.ForeignKeyConstraint(['tenant_id', 'conversation_id'], ['conversations.tenant_id', 'conversations.id'], name='work_conversation_fkey', ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('tenant_id', 'kind', 'subject', name=op.f('work_pkey'))
    )
    op.create_index('work_conversation_idx', 'work', ['tenant_id', 'conversation_id'], unique=False)
    op.create_index('work_dead_idx', 'work', ['tenant_id', 'id'], unique=False, postgresql_where=sa.text('failed_at IS NOT NULL'))
    op.create_index('work_due_idx', 'work', ['tenant_id', 'lane', 'due'], unique=False, postgresql_where=sa.text('failed_at IS NULL AND token IS NULL'))
    op.create_index('work_id_key', 'work', ['tenant_id', 'id'], unique=True)
    op.create_index('work_running_key', 'work', ['tenant_id', 'lane', 'conversation_id'], unique=True, postgresql_where=sa.text('token IS NOT NULL'))
    op.create_table('memories',
    sa.Column('tenant_id', sa.Uuid(), nullable=False),
    sa.Column('id', sa.Uuid(), nullable=False),
    sa.Column('owner', sa.Uuid(), nullable=False, comment='hash of the scope that may find it'),
    sa.Column('type', sa.Text(), nullable=False),
    sa.Column('conversation_id', sa.Text(collation='C'), nullable=True),
    sa.Column('conversation_uid', sa.Uuid(), nullable=True),
    sa.Column('seq', sa.Integer(), nullable=True, comment='the message it is of'),
    sa.Column('page', sa.Integer(), nullable=True),
    sa.Column('archive_id', sa.Uuid(), nullable=True, comment='the archive it is a passage of'),
    sa.Column('start', sa.Integer(), nullable=False, comment="its first character in the message's or archive's text"),
    sa.Column('length', sa.Integer(), nullable=False),
    sa.Column('terms', SPARSEVEC(dim=1000000000), nullable=False, comment='keyword weights'),
    sa.Column('content', sa.Text(), nullable=True, comment='of a memory that is not a part of a message or archive'),
    sa.Column('nul_offsets', sa.ARRAY(sa.Integer()), server_default=sa.text("'{}'"), nullable=False),
    sa.Column('keywords', sa.ARRAY(sa.Text()), server_default=sa.text("'{}'"), nullable=False, comment="the caller's own"),
    sa.Column('metadata', sa.Text(), server_default=sa.text("'{}'"), nullable=False, comment="the caller's own, JSON"),
    sa.Column('source', sa.Text(), server_default=sa.text("'extractive'"), nullable=False, comment='who wrote it'),
    sa.Column('sensitive', sa.Boolean(), server_default=sa.text('false'), nullable=False, comment='needs a scope of its own'),
    sa.Column('part_of', sa.Uuid(), nullable=True, comment='the memory whose content it is a passage of'),
    sa.Column('expires_at', sa.DateTime(timezone=True), nullable=True),
    sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('now()'), nullable=False),
    sa.Column('refused', sa.Boolean(), server_default=sa.text('false'), nullable=False, comment='refused by the embedding provider'),
    sa.Column('scope', sa.Text(collation='C'), nullable=True, comment='where it holds: u:user, s:space or c:conversation; null: a passage'),
    sa.Column('holder', sa.Uuid(), nullable=True, comment='hash of that; the owner is the wider scope that finds it'),
    sa.Column('key', sa.Text(collation='C'), nullable=True, comment='of what its scope has one value of at a time'),
    sa.Column('words', sa.ARRAY(sa.Integer()), nullable=True, comment="terms of a key's value; null: of one that its message finds"),
    sa.Column('pinned', sa.Boolean(), server_default=sa.text('false'), nullable=False, comment='kept in view'),
    sa.Column('status', sa.Text(), server_default=sa.text("'held'"), nullable=False),
    sa.Column('tokens', sa.Integer(), server_default=sa.text("'0'"), nullable=False, comment="of a pinned one's content"),
    sa.Column('quote', sa.Text(), nullable=True, comment="the person's words in its message, where they are not its content"),
    sa.Column('valid_from', sa.DateTime(timezone=True), nullable=True, comment='since when it is true'),
    sa.Column('valid_to', sa.DateTime(timezone=True), nullable=True, comment='when it was ended; that of its first moment: it ends its key'),
    sa.Column('learnt_at', sa.DateTime(timezone=True), nullable=True, comment='when it was stored: heads made before do not know it'),
    sa.Column('former', sa.Boolean(), server_default=sa.text('false'), nullable=False, comment='another value of its key holds'),
    sa.CheckConstraint("status IN ('held', 'proposed', 'refused', 'withdrawn', 'retracted')", name=op.f('memories_status_check')),
    sa.CheckConstraint('valid_to >= valid_from', name=op.f('memories_validity_check')),
    sa.CheckConstraint('scope IS NULL OR (holder IS NOT NULL AND valid_from IS NOT NULL AND learnt_at IS NOT NULL)', name=op.f('memories_dated_check')),
    sa.CheckConstraint("type IN ('episode', 'passage', 'preference', 'fact', 'general', 'command_output')", name=op.f('memories_type_check')),
    sa.ForeignKeyConstraint(['tenant_id', 'archive_id'], ['archives.tenant_id', 'archives.id'], name='memories_archive_fkey', ondelete='CASCADE'),
    sa.ForeignKeyConstraint(['tenant_id', 'conversation_id'], ['conversations.tenant_id', 'conversations.id'], name='memories_conversation_fkey', ondelete='CASCADE'),
    sa.ForeignKeyConstraint(['tenant_id', 'part_of'], ['memories.tenant_id', 'memories.id'], name='memories_whole_fkey', ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('tenant_id', 'id', name=op.f('memories_pkey'))
    )
    # Partial, all but the search's own, so that no plan of a search can use them: one made before the table is analyzed
    # would read all of the tenant's memories for each that it looks up by id.
    op.create_index('memories_archive_idx', 'memories', ['tenant_id', 'archive_id', 'start'], unique=False, postgresql_where=sa.text('archive_id IS NOT NULL'))
    op.create_index('memories_conversation_idx', 'memories', ['tenant_id', 'conversation_id', 'seq'], unique=False, postgresql_where=sa.text('conversation_id IS NOT NULL'))
    op.create_index('memories_content_idx', 'memories', ['tenant_id', 'holder', sa.literal_column('md5(content)')], unique=False, postgresql_where=sa.text('holder IS NOT NULL'))
    op.create_index('memories_key_idx', 'memories', ['tenant_id', 'holder', 'key', 'valid_from'], unique=False, postgresql_where=sa.text('key IS NOT NULL'))
    op.create_index('memories_pinned_idx', 'memories', ['tenant_id', 'holder', 'key', 'valid_from'], unique=False, postgresql_where=sa.text('pinned AND NOT former'))
    op.create_index('memories_value_key', 'memories', ['tenant_id', 'holder', 'key'], unique=True, postgresql_where=sa.text("key IS NOT NULL AND status = 'held' AND NOT former"))
    op.create_index('memories_part_idx', 'memories', ['tenant_id', 'part_of'], unique=False, postgresql_where=sa.text('part_of IS NOT NULL'))
    op.create_index('memories_expiry_idx', 'memories', ['tenant_id', 'expires_at'], unique=False, postgresql_where=sa.text('expires_at IS NOT NULL'))
    op.create_index('memories_refused_idx', 'memories', ['tenant_id', 'owner'], unique=False, postgresql_where=sa.text('refused'))
    # Every column a keyword search reads, so that it visits the table only for rows it returns. Ids are hashed and terms
    # bounded, because an index entry holds at most 2704 bytes.
    op.create_index('memories_search_idx', 'memories', ['tenant_id', 'owner', 'id'], unique=False, postgresql_include=['type', 'conversation_uid', 'seq', 'page', 'archive_id', 'start', 'length', 'sensitive', 'expires_at', 'terms'])
    # Of memories that are no passages of messages or archives: few among many.
    op.create_index('memories_own_idx', 'memories', ['tenant_id', 'owner', 'id'], unique=False, postgresql_where=sa.text("type NOT IN ('episode', 'passage')"))
    op.create_table('spaces',
    sa.Column('tenant_id', sa.Uuid(), nullable=False),
    sa.Column('id', sa.Text(collation='C'), nullable=False),
    sa.Column('name', sa.Text(), nullable=True),
    sa.Column('participants', sa.Text(), server_default=sa.text("'{}'"), nullable=False, comment='users by the names that messages give them, JSON'),
    sa.Column('metadata', sa.Text(), server_default=sa.text("'{}'"), nullable=False, comment="the caller's own, JSON"),
    sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('now()'), nullable=False),
    sa.CheckConstraint('char_length(id) BETWEEN 1 AND 128', name=op.f('spaces_id_length_check')),
    sa.PrimaryKeyConstraint('tenant_id', 'id', name=op.f('spaces_pkey'))
    )
    op.create_table('space_members',
    sa.Column('tenant_id', sa.Uuid(), nullable=False),
    sa.Column('space_id', sa.Text(collation='C'), nullable=False),
    sa.Column('user_id', sa.Text(collation='C'), nullable=False),
    sa.Column('rights', sa.Text(), nullable=False, comment='read or write'),
    sa.Column('owner', sa.Uuid(), nullable=False, comment="hash of the space's scope"),
    sa.Column('member', sa.Uuid(), nullable=False, comment="hash of the user's scope"),
    sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('now()'), nullable=False),
    sa.CheckConstraint("rights IN ('read', 'write')", name=op.f('space_members_rights_check')),
    sa.ForeignKeyConstraint(['tenant_id', 'space_id'], ['spaces.tenant_id', 'spaces.id'], name='space_members_space_fkey', ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('tenant_id', 'space_id', 'user_id', name=op.f('space_members_pkey'))
    )
    op.create_index('space_members_member_idx', 'space_members', ['tenant_id', 'member', 'space_id'], unique=False, postgresql_include=['owner'])
    op.create_table('withdrawals',
    sa.Column('tenant_id', sa.Uuid(), nullable=False),
    sa.Column('owner', sa.Uuid(), nullable=False),
    sa.Column('count', sa.BigInteger(), nullable=False, comment='times that a memory in view of the scope was taken back'),
    sa.Column('at', sa.DateTime(timezone=True), nullable=False, comment='the last of them'),
    sa.PrimaryKeyConstraint('tenant_id', 'owner', name=op.f('withdrawals_pkey'))
    )
    op.create_table('embeddings',
    sa.Column('tenant_id', sa.Uuid(), nullable=False),
    sa.Column('memory_id', sa.Uuid(), nullable=False),
    sa.Column('owner', sa.Uuid(), nullable=False),
    sa.Column('model', sa.Uuid(), nullable=False),
    sa.Column('embedding', HALFVEC(), nullable=False, comment='of unit length'),
    sa.ForeignKeyConstraint(['tenant_id', 'memory_id'], ['memories.tenant_id', 'memories.id'], name='embeddings_memory_fkey', ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('tenant_id', 'memory_id', name=op.f('embeddings_pkey'))
    )
    # Every column a semantic search reads; see the limit at memories_search_idx.
    op.create_index('embeddings_search_idx', 'embeddings', ['tenant_id', 'owner', 'model', 'memory_id'], unique=False, postgresql_include=['embedding'])
    # Of owners with very many memories alone: see app.jobs.search_index.
    op.create_table('search_indexes',
    sa.Column('tenant_id', sa.Uuid(), nullable=False),
    sa.Column('owner', sa.Uuid(), nullable=False),
    sa.Column('model', sa.Uuid(), nullable=False, comment='whose vectors are in lists'),
    sa.Column('centroids', sa.ARRAY(HALFVEC()), nullable=False, comment='of its lists'),
    sa.Column('through', sa.Uuid(), nullable=True, comment='its memories up to it are indexed; null: all that have or had a vector'),
    sa.PrimaryKeyConstraint('tenant_id', 'owner', name=op.f('search_indexes_pkey'))
    )
    op.create_table('postings',
    sa.Column('tenant_id', sa.Uuid(), nullable=False),
    sa.Column('owner', sa.Uuid(), nullable=False),
    sa.Column('term', sa.Integer(), nullable=False),
    sa.Column('memory_id', sa.Uuid(), nullable=False),
    sa.ForeignKeyConstraint(['tenant_id', 'memory_id'], ['memories.tenant_id', 'memories.id'], name='postings_memory_fkey', ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('tenant_id', 'owner', 'term', 'memory_id', name=op.f('postings_pkey'))
    )
    op.create_index('postings_memory_idx', 'postings', ['tenant_id', 'memory_id'], unique=False)
    # Copies of vectors: a column of theirs would have to be written later, which leaves half of their index empty.
    op.create_table('listed',
    sa.Column('tenant_id', sa.Uuid(), nullable=False),
    sa.Column('memory_id', sa.Uuid(), nullable=False),
    sa.Column('owner', sa.Uuid(), nullable=False),
    sa.Column('model', sa.Uuid(), nullable=False),
    sa.Column('list', sa.SmallInteger(), nullable=False, comment="of its owner's search index"),
    sa.Column('embedding', HALFVEC(), nullable=False),
    sa.ForeignKeyConstraint(['tenant_id', 'memory_id'], ['embeddings.tenant_id', 'embeddings.memory_id'], name='listed_embedding_fkey', ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('tenant_id', 'memory_id', name=op.f('listed_pkey'))
    )
    op.create_index('listed_search_idx', 'listed', ['tenant_id', 'owner', 'model', 'list'], unique=False, postgresql_include=['memory_id', 'embedding'])
    op.create_table('unembedded',
    sa.Column('tenant_id', sa.Uuid(), nullable=False),
    sa.Column('owner', sa.Uuid(), nullable=False),
    sa.Column('memory_id', sa.Uuid(), nullable=False),
    sa.Column('is_said', sa.Boolean(), server_default=sa.text('false'), nullable=False, comment='its message was said just now'),
    sa.ForeignKeyConstraint(['tenant_id', 'memory_id'], ['memories.tenant_id', 'memories.id'], name='unembedded_memory_fkey', ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('tenant_id', 'owner', 'memory_id', name=op.f('unembedded_pkey'))
    )
    op.create_index('unembedded_memory_idx', 'unembedded', ['tenant_id', 'memory_id'], unique=False)
    for table in TABLES:
        _isolate(table)
    op.execute(READ_ALONE)
    op.execute("CREATE POLICY everybody ON tenants FOR SELECT USING (true)")  # anybody can list them
    for table in WATCHED:
        op.execute(f"CREATE POLICY watch ON {table} FOR SELECT USING (current_setting('app.watch', true) = 'on')")
    for table in GROWING:  # so that the index of what is new stays small for searches
        op.execute(f"ALTER TABLE {table} SET (autovacuum_vacuum_insert_scale_factor = 0.02)")


def downgrade() -> None:
    for table in reversed(TABLES):
        op.drop_table(table)

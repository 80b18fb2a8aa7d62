"""the first schema.

Revision: 0001
Follows: nothing
"""

import sqlalchemy as sa
from pgvector.sqlalchemy import SPARSEVEC

from alembic import op

revision: str = '0001'
down_revision: str | None = None
branch_labels: None = None
depends_on: None = None


TABLES = (
    "conversations",
    "messages",
    "pages",
    "epochs",
    "recalls",
    "notes",
    "archive_contents",
    "archives",
    "memories",
    "idempotency",
)


def _isolate(table: str) -> None:
    """Rows of the transaction's tenant only, for the owner too; no tenant, no rows.

    A setting that was local to an earlier transaction reads as an empty string, not as null.
    """
    tenant = "nullif(current_setting('app.tenant', true), '')::uuid"
    op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
    op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
    op.execute(f"CREATE POLICY tenant ON {table} USING (tenant_id = {tenant}) WITH CHECK (tenant_id = {tenant})")


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
    sa.Column('language', sa.Text(), nullable=True, comment="of Quire's own words in its windows: zh or en, from the first user message on"),
    sa.Column('revision', sa.Integer(), server_default=sa.text('0'), nullable=False, comment='counts what a head may quote'),
    sa.Column('generation', sa.BigInteger(), server_default=sa.text('0'), nullable=False, comment='grows when the past is changed'),
    sa.Column('epoch', sa.BigInteger(), server_default=sa.text('0'), nullable=False, comment="number of the own budget's epoch"),
    sa.CheckConstraint('char_length(id) BETWEEN 1 AND 128', name=op.f('conversations_id_length_check')),
    sa.CheckConstraint('last_seq >= 0 AND last_page >= 0', name=op.f('conversations_counts_check')),
    sa.PrimaryKeyConstraint('tenant_id', 'id', name=op.f('conversations_pkey'))
    )
    op.create_index('conversations_recent_idx', 'conversations', ['tenant_id', 'updated_at', 'uid'], unique=False)
    op.create_index('conversations_user_recent_idx', 'conversations', ['tenant_id', 'user_id', 'updated_at', 'uid'], unique=False)
    op.create_table('idempotency',
    sa.Column('tenant_id', sa.Uuid(), nullable=False),
    sa.Column('key', sa.Text(collation='C'), nullable=False),
    sa.Column('digest', sa.LargeBinary(), nullable=False, comment='SHA-256 of the request'),
    sa.Column('response', sa.Text(), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('now()'), nullable=False),
    sa.CheckConstraint('char_length(key) BETWEEN 1 AND 255', name=op.f('idempotency_key_length_check')),
    sa.PrimaryKeyConstraint('tenant_id', 'key', name=op.f('idempotency_pkey'))
    )
    op.create_index('idempotency_created_idx', 'idempotency', ['tenant_id', 'created_at'], unique=False)
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
    sa.ForeignKeyConstraint(['tenant_id', 'conversation_id'], ['conversations.tenant_id', 'conversations.id'], name='archives_conversation_fkey', ondelete='CASCADE'),
    sa.ForeignKeyConstraint(['tenant_id', 'scope', 'digest'], ['archive_contents.tenant_id', 'archive_contents.scope', 'archive_contents.digest'], name='archives_content_fkey'),
    sa.PrimaryKeyConstraint('tenant_id', 'id', name=op.f('archives_pkey'))
    )
    op.create_index('archives_content_idx', 'archives', ['tenant_id', 'scope', 'digest'], unique=False)
    op.create_index('archives_conversation_idx', 'archives', ['tenant_id', 'conversation_id', 'id'], unique=False)
    op.create_index('archives_scope_idx', 'archives', ['tenant_id', 'scope', 'id'], unique=False)
    op.create_table('epochs',
    sa.Column('tenant_id', sa.Uuid(), nullable=False),
    sa.Column('conversation_id', sa.Text(collation='C'), nullable=False),
    sa.Column('number', sa.BigInteger(), nullable=False),
    sa.Column('available', sa.Integer(), nullable=False, comment='tokens it was laid out for'),
    sa.Column('condensed_from', sa.Integer(), nullable=False),
    sa.Column('verbatim_from', sa.Integer(), nullable=False),
    sa.Column('pinned', sa.Integer(), nullable=False),
    sa.Column('head_room', sa.Integer(), nullable=False),
    sa.Column('full_until', sa.BigInteger(), nullable=False),
    sa.Column('pages_until', sa.Integer(), nullable=False),
    sa.Column('generation', sa.BigInteger(), nullable=False),
    sa.Column('trigger_page', sa.Integer(), nullable=False),
    sa.Column('revision', sa.Integer(), nullable=False),
    sa.Column('half_mark', sa.BigInteger(), nullable=False),
    sa.Column('head', sa.Text(), nullable=False, comment='JSON of a Head'),
    sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('now()'), nullable=False),
    sa.ForeignKeyConstraint(['tenant_id', 'conversation_id'], ['conversations.tenant_id', 'conversations.id'], name='epochs_conversation_fkey', ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('tenant_id', 'conversation_id', 'number', name=op.f('epochs_pkey'))
    )
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
    sa.Column('line', sa.Text(), nullable=False, comment='its line on the contents page'),
    sa.Column('line_tokens', sa.Integer(), nullable=False),
    sa.Column('archive_ids', sa.ARRAY(sa.Uuid()), server_default=sa.text("'{}'"), nullable=False),
    sa.Column('revision', sa.Integer(), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('now()'), nullable=False),
    sa.CheckConstraint("kind IN ('prompt', 'message', 'call', 'result', 'orphan')", name=op.f('messages_kind_check')),
    sa.CheckConstraint('page >= 1 AND seq >= 1 AND call_group BETWEEN 1 AND seq AND user_seq <= seq', name=op.f('messages_place_check')),
    sa.CheckConstraint('short_tokens <= full_tokens', name=op.f('messages_short_is_shorter_check')),
    sa.ForeignKeyConstraint(['tenant_id', 'conversation_id'], ['conversations.tenant_id', 'conversations.id'], name='messages_conversation_fkey', ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('tenant_id', 'conversation_id', 'seq', name=op.f('messages_pkey'))
    )
    op.create_index('messages_client_id_key', 'messages', ['tenant_id', 'conversation_id', 'client_id'], unique=True, postgresql_where=sa.text('client_id IS NOT NULL'))
    op.create_index('messages_offset_idx', 'messages', ['tenant_id', 'conversation_id', 'short_before', 'seq'], unique=False)
    op.create_table('notes',
    sa.Column('tenant_id', sa.Uuid(), nullable=False),
    sa.Column('conversation_id', sa.Text(collation='C'), nullable=False),
    sa.Column('id', sa.Uuid(), nullable=False),
    sa.Column('seq', sa.Integer(), nullable=False, comment='the message it was found in; 0 if a person wrote it'),
    sa.Column('text', sa.Text(), nullable=False),
    sa.Column('tokens', sa.Integer(), nullable=False),
    sa.Column('source', sa.Text(), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('now()'), nullable=False),
    sa.CheckConstraint("source IN ('person', 'extractive')", name=op.f('notes_source_check')),
    sa.ForeignKeyConstraint(['tenant_id', 'conversation_id'], ['conversations.tenant_id', 'conversations.id'], name='notes_conversation_fkey', ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('tenant_id', 'conversation_id', 'id', name=op.f('notes_pkey'))
    )
    op.create_table('pages',
    sa.Column('tenant_id', sa.Uuid(), nullable=False),
    sa.Column('conversation_id', sa.Text(collation='C'), nullable=False),
    sa.Column('page', sa.Integer(), nullable=False),
    sa.Column('first_seq', sa.Integer(), nullable=False),
    sa.Column('title', sa.Text(), nullable=False),
    sa.Column('title_tokens', sa.Integer(), nullable=False),
    sa.Column('revision', sa.Integer(), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('now()'), nullable=False),
    sa.ForeignKeyConstraint(['tenant_id', 'conversation_id'], ['conversations.tenant_id', 'conversations.id'], name='pages_conversation_fkey', ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('tenant_id', 'conversation_id', 'page', name=op.f('pages_pkey'))
    )
    op.create_table('recalls',
    sa.Column('tenant_id', sa.Uuid(), nullable=False),
    sa.Column('conversation_id', sa.Text(collation='C'), nullable=False),
    sa.Column('page', sa.Integer(), nullable=False),
    sa.Column('count', sa.Integer(), nullable=False, comment="this was the page's n-th recall"),
    sa.Column('at_page', sa.Integer(), nullable=False, comment='the page that was being written'),
    sa.Column('revision', sa.Integer(), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('now()'), nullable=False),
    sa.ForeignKeyConstraint(['tenant_id', 'conversation_id'], ['conversations.tenant_id', 'conversations.id'], name='recalls_conversation_fkey', ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('tenant_id', 'conversation_id', 'page', 'count', name=op.f('recalls_pkey'))
    )
    op.create_index('recalls_recent_idx', 'recalls', ['tenant_id', 'conversation_id', 'at_page'], unique=False)
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
    sa.Column('terms', SPARSEVEC(dim=1000000000), nullable=False, comment='see app.bm25'),
    sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('now()'), nullable=False),
    sa.CheckConstraint("type IN ('episode', 'passage')", name=op.f('memories_type_check')),
    sa.ForeignKeyConstraint(['tenant_id', 'archive_id'], ['archives.tenant_id', 'archives.id'], name='memories_archive_fkey', ondelete='CASCADE'),
    sa.ForeignKeyConstraint(['tenant_id', 'conversation_id'], ['conversations.tenant_id', 'conversations.id'], name='memories_conversation_fkey', ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('tenant_id', 'id', name=op.f('memories_pkey'))
    )
    op.create_index('memories_archive_idx', 'memories', ['tenant_id', 'archive_id', 'start'], unique=False)
    op.create_index('memories_conversation_idx', 'memories', ['tenant_id', 'conversation_id', 'seq'], unique=False)
    op.create_index('memories_search_idx', 'memories', ['tenant_id', 'owner', 'id'], unique=False, postgresql_include=['type', 'conversation_uid', 'seq', 'page', 'archive_id', 'start', 'length', 'terms'])
    for table in TABLES:
        _isolate(table)


def downgrade() -> None:
    """The way back."""
    op.drop_index('memories_search_idx', table_name='memories', postgresql_include=['type', 'conversation_uid', 'seq', 'page', 'archive_id', 'start', 'length', 'terms'])
    op.drop_index('memories_conversation_idx', table_name='memories')
    op.drop_index('memories_archive_idx', table_name='memories')
    op.drop_table('memories')
    op.drop_index('recalls_recent_idx', table_name='recalls')
    op.drop_table('recalls')
    op.drop_table('pages')
    op.drop_table('notes')
    op.drop_index('messages_offset_idx', table_name='messages')
    op.drop_index('messages_client_id_key', table_name='messages', postgresql_where=sa.text('client_id IS NOT NULL'))
    op.drop_table('messages')
    op.drop_table('epochs')
    op.drop_index('archives_scope_idx', table_name='archives')
    op.drop_index('archives_conversation_idx', table_name='archives')
    op.drop_index('archives_content_idx', table_name='archives')
    op.drop_table('archives')
    op.drop_index('idempotency_created_idx', table_name='idempotency')
    op.drop_table('idempotency')
    op.drop_index('conversations_user_recent_idx', table_name='conversations')
    op.drop_index('conversations_recent_idx', table_name='conversations')
    op.drop_table('conversations')
    op.drop_table('archive_contents')

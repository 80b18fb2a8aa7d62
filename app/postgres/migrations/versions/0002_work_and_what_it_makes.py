"""work and what it makes.

Revision: 0002
Follows: 0001
"""

import sqlalchemy as sa
from pgvector.sqlalchemy import HALFVEC

from alembic import op

revision: str = '0002'
down_revision: str | None = '0001'
branch_labels: None = None
depends_on: None = None


TABLES = (
    "work",
    "page_index",
    "topic_mentions",
    "summaries",
    "embedding_models",
    "embeddings",
    "unembedded",
    "spending",
    "conversation_spending",
)
SEARCHED = ["type", "conversation_uid", "seq", "page", "archive_id", "start", "length"]


def _isolate(table: str) -> None:
    """Isolate tenants as in the first migration."""
    tenant = "nullif(current_setting('app.tenant', true), '')::uuid"
    op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
    op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
    op.execute(f"CREATE POLICY tenant ON {table} USING (tenant_id = {tenant}) WITH CHECK (tenant_id = {tenant})")


def _search_index(*more: str) -> None:
    op.drop_index('memories_search_idx', table_name='memories')
    op.create_index('memories_search_idx', 'memories', ['tenant_id', 'owner', 'id'], unique=False, postgresql_include=[*SEARCHED, *more, 'terms'])


def _allow(table: str, column: str, *values: str) -> None:
    """The values that a column may have."""
    listed = ", ".join(f"'{value}'" for value in values)
    op.execute(f"ALTER TABLE {table} DROP CONSTRAINT {table}_{column}_check")
    op.execute(f"ALTER TABLE {table} ADD CONSTRAINT {table}_{column}_check CHECK ({column} IN ({listed}))")


def upgrade() -> None:
    """One statement for each `op.execute`."""
    op.create_table('embedding_models',
    sa.Column('tenant_id', sa.Uuid(), nullable=False),
    sa.Column('id', sa.Uuid(), nullable=False, comment='uuid5 of name and dimensions'),
    sa.Column('name', sa.Text(), nullable=False),
    sa.Column('dimensions', sa.Integer(), nullable=False, comment='as the model gives them; wider ones are kept reduced'),
    sa.Column('is_current', sa.Boolean(), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('now()'), nullable=False),
    sa.PrimaryKeyConstraint('tenant_id', 'id', name=op.f('embedding_models_pkey'))
    )
    op.create_table('spending',
    sa.Column('tenant_id', sa.Uuid(), nullable=False),
    sa.Column('day', sa.Date(), nullable=False),
    sa.Column('kind', sa.Text(), nullable=False, comment='of the work that it was spent on'),
    sa.Column('calls', sa.BigInteger(), server_default=sa.text('0'), nullable=False),
    sa.Column('prompt_tokens', sa.BigInteger(), server_default=sa.text('0'), nullable=False),
    sa.Column('completion_tokens', sa.BigInteger(), server_default=sa.text('0'), nullable=False),
    sa.PrimaryKeyConstraint('tenant_id', 'day', 'kind', name=op.f('spending_pkey'))
    )
    op.create_table('conversation_spending',
    sa.Column('tenant_id', sa.Uuid(), nullable=False),
    sa.Column('conversation_id', sa.Text(collation='C'), nullable=False),
    sa.Column('kind', sa.Text(), nullable=False),
    sa.Column('calls', sa.BigInteger(), server_default=sa.text('0'), nullable=False),
    sa.Column('prompt_tokens', sa.BigInteger(), server_default=sa.text('0'), nullable=False),
    sa.Column('completion_tokens', sa.BigInteger(), server_default=sa.text('0'), nullable=False),
    sa.ForeignKeyConstraint(['tenant_id', 'conversation_id'], ['conversations.tenant_id', 'conversations.id'], name='conversation_spending_conversation_fkey', ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('tenant_id', 'conversation_id', 'kind', name=op.f('conversation_spending_pkey'))
    )
    op.create_table('page_index',
    sa.Column('tenant_id', sa.Uuid(), nullable=False),
    sa.Column('conversation_id', sa.Text(collation='C'), nullable=False),
    sa.Column('page', sa.Integer(), nullable=False),
    sa.Column('revision', sa.Integer(), nullable=False, comment='heads made before it do not know the entry'),
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
    op.create_table('summaries',
    sa.Column('tenant_id', sa.Uuid(), nullable=False),
    sa.Column('conversation_id', sa.Text(collation='C'), nullable=False),
    sa.Column('version', sa.Integer(), nullable=False),
    sa.Column('through_seq', sa.Integer(), nullable=False),
    sa.Column('revision', sa.Integer(), nullable=False, comment='heads made before it do not know the version'),
    sa.Column('text', sa.Text(), nullable=False),
    sa.Column('tokens', sa.Integer(), nullable=False),
    sa.Column('model', sa.Text(), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('now()'), nullable=False),
    sa.ForeignKeyConstraint(['tenant_id', 'conversation_id'], ['conversations.tenant_id', 'conversations.id'], name='summaries_conversation_fkey', ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('tenant_id', 'conversation_id', 'version', name=op.f('summaries_pkey'))
    )
    op.create_table('topic_mentions',
    sa.Column('tenant_id', sa.Uuid(), nullable=False),
    sa.Column('conversation_id', sa.Text(collation='C'), nullable=False),
    sa.Column('topic', sa.Text(collation='C'), nullable=False),
    sa.Column('count', sa.Integer(), nullable=False, comment="this was the topic's n-th mention"),
    sa.Column('page', sa.Integer(), nullable=False),
    sa.Column('revision', sa.Integer(), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('now()'), nullable=False),
    sa.ForeignKeyConstraint(['tenant_id', 'conversation_id'], ['conversations.tenant_id', 'conversations.id'], name='topic_mentions_conversation_fkey', ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('tenant_id', 'conversation_id', 'topic', 'count', name=op.f('topic_mentions_pkey'))
    )
    op.create_index('topic_mentions_recent_idx', 'topic_mentions', ['tenant_id', 'conversation_id', 'page'], unique=False)
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
    op.create_table('embeddings',
    sa.Column('tenant_id', sa.Uuid(), nullable=False),
    sa.Column('memory_id', sa.Uuid(), nullable=False),
    sa.Column('owner', sa.Uuid(), nullable=False),
    sa.Column('model', sa.Uuid(), nullable=False),
    sa.Column('embedding', HALFVEC(), nullable=False, comment='of unit length'),
    sa.ForeignKeyConstraint(['tenant_id', 'memory_id'], ['memories.tenant_id', 'memories.id'], name='embeddings_memory_fkey', ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('tenant_id', 'memory_id', name=op.f('embeddings_pkey'))
    )
    op.create_index('embeddings_search_idx', 'embeddings', ['tenant_id', 'owner', 'model', 'memory_id'], unique=False, postgresql_include=['embedding'])
    op.create_table('unembedded',
    sa.Column('tenant_id', sa.Uuid(), nullable=False),
    sa.Column('owner', sa.Uuid(), nullable=False),
    sa.Column('memory_id', sa.Uuid(), nullable=False),
    sa.ForeignKeyConstraint(['tenant_id', 'memory_id'], ['memories.tenant_id', 'memories.id'], name='unembedded_memory_fkey', ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('tenant_id', 'owner', 'memory_id', name=op.f('unembedded_pkey'))
    )
    op.create_index('unembedded_memory_idx', 'unembedded', ['tenant_id', 'memory_id'], unique=False)
    op.add_column('conversations', sa.Column('indexed_through', sa.Integer(), server_default=sa.text('0'), nullable=False, comment='all pages up to it are indexed'))
    op.add_column('conversations', sa.Column('summary_through', sa.Integer(), server_default=sa.text('0'), nullable=False, comment='what the newest summary covers'))
    op.add_column('memories', sa.Column('content', sa.Text(), nullable=True, comment='of a memory that is not a part of a message or archive'))
    op.add_column('memories', sa.Column('nul_offsets', sa.ARRAY(sa.Integer()), server_default=sa.text("'{}'"), nullable=False))
    op.add_column('memories', sa.Column('keywords', sa.ARRAY(sa.Text()), server_default=sa.text("'{}'"), nullable=False, comment="the caller's own"))
    op.add_column('memories', sa.Column('metadata', sa.Text(), server_default=sa.text("'{}'"), nullable=False, comment="the caller's own, JSON"))
    op.add_column('memories', sa.Column('source', sa.Text(), server_default=sa.text("'extractive'"), nullable=False, comment='who wrote it'))
    op.add_column('memories', sa.Column('sensitive', sa.Boolean(), server_default=sa.text('false'), nullable=False, comment='needs a scope of its own'))
    op.add_column('memories', sa.Column('part_of', sa.Uuid(), nullable=True, comment='the memory whose content it is a passage of'))
    op.create_foreign_key('memories_whole_fkey', 'memories', 'memories', ['tenant_id', 'part_of'], ['tenant_id', 'id'], ondelete='CASCADE')
    op.create_index('memories_part_idx', 'memories', ['tenant_id', 'part_of'], unique=False, postgresql_where=sa.text('part_of IS NOT NULL'))
    op.add_column('memories', sa.Column('expires_at', sa.DateTime(timezone=True), nullable=True))
    op.add_column('notes', sa.Column('revision', sa.Integer(), server_default=sa.text('0'), nullable=False, comment='heads made before it do not know the note'))
    op.add_column('notes', sa.Column('replaced', sa.Integer(), nullable=True, comment='from this revision on another note holds instead'))
    _allow("memories", "type", "episode", "passage", "preference", "fact", "general", "command_output")
    _allow("notes", "source", "person", "extractive", "llm")
    _search_index("sensitive", "expires_at")
    for table in TABLES:
        _isolate(table)


def downgrade() -> None:
    """The way back. Memories and notes that only this version knows are given up."""
    for table in ("memories", "notes"):  # so that the owner of the tables sees every tenant's rows
        op.execute(f"ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY")
    op.execute("DELETE FROM memories WHERE type NOT IN ('episode', 'passage')")
    op.execute("DELETE FROM notes WHERE source = 'llm'")
    _allow("memories", "type", "episode", "passage")
    _allow("notes", "source", "person", "extractive")
    for table in ("memories", "notes"):
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
    _search_index()
    op.drop_column('notes', 'replaced')
    op.drop_column('notes', 'revision')
    op.drop_column('memories', 'expires_at')
    op.drop_index('memories_part_idx', table_name='memories')
    op.drop_constraint('memories_whole_fkey', 'memories', type_='foreignkey')
    op.drop_column('memories', 'part_of')
    op.drop_column('memories', 'sensitive')
    op.drop_column('memories', 'source')
    op.drop_column('memories', 'metadata')
    op.drop_column('memories', 'keywords')
    op.drop_column('memories', 'nul_offsets')
    op.drop_column('memories', 'content')
    op.drop_column('conversations', 'summary_through')
    op.drop_column('conversations', 'indexed_through')
    op.drop_index('unembedded_memory_idx', table_name='unembedded')
    op.drop_table('unembedded')
    op.drop_index('embeddings_search_idx', table_name='embeddings', postgresql_include=['embedding'])
    op.drop_table('embeddings')
    op.drop_index('work_running_key', table_name='work', postgresql_where=sa.text('token IS NOT NULL'))
    op.drop_index('work_id_key', table_name='work')
    op.drop_index('work_due_idx', table_name='work', postgresql_where=sa.text('failed_at IS NULL AND token IS NULL'))
    op.drop_index('work_dead_idx', table_name='work', postgresql_where=sa.text('failed_at IS NOT NULL'))
    op.drop_index('work_conversation_idx', table_name='work')
    op.drop_table('work')
    op.drop_index('topic_mentions_recent_idx', table_name='topic_mentions')
    op.drop_table('topic_mentions')
    op.drop_table('summaries')
    op.drop_table('page_index')
    op.drop_table('conversation_spending')
    op.drop_table('spending')
    op.drop_table('embedding_models')

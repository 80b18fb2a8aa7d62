"""what became of each request through the proxy.

Revision: 0016
Follows: 0015
"""

import sqlalchemy as sa

from alembic import op

revision: str = '0016'
down_revision: str | None = '0015'
branch_labels: None = None
depends_on: None = None

TENANT = "nullif(current_setting('app.tenant', true), '')::uuid"


def upgrade() -> None:
    op.create_table('proxied_requests',
    sa.Column('tenant_id', sa.Uuid(), nullable=False),
    sa.Column('conversation_id', sa.Text(collation='C'), nullable=False),
    sa.Column('id', sa.Uuid(), nullable=False, comment='in the order in which they ended'),
    sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('now()'), nullable=False),
    sa.Column('dialect', sa.Text(), nullable=False, comment='the client\'s'),
    sa.Column('mode', sa.Text(), nullable=False, comment='window or pass-through'),
    sa.Column('model', sa.Text(), nullable=False),
    sa.Column('first_seq', sa.Integer(), nullable=True, comment='of the messages stored for it; null: none was'),
    sa.Column('last_seq', sa.Integer(), nullable=True),
    sa.Column('window_tokens', sa.Integer(), nullable=True, comment='of the last window that the model saw; null: none'),
    sa.Column('calls', sa.Integer(), nullable=False, comment='of the model, recalls included'),
    sa.Column('first_ms', sa.Integer(), nullable=True, comment='until the model\'s API began to answer; null: it did not'),
    sa.Column('total_ms', sa.Integer(), nullable=False),
    sa.Column('prompt_tokens', sa.Integer(), nullable=True, comment='as the API reported it; null: it did not'),
    sa.Column('cached_tokens', sa.Integer(), nullable=True),
    sa.Column('completion_tokens', sa.Integer(), nullable=True),
    sa.Column('error', sa.Text(), nullable=True, comment='why there is no whole answer; never content'),
    sa.ForeignKeyConstraint(['tenant_id', 'conversation_id'], ['conversations.tenant_id', 'conversations.id'], name='proxied_requests_conversation_fkey', ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('tenant_id', 'id', name=op.f('proxied_requests_pkey'))
    )
    op.create_index('proxied_requests_recent_idx', 'proxied_requests', ['tenant_id', 'conversation_id', 'id'], unique=False)
    op.execute('ALTER TABLE proxied_requests ENABLE ROW LEVEL SECURITY')
    op.execute('ALTER TABLE proxied_requests FORCE ROW LEVEL SECURITY')
    op.execute(f'CREATE POLICY tenant ON proxied_requests USING (tenant_id = {TENANT}) WITH CHECK (tenant_id = {TENANT})')


def downgrade() -> None:
    op.drop_table('proxied_requests')

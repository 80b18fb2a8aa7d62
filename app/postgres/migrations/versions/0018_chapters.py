"""chapters of closed pages, and the words they are told by.

Revision: 0018
Follows: 0017
"""

import sqlalchemy as sa

from alembic import op

revision: str = '0018'
down_revision: str | None = '0017'
branch_labels: None = None
depends_on: None = None

TENANT = "nullif(current_setting('app.tenant', true), '')::uuid"


def upgrade() -> None:
    op.add_column('messages', sa.Column('words', sa.Text(), server_default=sa.text("''"), nullable=False, comment='that can name a subject; for chapters'))
    op.add_column('conversations', sa.Column('chaptered_through', sa.Integer(), server_default=sa.text('0'), nullable=False))
    op.create_table('chapters',
    sa.Column('tenant_id', sa.Uuid(), nullable=False),
    sa.Column('conversation_id', sa.Text(collation='C'), nullable=False),
    sa.Column('level', sa.SmallInteger(), nullable=False, comment='1: a chapter; more: a volume of those one level below'),
    sa.Column('first_page', sa.Integer(), nullable=False),
    sa.Column('last_page', sa.Integer(), nullable=False),
    sa.Column('at_page', sa.Integer(), nullable=False, comment='opened when it closed; heads made before do not know it'),
    sa.Column('terms', sa.ARRAY(sa.Text()), nullable=False, comment='what tells it from the others, the best first'),
    sa.Column('line', sa.Text(), nullable=False),
    sa.Column('line_tokens', sa.Integer(), nullable=False),
    sa.Column('sentence', sa.Text(), nullable=False),
    sa.Column('sentence_tokens', sa.Integer(), nullable=False),
    sa.Column('first_day', sa.Text(), nullable=False),
    sa.Column('last_day', sa.Text(), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('now()'), nullable=False),
    sa.CheckConstraint('level >= 1 AND first_page BETWEEN 1 AND last_page AND last_page < at_page', name=op.f('chapters_place_check')),
    sa.ForeignKeyConstraint(['tenant_id', 'conversation_id'], ['conversations.tenant_id', 'conversations.id'], name='chapters_conversation_fkey', ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('tenant_id', 'conversation_id', 'level', 'first_page', name=op.f('chapters_pkey'))
    )
    op.execute('ALTER TABLE chapters ENABLE ROW LEVEL SECURITY')
    op.execute('ALTER TABLE chapters FORCE ROW LEVEL SECURITY')
    op.execute(f'CREATE POLICY tenant ON chapters USING (tenant_id = {TENANT}) WITH CHECK (tenant_id = {TENANT})')


def downgrade() -> None:
    op.drop_table('chapters')
    op.drop_column('conversations', 'chaptered_through')
    op.drop_column('messages', 'words')

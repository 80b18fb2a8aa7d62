"""what was asked through the proxy.

Revision: 0007
Follows: 0006
"""

import sqlalchemy as sa

from alembic import op

revision: str = '0007'
down_revision: str | None = '0006'
branch_labels: None = None
depends_on: None = None


def upgrade() -> None:
    """One statement for each `op.execute`. What is stored already was not asked through the proxy."""
    op.add_column('conversations', sa.Column('asked', sa.LargeBinary(), nullable=True, comment='the chain where the newest request through the proxy ended'))
    op.add_column('conversations', sa.Column('answered', sa.LargeBinary(), nullable=True, comment='the chain after the first answer that the proxy gave'))
    op.create_index('conversations_chain_idx', 'conversations', ['tenant_id', 'user_id', 'chain', 'updated_at'], unique=False, postgresql_where=sa.text('answered IS NOT NULL'))
    op.create_index('conversations_asked_idx', 'conversations', ['tenant_id', 'user_id', 'asked', 'updated_at'], unique=False, postgresql_where=sa.text('asked IS NOT NULL'))


def downgrade() -> None:
    """The way back."""
    op.drop_index('conversations_asked_idx', table_name='conversations')
    op.drop_index('conversations_chain_idx', table_name='conversations')
    op.drop_column('conversations', 'answered')
    op.drop_column('conversations', 'asked')

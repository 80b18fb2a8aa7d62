"""partial indexes of memories, which no plan of a search can use.

Revision: 0017
Follows: 0016
"""

import sqlalchemy as sa

from alembic import op

revision: str = '0017'
down_revision: str | None = '0016'
branch_labels: None = None
depends_on: None = None


def upgrade() -> None:
    op.drop_index('memories_archive_idx', table_name='memories')
    op.drop_index('memories_conversation_idx', table_name='memories')
    op.create_index('memories_archive_idx', 'memories', ['tenant_id', 'archive_id', 'start'], unique=False, postgresql_where=sa.text('archive_id IS NOT NULL'))
    op.create_index('memories_conversation_idx', 'memories', ['tenant_id', 'conversation_id', 'seq'], unique=False, postgresql_where=sa.text('conversation_id IS NOT NULL'))


def downgrade() -> None:
    op.drop_index('memories_archive_idx', table_name='memories')
    op.drop_index('memories_conversation_idx', table_name='memories')
    op.create_index('memories_archive_idx', 'memories', ['tenant_id', 'archive_id', 'start'], unique=False)
    op.create_index('memories_conversation_idx', 'memories', ['tenant_id', 'conversation_id', 'seq'], unique=False)

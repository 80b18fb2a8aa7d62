"""chains of messages.

Revision: 0004
Follows: 0003
"""

import sqlalchemy as sa

from alembic import op

revision: str = '0004'
down_revision: str | None = '0003'
branch_labels: None = None
depends_on: None = None


def upgrade() -> None:
    """One statement for each `op.execute`. What is stored already gets its chain when it is first synced."""
    op.add_column('conversations', sa.Column('chain', sa.LargeBinary(), nullable=True, comment='after its last message; null: not known yet'))
    op.add_column('messages', sa.Column('digest', sa.LargeBinary(), nullable=True, comment='of what it says: core.sync'))
    op.add_column('messages', sa.Column('chain', sa.LargeBinary(), nullable=True, comment='of all digests up to it'))


def downgrade() -> None:
    """The way back."""
    op.drop_column('messages', 'chain')
    op.drop_column('messages', 'digest')
    op.drop_column('conversations', 'chain')

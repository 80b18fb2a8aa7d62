"""how far the messages of a conversation are pruned.

Revision: 0005
Follows: 0002
"""

import sqlalchemy as sa

from alembic import op

revision: str = '0005'
down_revision: str | None = '0004'
branch_labels: None = None
depends_on: None = None


def upgrade() -> None:
    op.add_column(
        'conversations',
        sa.Column(
            'pruned_through',
            sa.Integer(),
            server_default=sa.text('0'),
            nullable=False,
            comment='messages up to it are kept as marks and in search only',
        ),
    )


def downgrade() -> None:
    op.drop_column('conversations', 'pruned_through')

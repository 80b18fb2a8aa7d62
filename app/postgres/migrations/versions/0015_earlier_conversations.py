"""whether a conversation's user had others when it began.

Revision: 0015
Follows: 0014
"""

import sqlalchemy as sa

from alembic import op

revision: str = '0015'
down_revision: str | None = '0014'
branch_labels: None = None
depends_on: None = None


def upgrade() -> None:
    """A constant default rewrites no table. Windows of the conversations there are stay as they are."""
    op.add_column('conversations', sa.Column('has_earlier', sa.Boolean(), server_default=sa.text('false'), nullable=False, comment='its user had other conversations when it began'))


def downgrade() -> None:
    op.drop_column('conversations', 'has_earlier')

"""how many tokens a model makes of one of ours.

Revision: 0009
Follows: 0008
"""

import sqlalchemy as sa

from alembic import op

revision: str = '0009'
down_revision: str | None = '0008'
branch_labels: None = None
depends_on: None = None


def upgrade() -> None:
    """A constant default: no row is written anew."""
    op.add_column('conversations', sa.Column('token_percent', sa.SmallInteger(), server_default='100', nullable=False, comment='tokens that its model makes of a hundred of ours'))


def downgrade() -> None:
    op.drop_column('conversations', 'token_percent')

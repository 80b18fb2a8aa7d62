"""memories that the embedding provider refused.

Revision: 0019
Follows: 0018
"""

import sqlalchemy as sa

from alembic import op

revision: str = '0019'
down_revision: str | None = '0018'
branch_labels: None = None
depends_on: None = None


def upgrade() -> None:
    op.add_column('memories', sa.Column('refused', sa.Boolean(), server_default=sa.text('false'), nullable=False, comment='refused by the embedding provider'))
    op.create_index('memories_refused_idx', 'memories', ['tenant_id', 'owner'], unique=False, postgresql_where=sa.text('refused'))


def downgrade() -> None:
    op.drop_index('memories_refused_idx', table_name='memories', postgresql_where=sa.text('refused'))
    op.drop_column('memories', 'refused')

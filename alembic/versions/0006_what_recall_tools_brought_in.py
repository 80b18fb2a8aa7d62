"""an index of what recall tools brought in, for erasing.

Revision: 0006
Follows: 0005
"""

import sqlalchemy as sa

from alembic import op

revision: str = '0006'
down_revision: str | None = '0005'
branch_labels: None = None
depends_on: None = None


def upgrade() -> None:
    op.create_index(
        'messages_loaded_idx',
        'messages',
        ['tenant_id', 'conversation_id', 'seq'],
        postgresql_where=sa.text('loaded IS NOT NULL'),
    )


def downgrade() -> None:
    op.drop_index('messages_loaded_idx', table_name='messages')

"""what erasing looks for, by index: what recall tools brought in, and the archives of a message.

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
    op.create_index('archives_place_idx', 'archives', ['tenant_id', 'conversation_id', 'seq'])


def downgrade() -> None:
    op.drop_index('archives_place_idx', table_name='archives')
    op.drop_index('messages_loaded_idx', table_name='messages')

"""an index of answers by the id that a client of Responses knows.

Revision: 0014
Follows: 0012
"""

import sqlalchemy as sa

from alembic import op

revision: str = '0014'
down_revision: str | None = '0013'
branch_labels: None = None
depends_on: None = None


def upgrade() -> None:
    """No row has such an id yet, so the index is made at once."""
    op.create_index('messages_response_idx', 'messages', ['tenant_id', 'client_id'], unique=False, postgresql_where=sa.text("client_id ~~ 'resp\\_%'"))


def downgrade() -> None:
    op.drop_index('messages_response_idx', table_name='messages', postgresql_where=sa.text("client_id ~~ 'resp\\_%'"))

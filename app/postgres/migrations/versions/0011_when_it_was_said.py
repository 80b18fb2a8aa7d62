"""when a message was said, where its sender told it.

Revision: 0011
Follows: 0010
"""

import sqlalchemy as sa
from pgvector.sqlalchemy import SPARSEVEC

from alembic import op

revision: str = '0011'
down_revision: str | None = '0010'
branch_labels: None = None
depends_on: None = None

TERMS = SPARSEVEC(1_000_000_000)


def upgrade() -> None:
    """No default: no row is written anew."""
    op.add_column('messages', sa.Column('said_at', sa.DateTime(timezone=True), nullable=True, comment='when it was said; null: the sender did not tell'))
    op.add_column('conversations', sa.Column('said_at', sa.DateTime(timezone=True), nullable=True, comment='the newest of its messages\'; null: none has any'))
    op.alter_column('memories', 'terms', comment='keyword weights', existing_comment='see app.bm25', existing_type=TERMS, existing_nullable=False)


def downgrade() -> None:
    op.alter_column('memories', 'terms', comment='see app.bm25', existing_comment='keyword weights', existing_type=TERMS, existing_nullable=False)
    op.drop_column('conversations', 'said_at')
    op.drop_column('messages', 'said_at')

"""whose the answers are that are kept for Idempotency-Keys: an erasure looks at those of its scope.

Revision: 0010
Follows: 0009
"""

import sqlalchemy as sa

from alembic import op

revision: str = '0010'
down_revision: str | None = '0009'
branch_labels: None = None
depends_on: None = None

UNKNOWN = '00000000-0000-0000-0000-000000000000'


def upgrade() -> None:
    """A constant default: no row is written anew. Of the answers of the last day it is not known, and looked at."""
    op.add_column('idempotency', sa.Column('owner', sa.Uuid(), server_default=UNKNOWN, nullable=False, comment='hash of the one scope that it may speak of; zeros: not known'))
    op.create_index('idempotency_owner_idx', 'idempotency', ['tenant_id', 'owner', 'key'])


def downgrade() -> None:
    op.drop_index('idempotency_owner_idx', table_name='idempotency')
    op.drop_column('idempotency', 'owner')

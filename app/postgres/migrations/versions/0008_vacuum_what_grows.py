"""tables that only grow are vacuumed after every fiftieth of them, not after every fifth.

Revision: 0008
Follows: 0007

A search reads covering indexes alone, as long as a vacuum has marked the table's pages as visible to all; of the rows
since then it visits the table. By default that would be up to a fifth of a large table.
"""

from alembic import op

revision: str = '0008'
down_revision: str | None = '0007'
branch_labels: None = None
depends_on: None = None

GROWING = ('messages', 'memories', 'embeddings')


def upgrade() -> None:
    for name in GROWING:
        op.execute(f'ALTER TABLE {name} SET (autovacuum_vacuum_insert_scale_factor = 0.02)')


def downgrade() -> None:
    for name in GROWING:
        op.execute(f'ALTER TABLE {name} RESET (autovacuum_vacuum_insert_scale_factor)')

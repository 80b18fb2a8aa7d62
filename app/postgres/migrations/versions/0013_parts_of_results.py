"""the parts of a long result that matter to its page's question.

Revision: 0013
Follows: 0011
"""

import sqlalchemy as sa

from alembic import op

revision: str = '0013'
down_revision: str | None = '0012'
branch_labels: None = None
depends_on: None = None


def upgrade() -> None:
    """No default: no row is written anew."""
    op.add_column('archives', sa.Column('parts', sa.Text(), nullable=True, comment='what matters of it to its page\'s question, the best first, as JSON; null: not chosen'))


def downgrade() -> None:
    op.drop_column('archives', 'parts')

"""what a model's API refused for good.

Revision: 0012
Follows: 0011
"""

import sqlalchemy as sa

from alembic import op

revision: str = '0012'
down_revision: str | None = '0011'
branch_labels: None = None
depends_on: None = None

KINDS = "kind IN ('prompt', 'message', 'call', 'result', 'orphan'"


def upgrade() -> None:
    """No default that is not constant: no row is written anew."""
    op.add_column('conversations', sa.Column('asked_from', sa.Integer(), nullable=True, comment='where the unanswered question to the proxy begins; null: there is none'))
    op.add_column('conversations', sa.Column('refused', sa.Boolean(), server_default=sa.text('false'), nullable=False, comment='the model\'s API refused that question for good'))
    op.execute('ALTER TABLE messages DROP CONSTRAINT messages_kind_check')
    op.execute(f"ALTER TABLE messages ADD CONSTRAINT messages_kind_check CHECK ({KINDS}, 'refused')) NOT VALID")
    op.execute('ALTER TABLE messages VALIDATE CONSTRAINT messages_kind_check')


def downgrade() -> None:
    op.execute('ALTER TABLE messages NO FORCE ROW LEVEL SECURITY')  # so that the owner sees every tenant's rows
    op.execute("UPDATE messages SET kind = 'orphan' WHERE kind = 'refused'")
    op.execute('ALTER TABLE messages FORCE ROW LEVEL SECURITY')
    op.execute('ALTER TABLE messages DROP CONSTRAINT messages_kind_check')
    op.execute(f"ALTER TABLE messages ADD CONSTRAINT messages_kind_check CHECK ({KINDS})) NOT VALID")
    op.execute('ALTER TABLE messages VALIDATE CONSTRAINT messages_kind_check')
    op.drop_column('conversations', 'refused')
    op.drop_column('conversations', 'asked_from')

"""${message}.

Revision: ${up_revision}
Follows: ${down_revision | comma,n}
"""

import sqlalchemy as sa

from alembic import op
${imports if imports else ""}
revision: str = ${repr(up_revision)}
down_revision: str | None = ${repr(down_revision)}
branch_labels: None = None
depends_on: None = None


def upgrade() -> None:
    """One statement for each `op.execute`."""
    ${upgrades if upgrades else "pass"}


def downgrade() -> None:
    """The way back."""
    ${downgrades if downgrades else "pass"}

"""A migration as the release after the next could have: what no release from the next on uses goes."""

from alembic import op

revision = "{revision}"
down_revision = "{before}"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("DROP INDEX trial")
    op.execute("ALTER TABLE messages DROP COLUMN trial")
    op.execute("ALTER TABLE conversations ALTER COLUMN trial TYPE bigint")


def downgrade() -> None:
    raise NotImplementedError("The way back is the backup.")

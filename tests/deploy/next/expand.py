"""A migration as the release after this one could have: it adds, and what this release uses stays in place."""

from alembic import op

revision = "{revision}"
down_revision = "{before}"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE messages ADD COLUMN trial text")
    op.execute("ALTER TABLE conversations ADD COLUMN trial integer NOT NULL DEFAULT 1")
    op.execute("ALTER TABLE memories ALTER COLUMN type SET STATISTICS 200")
    op.execute("CREATE INDEX trial ON messages (tenant_id, trial) WHERE trial IS NOT NULL")


def downgrade() -> None:
    raise NotImplementedError("The way back is the backup.")

"""tenants and keys.

Revision: 0003
Follows: 0002
"""

import sqlalchemy as sa

from alembic import op

revision: str = '0003'
down_revision: str | None = '0002'
branch_labels: None = None
depends_on: None = None

TENANT = "nullif(current_setting('app.tenant', true), '')::uuid"


def _isolate(table: str) -> None:
    """Isolate tenants as in the first migration."""
    op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
    op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
    op.execute(f"CREATE POLICY tenant ON {table} USING (tenant_id = {TENANT}) WITH CHECK (tenant_id = {TENANT})")


def upgrade() -> None:
    """One statement for each `op.execute`."""
    op.create_table('tenants',
    sa.Column('tenant_id', sa.Uuid(), nullable=False),
    sa.Column('name', sa.Text(), nullable=False),
    sa.Column('keyed_at', sa.DateTime(timezone=True), nullable=True, comment='since when callers need a key; never unset'),
    sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('now()'), nullable=False),
    sa.CheckConstraint('char_length(name) BETWEEN 1 AND 200', name=op.f('tenants_name_length_check')),
    sa.PrimaryKeyConstraint('tenant_id', name=op.f('tenants_pkey'))
    )
    op.create_table('keys',
    sa.Column('tenant_id', sa.Uuid(), nullable=False),
    sa.Column('id', sa.Uuid(), nullable=False, comment='the public part; stands in the key'),
    sa.Column('digest', sa.LargeBinary(), nullable=False, comment='SHA-256 of the secret part'),
    sa.Column('name', sa.Text(), nullable=False),
    sa.Column('scopes', sa.ARRAY(sa.Text()), nullable=False),
    sa.Column('user_id', sa.Text(collation='C'), nullable=True, comment="the one user that it sees; null: all of the tenant's"),
    sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('now()'), nullable=False),
    sa.Column('expires_at', sa.DateTime(timezone=True), nullable=True),
    sa.Column('revoked_at', sa.DateTime(timezone=True), nullable=True),
    sa.Column('last_used_at', sa.DateTime(timezone=True), nullable=True, comment='to a minute'),
    sa.CheckConstraint("cardinality(scopes) > 0 AND scopes <@ ARRAY['read', 'write', 'admin', 'memories:sensitive']", name=op.f('keys_scopes_check')),
    sa.CheckConstraint('octet_length(digest) = 32', name=op.f('keys_digest_length_check')),
    sa.ForeignKeyConstraint(['tenant_id'], ['tenants.tenant_id'], name=op.f('keys_tenant_id_fkey')),
    sa.PrimaryKeyConstraint('tenant_id', 'id', name=op.f('keys_pkey'))
    )
    op.create_index('keys_user_idx', 'keys', ['tenant_id', 'user_id', 'id'], unique=False)
    for table in ("tenants", "keys"):
        _isolate(table)
    # The worker goes through all tenants. A list of ids and names has no content, and only reading is open.
    op.execute("CREATE POLICY everybody ON tenants FOR SELECT USING (true)")


def downgrade() -> None:
    """The way back. All keys are given up."""
    op.drop_index('keys_user_idx', table_name='keys')
    op.drop_table('keys')
    op.drop_table('tenants')

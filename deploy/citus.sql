-- Distribute Quire's tables over a Citus cluster by tenant. Untested on Citus: see docs/operations.md.
-- Run as the owner of the tables, on the coordinator, after `quire migrate`, while nothing serves:
--   psql -v ON_ERROR_STOP=1 -1 -d quire -f deploy/citus.sql
-- Tables follow those that they reference. All rows of a tenant are on one node, so every key, constraint and statement
-- of a tenant stays there. alembic_version stays on the coordinator.
SELECT create_distributed_table('tenants', 'tenant_id');
SELECT create_distributed_table('archive_contents', 'tenant_id', colocate_with => 'tenants');
SELECT create_distributed_table('conversations', 'tenant_id', colocate_with => 'tenants');
SELECT create_distributed_table('embedding_models', 'tenant_id', colocate_with => 'tenants');
SELECT create_distributed_table('audit', 'tenant_id', colocate_with => 'tenants');
SELECT create_distributed_table('events', 'tenant_id', colocate_with => 'tenants');
SELECT create_distributed_table('webhooks', 'tenant_id', colocate_with => 'tenants');
SELECT create_distributed_table('idempotency', 'tenant_id', colocate_with => 'tenants');
SELECT create_distributed_table('own_texts', 'tenant_id', colocate_with => 'tenants');
SELECT create_distributed_table('rates', 'tenant_id', colocate_with => 'tenants');
SELECT create_distributed_table('spending', 'tenant_id', colocate_with => 'tenants');
SELECT create_distributed_table('storage', 'tenant_id', colocate_with => 'tenants');
SELECT create_distributed_table('archives', 'tenant_id', colocate_with => 'tenants');
SELECT create_distributed_table('chapters', 'tenant_id', colocate_with => 'tenants');
SELECT create_distributed_table('chapter_names', 'tenant_id', colocate_with => 'tenants');
SELECT create_distributed_table('conversation_spending', 'tenant_id', colocate_with => 'tenants');
SELECT create_distributed_table('epochs', 'tenant_id', colocate_with => 'tenants');
SELECT create_distributed_table('keys', 'tenant_id', colocate_with => 'tenants');
SELECT create_distributed_table('messages', 'tenant_id', colocate_with => 'tenants');
SELECT create_distributed_table('page_index', 'tenant_id', colocate_with => 'tenants');
SELECT create_distributed_table('pages', 'tenant_id', colocate_with => 'tenants');
SELECT create_distributed_table('proxied_requests', 'tenant_id', colocate_with => 'tenants');
SELECT create_distributed_table('recalls', 'tenant_id', colocate_with => 'tenants');
SELECT create_distributed_table('served_texts', 'tenant_id', colocate_with => 'tenants');
SELECT create_distributed_table('served_windows', 'tenant_id', colocate_with => 'tenants');
SELECT create_distributed_table('summaries', 'tenant_id', colocate_with => 'tenants');
SELECT create_distributed_table('topic_mentions', 'tenant_id', colocate_with => 'tenants');
SELECT create_distributed_table('work', 'tenant_id', colocate_with => 'tenants');
SELECT create_distributed_table('memories', 'tenant_id', colocate_with => 'tenants');
SELECT create_distributed_table('embeddings', 'tenant_id', colocate_with => 'tenants');
SELECT create_distributed_table('unembedded', 'tenant_id', colocate_with => 'tenants');
SELECT create_distributed_table('withdrawals', 'tenant_id', colocate_with => 'tenants');
SELECT create_distributed_table('spaces', 'tenant_id', colocate_with => 'tenants');
SELECT create_distributed_table('space_members', 'tenant_id', colocate_with => 'tenants');
SELECT create_distributed_table('memory_stores', 'tenant_id', colocate_with => 'tenants');
SELECT create_distributed_table('memory_versions', 'tenant_id', colocate_with => 'tenants');

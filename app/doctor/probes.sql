-- name: server
-- What the server is, and what the role can do in it.
SELECT current_setting('server_version_num')::int AS version, r.rolname AS role, r.rolsuper AS is_superuser,
       r.rolbypassrls AS bypasses_rls, current_setting('fsync') AS fsync,
       current_setting('synchronous_commit') AS synchronous_commit,
       current_setting('full_page_writes') AS full_page_writes, current_setting('server_encoding') AS encoding,
       pg_is_in_recovery() AS is_replica, current_setting('max_connections')::int AS connections_max,
       (SELECT extversion FROM pg_extension WHERE extname = 'vector') AS vector,
       (SELECT default_version FROM pg_available_extensions WHERE name = 'vector') AS vector_available,
       extract(epoch FROM clock_timestamp())::float8 AS now
  FROM pg_roles r WHERE r.rolname = current_user;

"""PostgreSQL: connections, tables, migrations, and an embedded server."""

"""Distribution by Citus: every table by tenant, next to the conversations; few are whole on every node.

`quire migrate` makes it so, and `quire doctor` compares.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

IS_CITUS = "SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'citus')"
FOUND = "SELECT logicalrelid::text AS name, partmethod = 'h' AS is_by_tenant FROM pg_dist_partition"
EVERYWHERE = ("alembic_version", "tenants")
"""Read without a tenant, by every process."""
FIRST = "conversations"
NARROWED = ("memories", "embeddings", "search_indexes", "postings", "listed", "unembedded")
# Citus refuses subqueries in policies, so the setting is read for each row.
IN_VIEW = """tenant_id = nullif(current_setting('app.tenant', true), '')::uuid
   AND coalesce(owner = ANY (nullif(current_setting('app.scopes', true), '')::uuid[]), true)"""
# Whatever row-level security shows: rows that its owner does not see would stay behind.
HAS_ROWS = "SELECT pg_relation_size('{table}') > 0"


def misplaced(tables: Iterable[str], found: Mapping[str, bool]) -> list[str]:
    """Return the tables that are not where they should be. ``found``: those that Citus knows, and which by tenant."""
    by_tenant = [name for name in tables if name not in EVERYWHERE]
    return [name for name in (*EVERYWHERE, *by_tenant) if found.get(name) is not (name in by_tenant)]


def distributing(tables: Iterable[str], found: Mapping[str, bool]) -> Iterator[tuple[str, list[str]]]:
    """Yield each misplaced table with the statements that distribute it; ``tables`` follow those they reference."""
    for name in misplaced([FIRST, *(name for name in tables if name != FIRST)], found):
        narrowed = [f"ALTER POLICY tenant ON {name} USING ({IN_VIEW}) WITH CHECK ({IN_VIEW})"]
        beside = "" if name == FIRST else f", colocate_with => '{FIRST}'"
        if name in EVERYWHERE:
            place = f"SELECT create_reference_table('{name}')"
        else:
            place = f"SELECT create_distributed_table('{name}', 'tenant_id'{beside})"
        yield name, [*(narrowed if name in NARROWED else ()), place]

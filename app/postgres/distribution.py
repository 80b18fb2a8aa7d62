"""Distribution by Citus: every table by tenant, next to the conversations; a few are whole on every node.

`quire migrate` makes it so, and `quire doctor` compares.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

IS_CITUS = "SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'citus')"
FOUND = "SELECT logicalrelid::text AS name, partmethod = 'h' AS is_by_tenant FROM pg_dist_partition"
EVERYWHERE = ("alembic_version", "tenants")
"""Read without a tenant, by every process."""
FIRST = "conversations"
OWNER, OF_CONVERSATION = "owner", ""
NARROWED = {
    **dict.fromkeys(("memories", "embeddings", "search_indexes", "postings", "listed", "unembedded"), OWNER),
    "conversations": "coalesce('s:' || space_id, 'u:' || user_id, '')", "archives": "scope",
    "archive_contents": "scope", "spaces": "'s:' || id", "space_members": "'s:' || space_id",
    **dict.fromkeys((
        "messages", "pages", "page_index", "chapters", "chapter_names", "cuts", "recalls", "served_texts",
        "served_windows", "summaries", "proxied_requests", "spending", "idempotency",
    ), OF_CONVERSATION),
}  # fmt: skip
"""Tables, and what of their rows tells who sees them. Citus refuses subqueries in policies: the setting is read for
each row, and rows of conversations are seen by every transaction of the tenant that says it sees anything.
"""
IN_VIEW = "current_setting('app.tenant', true)"
TENANT = f"tenant_id = nullif(left({IN_VIEW}, 36), '')::uuid"
# Whatever row-level security shows: rows that its owner does not see would stay behind.
HAS_ROWS = "SELECT pg_relation_size('{table}') > 0"


def misplaced(tables: Iterable[str], found: Mapping[str, bool]) -> list[str]:
    """Return the misplaced tables. ``found``: the tables that Citus knows, and whether each goes by tenant."""
    by_tenant = [name for name in tables if name not in EVERYWHERE]
    return [name for name in (*EVERYWHERE, *by_tenant) if found.get(name) is not (name in by_tenant)]


def distributing(tables: Iterable[str], found: Mapping[str, bool]) -> Iterator[tuple[str, list[str]]]:
    """Yield each misplaced table with the statements that distribute it. ``tables`` come after those they reference."""
    for name in misplaced([FIRST, *(name for name in tables if name != FIRST)], found):
        narrowed = []
        if name in NARROWED:
            narrowed = [f"ALTER POLICY tenant ON {name} USING ({TENANT} AND {_in_view(NARROWED[name])})"]
        beside = "" if name == FIRST else f", colocate_with => '{FIRST}'"
        if name in EVERYWHERE:
            place = f"SELECT create_reference_table('{name}')"
        else:
            place = f"SELECT create_distributed_table('{name}', 'tenant_id'{beside})"
        yield name, [*narrowed, place]


def _in_view(whose: str) -> str:
    if whose == OF_CONVERSATION:
        return f"length({IN_VIEW}) > 36"
    kind, place = ("uuid", 2) if whose == OWNER else ("text", 3)
    line = f"split_part({IN_VIEW}, E'\\n', {place})"
    return f"""coalesce({whose} = ANY (CASE WHEN '*' IN (substr({IN_VIEW}, 37), {line}) THEN NULL
                          ELSE coalesce(nullif({line}, ''), '{{}}')::{kind}[] END), true)"""

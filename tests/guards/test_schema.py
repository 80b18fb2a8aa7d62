"""Every table that the migrations make keeps tenants apart by itself."""

from collections.abc import Callable

import asyncpg
from alembic.config import Config
from alembic.script import ScriptDirectory

from app.postgres import migrate
from tests.tables import TABLES

Ask = Callable[[str], list[asyncpg.Record]]


def test_the_schema_that_is_expected_is_the_newest_migration() -> None:
    config = Config()
    config.set_main_option("script_location", str(migrate.SCRIPTS))
    assert ScriptDirectory.from_config(config).get_heads() == [migrate.HEAD]


FOUND = """
SELECT c.relname, c.relrowsecurity, c.relforcerowsecurity,
       (SELECT attnum FROM pg_attribute WHERE attrelid = c.oid AND attname = 'tenant_id' AND attnotnull) AS tenant,
       (SELECT array_agg(polpermissive AND polcmd = '*' AND polroles = '{0}' AND polqual IS NOT NULL
                         AND polwithcheck IS NOT NULL ORDER BY polname)
          FROM pg_policy WHERE polrelid = c.oid) AS policies
  FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
"""
LEADING = """
SELECT c.relname AS name, i.indexrelid::regclass::text AS what, i.indkey[0] AS leads,
       (SELECT attnum FROM pg_attribute WHERE attrelid = c.oid AND attname = 'tenant_id') AS tenant
  FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid WHERE c.relnamespace = 'public'::regnamespace
UNION ALL
SELECT c.relname, o.conname, o.conkey[1],
       (SELECT attnum FROM pg_attribute WHERE attrelid = c.oid AND attname = 'tenant_id')
  FROM pg_constraint o JOIN pg_class c ON c.oid = o.conrelid
 WHERE c.relnamespace = 'public'::regnamespace AND o.contype IN ('p', 'u', 'f')
UNION ALL
SELECT c.relname, o.conname, o.confkey[1],
       (SELECT attnum FROM pg_attribute WHERE attrelid = c.oid AND attname = 'tenant_id')
  FROM pg_constraint o JOIN pg_class c ON c.oid = o.confrelid
 WHERE c.relnamespace = 'public'::regnamespace AND o.contype = 'f'
"""


def test_every_table_has_a_tenant_and_forces_its_policy(run_as_superuser: Ask) -> None:
    found = [row for row in run_as_superuser(FOUND) if row["relname"] != "alembic_version"]
    assert {row["relname"] for row in found} == set(TABLES)
    for row in found:
        if row["relname"] in LISTED_BY_EVERYBODY:
            continue
        assert row["tenant"] is not None, row
        assert row["relrowsecurity"], row
        assert row["relforcerowsecurity"], row
        assert row["policies"] == [True] + [False] * (row["relname"] in WATCHED), row


WATCHED = {"work", "events"}
"""Ids and numbers, which a worker that says so sees of every tenant."""


def test_all_work_is_seen_only_by_who_says_so_and_changed_by_nobody(run_as_superuser: Ask) -> None:
    found = run_as_superuser(
        "SELECT polrelid::regclass::text AS name, polcmd::text, pg_get_expr(polqual, polrelid) AS seen"
        " FROM pg_policy WHERE polname = 'watch'"
    )
    assert {row["name"] for row in found} == WATCHED
    for row in found:
        assert row["polcmd"] == "r"
        assert row["seen"] == "(current_setting('app.watch'::text, true) = 'on'::text)"


LISTED_BY_EVERYBODY = {"tenants"}
"""The list that the worker goes through: ids and names, no content. Only reading is open."""


def test_the_list_of_tenants_is_open_to_reading_alone(run_as_superuser: Ask) -> None:
    [row] = [row for row in run_as_superuser(FOUND) if row["relname"] in LISTED_BY_EVERYBODY]
    assert row["tenant"] is not None
    assert row["relrowsecurity"]
    assert row["relforcerowsecurity"]
    found = run_as_superuser(
        "SELECT polname, polcmd::text, pg_get_expr(polqual, polrelid) AS seen, polwithcheck IS NULL AS writes_nothing"
        " FROM pg_policy WHERE polrelid = 'tenants'::regclass ORDER BY polname"
    )
    open_, own = (dict(row) for row in found)
    assert open_ == {"polname": "everybody", "polcmd": "r", "seen": "true", "writes_nothing": True}
    assert (own["polname"], own["polcmd"], own["writes_nothing"]) == ("tenant", "*", False)
    assert "app.tenant" in own["seen"]


def test_the_tenant_leads_every_key_and_index(run_as_superuser: Ask) -> None:
    found = [row for row in run_as_superuser(LEADING) if row["name"] != "alembic_version"]
    assert len(found) > 20
    for row in found:
        assert row["leads"] == row["tenant"], f"{row['what']} of {row['name']}"


def test_the_schema_uses_nothing_that_sharding_forbids(run_as_superuser: Ask) -> None:
    assert run_as_superuser("SELECT tgname FROM pg_trigger WHERE NOT tgisinternal") == []
    functions = """
    SELECT p.proname FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace
       AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')
    """
    assert run_as_superuser(functions) == []


def test_no_role_of_ours_passes_row_level_security_by(run_as_superuser: Ask) -> None:
    found = run_as_superuser("SELECT rolname, rolsuper, rolbypassrls FROM pg_roles WHERE rolname LIKE 'quire%'")
    assert len(found) == 2
    assert not any(row["rolsuper"] or row["rolbypassrls"] for row in found)


def test_tables_whose_indexes_are_read_alone_are_vacuumed_as_they_grow(run_as_superuser: Ask) -> None:
    """Else up to a fifth of them is looked up in the table, row by row."""
    found = run_as_superuser(
        "SELECT relname, option_value::float AS factor FROM pg_class, pg_options_to_table(reloptions)"
        " WHERE relnamespace = 'public'::regnamespace AND option_name = 'autovacuum_vacuum_insert_scale_factor'"
    )
    factors = {row["relname"]: row["factor"] for row in found}
    assert factors == {"messages": 0.02, "memories": 0.02, "embeddings": 0.02, "postings": 0.02, "listed": 0.02}

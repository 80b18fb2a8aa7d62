"""Quire could be sharded by tenant: what deploy/citus.sql distributes, and which statements would cross shards.

That every key, constraint and index leads with the tenant is in test_schema.
"""

import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

import app
from app.postgres import database
from app.postgres.statements import Statement
from app.postgres.tables import metadata

DEPLOY = Path(__file__).parents[2] / "deploy"
DISTRIBUTES = re.compile(r"^SELECT create_distributed_table\('(\w+)', 'tenant_id'(, colocate_with => 'tenants')?\);$")
MENTIONS = re.compile(rf"\b(?:FROM|JOIN|INTO|UPDATE)\s+(?:{'|'.join(metadata.tables)})\b")
STATEMENT = re.compile(r"\s*(SELECT|WITH|INSERT|UPDATE|DELETE)\b")
PUTS_IN = r"INSERT INTO \w+(?: AS \w+)?\s*\(\s*tenant_id,[^)]*\)\s*(?:VALUES\s*\(|SELECT )\s*\$1"
OF_ONE_TENANT = re.compile(rf"tenant_id = \$1|{PUTS_IN}")
ACROSS = {
    "app.postgres.tenants.LIST", "app.postgres.tenants.IS_KEYED", "app.store.keys.ALL_TENANTS",
    "app.queue.table.DUE", "app.queue.table.ASTRAY", "app.postgres.backup.HELD",
    "app.queue.outbox.UNNUMBERED",
}  # fmt: skip
"""The list of tenants, for what goes through them one by one; whether anybody has a key; and what workers look for once
a second, which goes through the tenants within the statement.
"""


def distributed() -> list[re.Match[str]]:
    lines = [line for line in (DEPLOY / "citus.sql").read_text().splitlines() if not line.startswith("--")]
    found = [DISTRIBUTES.match(line) for line in lines]
    assert all(found), lines
    return [match for match in found if match]


def test_every_table_is_distributed_by_tenant_after_those_it_references() -> None:
    names = [match[1] for match in distributed()]
    assert sorted(names) == sorted(metadata.tables)
    assert [match[1] for match in distributed() if not match[2]] == ["tenants"]
    for table in metadata.tables.values():
        for key in table.foreign_key_constraints:
            assert names.index(key.referred_table.name) <= names.index(table.name)


def test_a_foreign_key_pairs_the_tenant_with_the_tenant() -> None:
    """Otherwise a row could refer to one on another node."""
    keys = [key for table in metadata.tables.values() for key in table.foreign_key_constraints]
    assert len(keys) > 15
    for key in keys:
        first = key.elements[0]
        assert (first.parent.name, first.column.name) == ("tenant_id", "tenant_id"), key.name


def statements() -> Iterator[tuple[str, str]]:
    for module in pkgutil.walk_packages(app.__path__, "app."):
        if module.name == "app.__main__":
            continue
        for name, value in vars(importlib.import_module(module.name)).items():
            sql = str(value) if isinstance(value, str | Statement) else ""
            if name.isupper() and STATEMENT.match(sql) and MENTIONS.search(sql):
                yield f"{module.name}.{name}", sql


def test_no_statement_crosses_tenants_but_the_list_of_them() -> None:
    found = dict(statements())
    assert len(found) > 100
    across = {name for name, sql in found.items() if not OF_ONE_TENANT.search(sql)}
    assert across == ACROSS


def test_the_apps_role_has_the_limits_of_a_session_by_itself() -> None:
    """For single statements behind a pooler, whose sessions are not ours to configure."""
    roles = (DEPLOY / "roles.sql").read_text()
    for name, value in database.SERVER_TIMEOUTS.items():
        assert f"ALTER ROLE quire_app SET {name} = '{value}';" in roles

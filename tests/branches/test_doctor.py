"""The doctor finds a tree sound."""

import httpx
import pytest

from app.doctor.walk import walk
from app.postgres.database import Database
from tests.api.kit import append, ok, path, turn

pytestmark = pytest.mark.anyio


@pytest.fixture
def tree(client: httpx.Client) -> None:
    append(client, "t", [*turn(1), *turn(2), *turn(3)])
    for of, name, at in (("t", "b", 3), ("b", "c", 2), ("t", "empty", 4), ("b", "at the end", None)):
        ok(client.post(path(of, "fork"), json={"id": name, "at": at}), 201)
    for name in ("b", "c", "t"):
        append(client, name, [*turn(7), *turn(8)])


@pytest.mark.parametrize("batch", [3, 1000])
async def test_a_sound_tree_has_no_faults(tree: None, database: Database, batch: int) -> None:
    faults, rows, _ = await walk(database, batch)
    assert faults == []
    assert rows > 18

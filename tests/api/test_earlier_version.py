"""Conversations that an earlier version of Quire stored, with epochs laid out by other rules."""

from collections.abc import Callable
from typing import Any

import httpx

from tests.api.kit import append, created, ok, path, turn, window

RunAsSuperuser = Callable[[str], list[Any]]
# As the earlier version laid out 30 turns at 4,000 tokens: cut at message 41, the last ten messages verbatim.
OLD_EPOCH = """
INSERT INTO epochs (tenant_id, conversation_id, number, available, condensed_from, verbatim_from, pinned, head_room,
                    full_until, pages_until, generation, trigger_page, revision, half_mark, head)
SELECT tenant_id, id, 41, {available}, 11, 31, 0, 300, 100000, 60, 0, 21, 41, 1000,
       '{{"text":"<quire-memory>old</quire-memory>","listed":[],"chapters":[],"summary_tokens":9}}'
  FROM conversations WHERE id = 'c'
"""
USE_IT = "UPDATE conversations SET epoch = 41 WHERE id = 'c'"


def stored_by_the_version_before(client: httpx.Client, run_as_superuser: RunAsSuperuser) -> None:
    created(client, id="c", user_id="u", budget=4000)
    for number in range(1, 31):
        append(client, "c", turn(number))
    sections = window(client, "c")["usage"]["sections"]
    available = 4000 * 9 // 10 - sections["tools"] - sections["system"]
    for statement in (OLD_EPOCH.format(available=available), USE_IT):
        run_as_superuser(statement)


def test_an_old_conversation_opens_in_the_new_layout_and_stays_stable(
    client: httpx.Client, other: httpx.Client, run_as_superuser: RunAsSuperuser
) -> None:
    stored_by_the_version_before(client, run_as_superuser)
    before = window(other, "c")
    assert before["pages"]["verbatim"] == list(range(1, 31))
    assert "old" not in str(before["messages"][1])
    for number in range(31, 40):
        append(other, "c", turn(number))
        found = window(other, "c")
        if found["epoch"] == before["epoch"]:
            assert found["messages"][: before["stable_messages"]] == before["messages"][: before["stable_messages"]]
        assert found == window(client, "c")
        before = found


def test_the_next_append_stores_its_epoch_anew(
    client: httpx.Client, other: httpx.Client, run_as_superuser: RunAsSuperuser
) -> None:
    stored_by_the_version_before(client, run_as_superuser)
    append(other, "c", turn(31))
    assert [row[0] for row in run_as_superuser("SELECT number FROM epochs")] == [0]
    assert ok(client.get(path("c", "status")))
    assert window(client, "c")["pages"]["verbatim"] == list(range(1, 32))

"""What each finding means, without a database."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import get_args

import pytest

from app.doctor import checks
from app.doctor.checks import Check, DoctorQuestion, Folder, ServerFacts, Table
from app.queue.depths import Depth

SOUND = ServerFacts(
    version=180_004, role="quire_app", is_superuser=False, bypasses_rls=False, fsync="on", synchronous_commit="on",
    full_page_writes="on", encoding="UTF8", is_replica=False, connections_max=100, vector="0.8.5",
    vector_available="0.8.5", skew_seconds=0.01,
)  # fmt: skip
FOLDER = Folder("/data", exists=True, is_writable=True, is_open_to_all=False, free_bytes=1 << 40)


def of_server(server: ServerFacts) -> dict[str, str]:
    found = (
        checks.version(server), checks.role(server), checks.durability(server), checks.vector(server),
        checks.clock(server), checks.connections(server, 8),
    )  # fmt: skip
    for check in found:
        assert bool(check.fix) == (check.state != "ok"), check
    return {check.name: check.state for check in found if check.state != "ok"}


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({}, {}),
        ({"version": 130_012}, {"database": "fail"}),
        ({"encoding": "SQL_ASCII"}, {"database": "fail"}),
        ({"is_replica": True}, {"database": "fail"}),
        ({"is_superuser": True}, {"role": "fail"}),
        ({"bypasses_rls": True}, {"role": "fail"}),
        ({"fsync": "off"}, {"durability": "fail"}),
        ({"full_page_writes": "off"}, {"durability": "fail"}),
        ({"synchronous_commit": "off"}, {"durability": "warn"}),
        ({"synchronous_commit": "remote_apply"}, {}),
        ({"vector": None, "vector_available": None}, {"pgvector": "fail"}),
        ({"vector": None}, {"pgvector": "fail"}),
        ({"vector": "0.6.2"}, {"pgvector": "fail"}),
        ({"vector": "0.7.4"}, {"pgvector": "warn"}),
        ({"vector": "0.10.0", "vector_available": "0.10.0"}, {}),
        ({"skew_seconds": -3.0}, {"clock": "warn"}),
        ({"connections_max": 5}, {"connections": "warn"}),
    ],
)
def test_each_fault_gives_one_finding(change: dict[str, object], found: dict[str, str]) -> None:
    assert of_server(replace(SOUND, **change)) == found  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("found", "embedded", "state"),
    [("0002", False, "ok"), ("0001", False, "fail"), ("", False, "fail"), ("0003", False, "ok"),
     ("0004", False, "fail"), ("0001", True, "warn"), ("", True, "warn"), ("0004", True, "fail")],
)  # fmt: skip
def test_a_schema_is_too_old_or_too_new_or_right(found: str, embedded: bool, state: str) -> None:
    """The next one is served too: see ``app.postgres.migrate``."""
    check = checks.migrations(found, "0002", {"0001", "0002"}, embedded=embedded)
    assert check.state == state
    assert ("newer than this version" in check.detail) == (found == "0004")


def test_tables_that_are_open_or_closed_are_named() -> None:
    tables = [Table("notes", is_protected=True, is_granted=False), Table("work", is_protected=False, is_granted=True)]
    assert "work" in checks.protection(tables).detail
    assert "notes" in checks.grants(tables, "quire_app").detail
    assert {checks.protection(tables[:1]).state, checks.grants(tables[1:], "quire_app").state} == {"ok"}


def test_unclaimed_work_is_a_warning_with_age_and_error() -> None:
    busy = {"llm": Depth(pending=900, running=4, oldest_pending_seconds=4000)}
    assert checks.jobs({}, 0).state == checks.jobs(busy, 0).state == "ok"
    left = {"llm": Depth(pending=3, oldest_pending_seconds=600, unclaimed=2, error="the provider answered 401")}
    check = checks.jobs(left, 1)
    assert check.state == "warn"
    for words in ("2 jobs (llm)", "10 min", "1 are stale: their worker died", "answered 401"):
        assert words in check.detail
    assert "jobs retry" in checks.jobs({"llm": Depth(dead=1)}, 0).fix


def test_a_model_that_refuses_us_fails_and_one_that_is_away_is_a_warning() -> None:
    assert checks.chat(None).state == checks.embeddings(None, None).state == "ok"
    for judged in (checks.chat, lambda asked: checks.embeddings(asked, None)):
        assert judged(DoctorQuestion("m", 0.2, 3)).state == "ok"
        assert judged(DoctorQuestion("m", error="no answer")).state == "warn"
        assert judged(DoctorQuestion("m", error="401", is_refusal=True)).state == "fail"


def test_vectors_of_another_model_or_width_are_recomputed() -> None:
    asked = DoctorQuestion("m", 0.2, 384)
    assert checks.embeddings(asked, ("m", 384)).state == "ok"
    assert checks.embeddings(asked, ("m", 768)).state == checks.embeddings(asked, ("n", 384)).state == "warn"


def test_a_folder_matters_more_where_the_database_is_in_it() -> None:
    closed = replace(FOLDER, is_writable=False)
    assert checks.data_dir(closed, embedded=True, is_root=False).state == "fail"
    assert checks.data_dir(closed, embedded=False, is_root=False).state == "warn"
    assert checks.data_dir(FOLDER, embedded=True, is_root=True).state == "warn"
    assert checks.data_dir(replace(FOLDER, free_bytes=1), embedded=True, is_root=False).state == "warn"
    assert checks.data_dir(replace(FOLDER, is_open_to_all=True), embedded=False, is_root=False).state == "warn"
    assert checks.data_dir(FOLDER, embedded=False, is_root=True).state == "ok"
    assert checks.vocabulary("absent", writable=True).state == "ok"
    assert checks.vocabulary("damaged", writable=False).state == "fail"


def test_the_door_is_judged_as_serve_judges_it() -> None:
    """Whatever else is set: keys close it, loopback or a word of the operator's leaves it open, else it is refused."""
    for loopback, keyed, required, allowed in product((False, True), repeat=4):
        found = checks.door(
            "0.0.0.0", is_loopback=loopback, is_keyed=keyed, requires_keys=required, is_allowed=allowed
        )  # fmt: skip
        assert (found.state == "fail") == (not (loopback or keyed or required or allowed))
        assert (found.detail == "Every caller needs an API key or a token.") == keyed


def test_every_port_has_a_verdict_and_the_worst_of_all_is_the_whole_ones() -> None:
    found = [checks.port(found, "127.0.0.1", 80) for found in get_args(checks.Port)]
    assert [check.state for check in found] == ["ok", "ok", "ok", "fail", "fail", "fail"]
    warned = [Check("a", "ok", ""), Check("b", "warn", "")]
    assert (checks.worst([]), checks.worst(warned), checks.worst([*warned, *found])) == ("ok", "warn", "fail")
    assert checks.report(warned)["checks"][1] == {"name": "b", "state": "warn", "detail": "", "fix": ""}

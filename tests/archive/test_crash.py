"""SIGKILL at any moment: of Quire, and of PostgreSQL's postmaster."""

from bench.crash import crash


def test_no_kill_loses_doubles_or_tears_what_was_acknowledged() -> None:
    """As many rounds as some seconds hold; `python -m bench.crash` does more."""
    report = crash(rounds=15, seconds=14, postmaster_every=4)
    assert report.problems == []
    assert report.kills >= 2
    assert report.turns > report.kills

"""The secret of a key is nowhere but with whoever was given it."""

import json
import logging
from pathlib import Path

import httpx
import pytest

from app.core.edge.caller import Caller
from app.core.edge.credentials import Credentials
from app.postgres.embedded import EmbeddedPostgres
from tests.api.kit import append, ok, turn
from tests.archive.conftest import Grep, tables_with  # noqa: F401 - a fixture
from tests.cli.kit import environment, running, url_of  # noqa: F401 - a fixture
from tests.conftest import wait_for
from tests.keys.kit import FIRST, HERE, Mint, bearing

TEXT = f"qk_{HERE.hex}_{HERE.hex}_{'5e' * 32}"


def test_displayed_credentials_do_not_contain_the_secret() -> None:
    found = Credentials.read(TEXT)
    assert found is not None
    assert found.reveal() == TEXT
    for shown in (repr(found), str(found), f"{found}", repr(Caller(HERE, key=found.id))):
        assert "5e5e" not in shown
    assert len(found.digest) == 32


@pytest.mark.parametrize("text", ["", "qk_", TEXT[:-1], TEXT + "0", TEXT.upper(), TEXT + "\n", "x" + TEXT, "qk_é"])
def test_a_text_that_is_no_key_is_read_as_none(text: str) -> None:
    assert Credentials.read(text) is None


@pytest.mark.slow
def test_a_run_leaves_it_neither_in_the_log_nor_in_a_table_nor_in_an_answer(
    environment: dict[str, str],  # noqa: F811
    postgres: EmbeddedPostgres,
    clean: None,
    tables_with: Grep,  # noqa: F811
    tmp_path: Path,
) -> None:
    """Good keys and bad ones, refusals, a failure of the database, at the most talkative level."""
    log = tmp_path / "log"
    env = {**environment, "DATABASE_URL": postgres.app_dsn, "QUIRE_LOG_LEVEL": "debug"}
    said: list[str] = []
    with running("serve", env) as process:
        url = url_of(process)
        with httpx.Client(base_url=url, timeout=30) as client:
            made = ok(client.post("/keys", json={"name": "k", "scopes": ["read", "write", "admin"], **FIRST}), 201)
            key, wrong = made["key"], made["key"][:-4] + "0000"
            client.headers = httpx.Headers(bearing(key))
            append(client, "c", turn(1))
            client.headers = httpx.Headers()
            for given in (key, wrong):
                for headers in (bearing(given), {"X-API-Key": given}, {"Authorization": given}):
                    for path in ("/keys", "/conversations/c/context", "/readyz", "/nowhere", "/conversations/%ff"):
                        answer = client.get(path, headers=headers)
                        said += [answer.text, str(answer.headers)]
                    body = {"messages": [{"role": "user"}], "unknown": given[:8]}
                    said.append(client.post("/conversations/c/messages", json=body, headers=headers).text)
            revoked = client.delete(f"/keys/{made['id']}", headers=bearing(key))
            said.append(revoked.text)
        process.terminate()
        out, err = process.communicate(timeout=20)
        log.write_text(out + err)
    secret = key.rsplit("_", 1)[1]
    digest = Credentials.read(key)
    assert digest is not None
    for part in (secret, secret[:-4], digest.digest.hex()):
        assert part not in log.read_text()
        assert part not in "\n".join(said)
    assert len(log.read_text()) > 500
    assert tables_with(secret) == []


def test_a_failure_while_a_key_is_looked_up_does_not_tell_it(
    locked: httpx.Client, mint: Mint, caplog: pytest.LogCaptureFixture, run_as_superuser: object
) -> None:
    """Two at once: a log of everything, and a database that refuses the statement."""
    assert callable(run_as_superuser)
    key = mint()
    caplog.set_level(logging.DEBUG)
    run_as_superuser("ALTER TABLE keys RENAME TO keys_away")
    try:
        answer = locked.get("/conversations", headers=bearing(key))
        assert answer.status_code == 500
    finally:
        run_as_superuser("ALTER TABLE keys_away RENAME TO keys")
    secret = key.rsplit("_", 1)[1]
    assert secret not in caplog.text
    assert secret not in answer.text
    assert json.loads(answer.text)["title"] == "Internal error"
    wait_for(lambda: locked.get("/conversations", headers=bearing(key)).status_code == 200)

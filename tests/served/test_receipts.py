"""Each served window has a signed receipt, and the chain of them proves what a model saw and what was erased."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest
from pydantic import SecretStr

from app.assembly import signer_of
from app.core.canonical import dumps
from app.main import build_app
from app.postgres.embedded import EmbeddedPostgres
from app.settings import Settings
from app.store.served import Row
from quire_verify import Refused, trusted_keys, verify_chain, verify_entry, verify_proof
from quire_verify.command import report
from quire_verify.issuer import Signer, opening_of, part_of
from quire_verify.verifier import b64, canonical, raw
from tests.api.kit import Json, append, assistant, ok, path, problem, system, user
from tests.conftest import patient, serving
from tests.served.kit import records, served

Sql = Callable[[str], list[asyncpg.Record]]
SECRET = "The harbour seeds are kept under the third pier."


@pytest.fixture(scope="module")
def elsewhere(postgres: EmbeddedPostgres, settings: Settings) -> Iterator[str]:
    yield from serving(build_app(settings, postgres.app_dsn))


def receipt_of(client: httpx.Client, window: int | str, prove: int | None = None, name: str = "c") -> Json:
    query = {} if prove is None else {"prove": prove}
    return ok(client.get(path(name, "windows", str(window), "receipt"), params=query))


def exported(client: httpx.Client, conversation: str = "c") -> list[Json]:
    text = client.get(path(conversation, "export")).text
    return [json.loads(line) for line in text.splitlines()]


def chain_of(client: httpx.Client, conversation: str = "c") -> list[Json]:
    return [line["receipt"] for line in exported(client, conversation) if line["type"] == "receipt"]


def keys(client: httpx.Client) -> Any:
    return trusted_keys(ok(client.get("/.well-known/quire-keys"))["keys"])


def talk(client: httpx.Client, turns: int = 3) -> None:
    append(client, "c", [system("Be brief."), user(SECRET), assistant("Noted.")])
    for number in range(turns):
        append(client, "c", [user(f"question {number}"), assistant(f"answer {number}")])
        served(client, "c", budget=4_000)


def test_a_window_names_its_receipt_and_the_receipt_proves_each_message(client: httpx.Client) -> None:
    talk(client)
    sent = served(client, "c", budget=5_000)
    found = receipt_of(client, sent.root, prove=2)
    assert found["receipt"]["root"] == sent.root == records(client, "c")[0]["root"]
    assert len(canonical(found["receipt"])) <= 400
    opening = verify_proof(found["receipt"], found["proof"], keys(client), found["text"])
    assert opening is not None
    assert (opening["form"], opening["author"]) == ("verbatim", "person")
    assert SECRET in found["text"]
    prompt = receipt_of(client, 4, prove=1)
    assert (verify_proof(prompt["receipt"], prompt["proof"], keys(client)) or {})["form"] == "system"
    later = receipt_of(client, 1, prove=9)
    assert verify_proof(later["receipt"], later["proof"], keys(client)) is None
    assert "text" not in later or later["text"] is None


def test_receipts_form_a_chain_that_an_export_holds(client: httpx.Client, tmp_path: Any) -> None:
    talk(client, turns=20)
    found = verify_chain(chain_of(client), keys(client))
    assert (found.first, found.last, found.erasures) == (1, 20, 0)
    file = tmp_path / "me.jsonl"
    file.write_bytes(client.get("/users/u/export").content)
    assert "windows 1 to 20" in "".join([*report(file, None, None)])
    lines = file.read_text().splitlines()
    file.write_text("\n".join(line for line in lines if '"number":7' not in line))
    with pytest.raises(Refused, match="Entry 8 after 6"):
        list(report(file, None, None))


def test_what_is_erased_keeps_its_place_in_the_proof_and_nobody_can_confirm_it(client: httpx.Client) -> None:
    talk(client)
    before = receipt_of(client, 2, prove=2)
    gone = ok(client.delete(path("c", "messages", "2")))
    [certificate] = gone["certificates"]
    verify_entry(certificate["receipt"], keys(client))
    assert (certificate["receipt"]["first"], certificate["receipt"]["last"], certificate["receipt"]["count"]) == (
        2,
        2,
        1,
    )
    after = receipt_of(client, 2, prove=2)
    assert after["receipt"] == before["receipt"]
    assert after.get("text") is None
    assert verify_proof(after["receipt"], after["proof"], keys(client)) == {}
    with pytest.raises(Refused, match="not the one"):
        verify_proof(after["receipt"], after["proof"], keys(client), before["text"])
    other = receipt_of(client, 2, prove=3)
    assert verify_proof(other["receipt"], other["proof"], keys(client), other["text"])
    served(client, "c", budget=4_000)
    chain = verify_chain(chain_of(client), keys(client))
    assert (chain.last, chain.erasures) == (4, 1)


def test_a_conversation_that_goes_leaves_the_end_of_its_chain(client: httpx.Client) -> None:
    talk(client)
    chain = chain_of(client)[:-1]
    [end] = ok(client.delete(path("c")))["certificates"]
    found = verify_chain([*chain, end["receipt"]], keys(client))
    assert (found.last, found.erasures) == (3, 1)


def test_what_an_erasure_returns_can_be_verified(client: httpx.Client, tmp_path: Path) -> None:
    talk(client, turns=3)
    published = client.get("/.well-known/quire-keys").content
    (tmp_path / "keys.json").write_bytes(published)
    for where, kind in ((path("c", "messages", "1"), "erasure"), (path("c"), "end")):
        (tmp_path / "gone.json").write_bytes(client.delete(where).content)
        assert f"{kind} 3 of c is signed" in "".join(report(tmp_path / "gone.json", tmp_path / "keys.json", None))


def test_an_import_of_a_certificate_erases_again_what_a_backup_brought_back(client: httpx.Client) -> None:
    talk(client)
    backup = client.get(path("c", "export")).content
    certificates = ok(client.delete(path("c", "messages", "2")))["certificates"]
    kept = client.get(path("c", "export")).content
    ok(client.delete(path("c")))
    for lines in (json.dumps(certificates).encode(), kept):
        ok(client.post("/import", content=backup, headers={"content-type": "application/x-ndjson"}))
        assert SECRET in client.get(path("c", "messages")).text
        kind = "application/json" if lines.startswith(b"[") else "application/x-ndjson"
        done = ok(client.post("/import", content=lines, headers={"content-type": kind}))
        assert done["imported"]["receipts"] == 1
        assert SECRET not in client.get(path("c", "messages")).text
        again = ok(client.post("/import", content=lines, headers={"content-type": kind}))
        assert "receipts" not in again["imported"]
        ok(client.delete(path("c")))


def test_a_forged_certificate_erases_nothing(client: httpx.Client) -> None:
    talk(client)
    [certificate] = ok(client.delete(path("c", "messages", "3")))["certificates"]
    certificate["receipt"]["first"] = 2
    problem(client.post("/import", json=[certificate]), 422, "signature")
    certificate["receipt"]["key"] = "AAAAAAAAAAA"
    assert ok(client.post("/import", json=[certificate]))["matched"] == {"receipts": 1}
    assert SECRET in client.get(path("c", "messages")).text


def test_windows_that_never_were_have_no_receipt(client: httpx.Client) -> None:
    talk(client)
    problem(client.get(path("c", "windows", "9", "receipt")), 404)
    problem(client.get(path("c", "windows", "A" * 43, "receipt")), 404)
    problem(client.get(path("c", "windows", "newest", "receipt")), 422, "window")
    problem(client.get(path("c", "windows", "1", "receipt"), params={"prove": 0}), 422, "prove")
    problem(client.get(path("nobody", "windows", "1", "receipt")), 404)


def test_no_stored_byte_confirms_what_was_erased(client: httpx.Client, run_as_superuser: Sql) -> None:
    """No erased text is stored, nor a hash of it, of its message as a model read it, or of a window that showed it, nor
    its salt, nor a value that could be computed from a guess and stored data.
    """
    append(client, "c", [user(SECRET)])
    window = ok(client.get(path("c", "context"), params={"query": SECRET}))
    proof = receipt_of(client, 1, prove=1)
    opening = proof["proof"]["shown"][0]["opening"]
    [salt] = [bytes(row["salt"]) for row in run_as_superuser("SELECT salt FROM messages")]
    read = ("tools", "system", "messages")
    guesses = [SECRET, proof["text"], "\x00".join(dumps(window[name]) for name in read), dumps(window["messages"])]
    digests = [sha256(guess.encode()).digest() for guess in guesses]
    ok(client.delete(path("c", "messages", "1")))
    everything = "\n".join(
        str(row["row"])
        for table in ("messages", "served_windows", "served_texts", "own_texts", "cuts")
        for row in run_as_superuser(f"SELECT t::text AS row FROM {table} t")
    )
    lines = run_as_superuser("SELECT first, body FROM served_windows")
    everything += "".join(row.frames + row.entries + row.erasures for row in (Row.read(*line) for line in lines))
    everything += client.get(path("c", "export")).text + client.get(path("c", "windows", "1", "receipt?prove=1")).text
    assert SECRET not in everything
    assert salt.hex() not in everything
    assert opening["salt"] not in everything
    for digest in digests[1:]:  # the first is that of sync, by which it knows the caller's list: docs/erasure.md
        assert digest.hex()[:24] not in everything
        assert b64(digest) not in everything
    [new] = [bytes(row["salt"]) for row in run_as_superuser("SELECT salt FROM messages")]
    guess = opening_of("verbatim", "person", new, digests[1])
    assert part_of(guess) != raw(proof["proof"]["shown"][0]["part"], 32)


def test_two_processes_write_one_chain(client: httpx.Client, elsewhere: str) -> None:
    with patient(elsewhere) as other:
        for number in range(24):
            append(client, "c", [user(f"question {number}")])
            served((client, other)[number % 2], "c")
            if number % 5 == 4:
                ok(client.delete(path("c", "messages", str(number))))
        listed = records(other, "c")
        chain = verify_chain(chain_of(client), keys(client))
    assert (chain.first, chain.last) == (1, 24)
    assert chain.erasures == 4
    for record in listed:
        found = receipt_of(client, record["id"], prove=record["last_seq"])
        assert verify_proof(found["receipt"], found["proof"], keys(client), found.get("text")) is not None


def test_a_branch_has_a_chain_of_its_own(client: httpx.Client) -> None:
    talk(client)
    ok(client.post(path("c", "fork"), json={"id": "d", "at": 3}), 201)
    append(client, "d", [user("elsewhere")])
    served(client, "d")
    assert verify_chain(chain_of(client, "d"), keys(client)).last == 1
    found = receipt_of(client, 1, prove=2, name="d")
    assert verify_proof(found["receipt"], found["proof"], keys(client), found["text"])
    gone = ok(client.delete(path("c", "messages", "2")))["certificates"]
    assert {line["conversation_id"] for line in gone} == {"c", "d"}
    found = receipt_of(client, 1, prove=2, name="d")
    assert verify_proof(found["receipt"], found["proof"], keys(client)) == {}
    assert verify_chain(chain_of(client, "d"), keys(client)).erasures == 1


def test_receipts_can_be_off_and_keys_are_rotated(postgres: EmbeddedPostgres, settings: Settings, fresh: None) -> None:
    def app(**changes: Any) -> Any:
        return serving(build_app(settings.model_copy(update=changes), postgres.app_dsn))

    old, new, first = "11" * 32, "22" * 32, dict[str, Any]()
    for url in app(quire_receipt_key=SecretStr(old)):
        with patient(url) as client:
            talk(client)
            first = keys(client)
    for url in app(quire_receipt_key=SecretStr(f"{old},{new}")):
        with patient(url) as client:
            served(client, "c", budget=4_500)
            document = ok(client.get("/.well-known/quire-keys"))["keys"]
            [note] = verify_chain(chain_of(client), trusted_keys(document, first)).notes
            assert note == f"From entry 4 on key {document[1]['key']} signs."
    for url in app(quire_receipts=False):
        with patient(url) as client:
            answer = client.get(path("c", "context"), params={"budget": 4_600})
            assert "x-quire-receipt" not in answer.headers
            assert records(client, "c")[0]["key"] is None
            assert ok(client.get(path("c", "windows", "5")))["verified"]
            problem(client.get(path("c", "windows", "5", "receipt")), 404, "were off")
            assert ok(client.delete(path("c", "messages", "2")))["certificates"] == []
            assert ok(client.get("/.well-known/quire-keys"))["keys"] == []


def test_where_no_key_can_be_kept_receipts_are_off_and_the_log_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    assert signer_of(Settings(quire_data_dir=tmp_path / "file")) is None
    assert "set QUIRE_RECEIPT_KEY" in caplog.text


def test_a_key_is_made_once_and_kept_from_others(tmp_path: Path) -> None:
    first = Signer.kept(tmp_path)
    assert Signer.kept(tmp_path).key == first.key
    file = tmp_path / "receipt.keys"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    file.write_text(file.read_text() + "33" * 32 + "\n")
    assert Signer.kept(tmp_path).document[0]["key"] == first.key
    file.write_text("no key")
    with pytest.raises(ValueError, match="openssl rand -hex 32"):
        Signer.kept(tmp_path)
    with pytest.raises(ValueError, match="64 hexadecimal digits"):
        Settings(quire_receipt_key=SecretStr("ab"))


@pytest.mark.parametrize("of", ["archive", "memory"])
def test_an_archive_and_a_memory_leave_a_certificate_that_erases_them_again(
    client: httpx.Client, of: str, tmp_path: Path
) -> None:
    if of == "archive":
        body: Json = {"user_id": "me", "tool_name": "f", "tool_input": "", "result": SECRET * 400}
        at = f"/archive/{ok(client.post('/archive', json=body), 201)['uuid']}"
    else:
        body = {"user_id": "me", "content": SECRET, "memory_type": "fact"}
        at = f"/memories/{ok(client.post('/memories', json=body), 201)['memory_key']}"
    backup = client.get("/users/me/export").content
    once = {"Idempotency-Key": "gone"}
    [certificate] = (gone := ok(client.delete(at, headers=once)))["certificates"]
    assert ok(client.delete(at, headers=once)) == gone
    (tmp_path / "gone.json").write_text(json.dumps([certificate, *ok(client.get("/.well-known/quire-keys"))["keys"]]))
    assert f"gone of {of} " in "".join(report(tmp_path / "gone.json", None, None))
    ok(client.post("/import", content=backup, headers={"content-type": "application/x-ndjson"}))
    assert SECRET in client.get(at).text
    forged = {**certificate, "receipt": {**certificate["receipt"], "id": "01a00000-0000-7000-8000-000000000000"}}
    problem(client.post("/import", json=[forged]), 422, "signature")
    for others in ({"X-Quire-User": "eve"}, {}):
        done = ok(client.post("/import", json=[certificate], headers=others))
        assert ("receipts" in done["imported"]) == (not others)
    problem(client.get(at), 404)
    assert ok(client.post("/import", json=[certificate]))["matched"] == {"receipts": 1}

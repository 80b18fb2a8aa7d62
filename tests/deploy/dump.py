"""The databases of released versions, as their programs made them: `make dump` writes this version's, before its tag.

Once the tag exists its file never changes. It holds rows in the tables that one conversation with all its kinds of
work fills.
"""

import argparse
import re
import subprocess
import tempfile
from pathlib import Path

import httpx

from app import __version__
from app.postgres import embedded, folder_permissions, programs
from tests.api.kit import append, call, ok, path, recall, result, turn, user, window
from tests.cluster.kit import quire
from tests.conftest import wait_for

FOLDER = Path(__file__).parent / "dumps"
COPIED = re.compile(r"^COPY .*?^\\\.$", re.MULTILINE | re.DOTALL)


def programs_of(data_dir: Path, name: str, *arguments: str) -> str:
    """Run one of PostgreSQL's programs on a running embedded database, as its superuser."""
    at = ("-h", str(programs.DataDirectory.under(data_dir).sockets), "-U", "postgres")
    done = subprocess.run(
        [programs.binary(name), *at, *arguments], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def dumped(data_dir: Path, *arguments: str) -> str:
    """Return the database as SQL, without the key that pg_dump draws by lot."""
    lines = programs_of(data_dir, "pg_dump", *arguments, "quire").splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith(("\\restrict", "\\unrestrict")))


def restore(data_dir: Path, file: Path) -> None:
    """Put a dump into the empty database of a running embedded server."""
    programs_of(data_dir, "psql", "-d", "quire", "-v", "ON_ERROR_STOP=1", "--single-transaction", "-q", "-f", str(file))


def schema_in(dump: str) -> list[str]:
    """Return the statements of a dump that make the schema."""
    said = re.sub(r"^--.*\n", "", COPIED.sub("", dump), flags=re.MULTILINE)
    statements = {one.strip() for one in said.split("\n\n")}
    return sorted(one for one in statements if one and "pg_catalog.setval" not in one)


def fill(client: httpx.Client) -> None:
    """Make one of each: what is written in turns, archived, learned, forked, pinned, and shown."""
    ok(client.post("/spaces", json={"id": "crew", "members": {"u": "write"}}), 201)
    ok(client.post("/webhooks", json={"url": "https://example.com/quire", "types": ["erasure.done"]}), 201)
    for number in range(24):
        headers = {"Idempotency-Key": f"turn {number}"}
        body = {"messages": turn(number, words=30), "user_id": "u"}
        ok(client.post(path("long", "messages"), json=body, headers=headers), 201)
    recall(client, "long", 1)
    append(client, "archived", [user("How hot is it?"), call("a"), result("a", "the kettle is hot " * 600)])
    ok(client.post("/memories", json={"user_id": "u", "content": "likes tea", "memory_type": "fact"}), 201)
    ok(client.post(path("long", "notes"), json={"text": "In French."}), 201)
    window(client, "long", budget=1200)
    ok(client.post(path("long", "fork"), json={"id": "forked", "at": 12}), 201)
    append(client, "forked", turn(99))
    wait_for(lambda: client.get("/jobs").json()["pending"] + client.get("/jobs").json()["running"] == 0)


def main() -> None:
    argparse.ArgumentParser(prog="python -m tests.deploy.dump", description=__doc__).parse_args()
    tags = subprocess.run(["git", "tag", "--list", f"v{__version__}"], capture_output=True, text=True, check=False)
    if tags.stdout.strip():
        raise SystemExit(f"{__version__} is tagged: its dump never changes. Raise the version first.")
    with tempfile.TemporaryDirectory(prefix="quire-dump-") as folder:
        data_dir = Path(folder)
        folder_permissions.make_passable(data_dir)
        with quire({"QUIRE_DATA_DIR": folder}) as client:
            fill(client)
        server = embedded.start(data_dir)
        FOLDER.mkdir(exist_ok=True)
        (FOLDER / f"{__version__}.sql").write_text(dumped(data_dir), "utf-8")
        server.stop()


if __name__ == "__main__":
    main()

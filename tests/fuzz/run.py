"""Schemathesis against a running service, with every check: `python -m tests.fuzz.run --seconds 600`.

It sends what the OpenAPI document allows and what it forbids, follows its links, and holds the answers against it.
"""

import os
import subprocess
import sys
import sysconfig
import tempfile
from argparse import ArgumentParser
from pathlib import Path

import httpx

from quire_command.demo.service import some_service

HERE = Path(__file__).parent


def fuzz(url: str, key: str, *options: str) -> subprocess.CompletedProcess[str]:
    """A run against the service at this URL, asked with this key. What it found is in its output."""
    command = Path(sysconfig.get_path("scripts")) / "schemathesis"
    config = ("--config-file", str(HERE / "schemathesis.toml"))
    with tempfile.TemporaryDirectory(prefix="quire-fuzz-") as folder:
        return subprocess.run(
            [command, *config, "run", f"{url}/openapi.json", *options],
            env={**os.environ, "QUIRE_FUZZ_KEY": key, "PYTHONPATH": str(HERE.parents[1])},
            cwd=folder,  # it leaves caches behind
            capture_output=True,
            text=True,
            check=False,
        )


def main() -> None:
    parser = ArgumentParser(prog="python -m tests.fuzz.run", description=__doc__)
    parser.add_argument("--seconds", type=int, default=600)
    asked = parser.parse_args()
    os.environ["MEMORY_EMBEDDING_MODEL"] = "none"
    with some_service("http://127.0.0.1:9") as url:  # nobody is there: it starts one of its own
        scopes = ["read", "write", "admin", "memories:sensitive"]
        wanted = {"name": "fuzz", "scopes": scopes, "confirm_require_keys": True}
        made = httpx.post(f"{url}/keys", json=wanted, timeout=30)
        found = fuzz(url, made.raise_for_status().json()["key"], "--max-time", str(asked.seconds))
    sys.stdout.write(found.stdout + found.stderr)
    sys.exit(found.returncode)


if __name__ == "__main__":
    main()

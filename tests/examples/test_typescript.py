"""A client that is generated from the published API compiles, strictly, and works against the service.

The generator and the compiler come from npm; where that cannot be reached there is nothing to test with.
"""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from tests.examples.npm import ROOT, installed, run

EXAMPLE = ROOT / "examples" / "typescript"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return installed(tmp_path_factory.mktemp("typescript"), "examples/typescript")


def test_the_generated_client_compiles_and_works(project: Path, client: httpx.Client, base_url: str) -> None:
    for script in ("generate", "build"):
        done = run(project, "npm", "run", script)
        assert done.returncode == 0, done.stdout + done.stderr
    done = run(project, "npm", "run", "--silent", "start", "--", base_url)
    assert done.stdout.splitlines() == [
        "stored as message 1 on page 1",
        f"a window of 2 messages, {_tokens(client)} of 8000 tokens",
        "found: Which tea do I like?",
        "unknown: 404 Not found",
    ], done.stderr


def _tokens(client: httpx.Client) -> int:
    window = client.get("/conversations/from-typescript/context", params={"budget": 8000}).json()
    total: int = window["usage"]["total"]
    return total


WRONG = (
    "await quire.GET('/nowhere');",
    "await quire.POST('/memories/search', { body: { user_id: 'me', query: 'tea', limit: 'ten' } });",
    "await quire.GET('/conversations/{conversation_id}/context', { params: { path: {} } });",
    "window.usage.sections.nothing;",
)


def test_unknown_api_members_do_not_compile(project: Path) -> None:
    if not (project / "quire.d.ts").exists():
        assert run(project, "npm", "run", "generate").returncode == 0
    source = (EXAMPLE / "memory.ts").read_text()
    (project / "memory.ts").write_text(source + "\n".join(WRONG))
    done = run(project, "npm", "run", "build")
    (project / "memory.ts").write_text(source)
    lines = range(len(source.splitlines()) + 1, len(source.splitlines()) + 1 + len(WRONG))
    assert [f"memory.ts({line}," in done.stdout for line in lines] == [True] * len(WRONG), done.stdout

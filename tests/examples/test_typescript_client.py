"""The TypeScript package builds, strictly, and its own tests pass against the service, under the real frameworks."""

from __future__ import annotations

import json
import re
from pathlib import Path

import httpx
import pytest

from app.main import build_app
from app.postgres.embedded import EmbeddedPostgres
from app.settings import Settings
from tests.conftest import serve, working
from tests.examples.npm import OPTIONS, ROOT, installed, run

PACKAGE = ROOT / "clients" / "typescript"
EXAMPLES = re.findall(r"```ts\n(.*?)```", (PACKAGE / "README.md").read_text(), re.DOTALL)


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package, built together with the examples of its README."""
    folder = installed(tmp_path_factory.mktemp("package"), "clients/typescript")
    for number, example in enumerate(EXAMPLES):
        (folder / "tests" / f"readme_{number}.ts").write_text(example)
    done = run(folder, "npm", "run", "build", seconds=180)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_its_own_tests_pass_against_the_service(
    package: Path, postgres: EmbeddedPostgres, settings: Settings, clean: None
) -> None:
    tests = sorted(str(path.relative_to(package)) for path in (package / "build" / "tests").glob("*.test.js"))
    with serve(build_app(settings, postgres.app_dsn)) as served, working(served):  # which numbers events
        done = run(package, "node", "--test", "--test-reporter=tap", *tests, seconds=240, QUIRE_URL=served.url)
    assert done.returncode == 0, done.stdout + done.stderr
    wanted = sum(path.read_text().count('\ntest("') for path in (PACKAGE / "tests").glob("*.test.ts"))
    assert f"# pass {wanted}\n" in done.stdout


def test_the_readme_shows_the_client_and_every_adapter() -> None:
    assert [re.findall(r'"@quire-memory/client(.*?)"', example) for example in EXAMPLES] == [
        [""], ["", "/ai-sdk"], ["", "/mastra"], ["", "/openai-agents"],
    ]  # fmt: skip


def test_another_project_can_install_it_from_the_folder(
    package: Path, tmp_path: Path, client: httpx.Client, base_url: str
) -> None:
    (tmp_path / "package.json").write_text(json.dumps({"name": "agent", "private": True, "type": "module"}))
    done = run(tmp_path, "npm", "install", *OPTIONS, str(package), seconds=120)
    assert done.returncode == 0, done.stderr
    (tmp_path / "agent.js").write_text(
        'import { Quire } from "@quire-memory/client";\n'
        'import "@quire-memory/client/ai-sdk";\n'
        'import "@quire-memory/client/mastra";\n'
        'import "@quire-memory/client/openai-agents";\n'
        "const quire = new Quire(process.env.QUIRE_URL);\n"
        'await quire.append("installed", [{ role: "user", content: "Hello" }], { user_id: "me" });\n'
    )
    done = run(tmp_path, "node", "agent.js", QUIRE_URL=base_url)
    assert done.returncode == 0, done.stderr
    assert [m["content"] for m in client.get("/conversations/installed/messages").json()["items"]] == ["Hello"]


def test_it_has_no_runtime_dependencies_and_pins_the_others() -> None:
    described = json.loads((PACKAGE / "package.json").read_text())
    assert "dependencies" not in described
    assert all(re.fullmatch(r"[0-9.]+", version) for version in described["devDependencies"].values())
    optional = {name for name, meta in described["peerDependenciesMeta"].items() if meta["optional"]}
    assert optional == set(described["peerDependencies"])

"""Nothing tells users to install a package of ours by name: none is published, and strangers own some of the names."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    path
    for path in (
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("clients/**/*.md"),
        *ROOT.glob("examples/**/*"),
    )
    if "node_modules" not in path.parts and path.suffix in (".md", ".py", ".ts", ".txt", ".json")
)
INSTALL = re.compile(r"\b(?:pip3?|pipx|uvx?|npm|npx|pnpm|yarn)\b(?P<words>[^`\n;|&]*)")


def named(text: str) -> list[str]:
    """Names of packages of ours that a text tells its reader to install."""
    return [
        word
        for command in INSTALL.finditer(text)
        for word in re.split(r"[\s'\"]+", command["words"])
        if re.match(r"@?quire\b", word)
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_page_installs_a_package_of_ours_by_name(page: Path) -> None:
    assert named(page.read_text()) == []


@pytest.mark.parametrize(
    "command",
    ["pip install quire-client", "pip install 'quire[otel]'", "uvx quire serve", "npm i -D @quire-memory/client"],
)
def test_such_a_command_is_recognised(command: str) -> None:
    assert named(f"Then `{command}`.")


@pytest.mark.parametrize("command", ["pip install ./clients/python", "pip install .", "npm install"])
def test_an_installation_from_a_checkout_is_none(command: str) -> None:
    assert not named(f"Run `{command}` for `quire`.")

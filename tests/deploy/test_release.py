"""What `make release` checks; `test_supply_chain` builds."""

import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from docs.make_release import NAMES, VERSIONS, wrong_in, wrong_in_packages, wrong_with_git

ROOT = Path(__file__).parents[2]
DUMP = "tests/deploy/dumps/0.1.0.sql"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The files that name a version or a package."""
    for name in {*VERSIONS, *NAMES, DUMP}:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def test_one_version_and_one_set_of_names_stand_everywhere() -> None:
    assert list(wrong_in(ROOT)) == []


@pytest.mark.parametrize("name", [name for name in VERSIONS if name != "app/__init__.py"])
def test_a_file_with_another_version_is_named(tree: Path, name: str) -> None:
    (tree / name).write_text((tree / name).read_text("utf-8").replace("0.1.0", "0.0.9"), "utf-8")
    assert list(wrong_in(tree)) == [f"{name}: the version is 0.0.9, not 0.1.0."]


def test_a_package_of_somebody_else_is_named(tree: Path) -> None:
    (tree / "clients/python/pyproject.toml").write_text('[project]\nname = "quire-client"\nversion = "0.1.0"\n')
    (tree / "README.md").write_text("Version 0.1.0\n\n    pip install quire\n    pip install ./clients/python\n")
    assert list(wrong_in(tree)) == [
        "clients/python/pyproject.toml: the name is quire-client, not quire-memory-client.",
        "README.md: pip install quire installs a package of somebody else.",
    ]


def test_a_version_without_the_dump_of_its_database_is_not_released(tree: Path) -> None:
    (tree / DUMP).unlink()
    assert list(wrong_in(tree)) == [f"{DUMP} is missing: `make dump` writes it."]


def test_only_a_new_version_of_a_committed_tree_is_tagged(tree: Path) -> None:
    def git(*arguments: str) -> None:
        own = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "tag.gpgsign=false")
        subprocess.run(["git", *own, *arguments], cwd=tree, check=True, capture_output=True)

    git("init")
    assert list(wrong_with_git(tree)) == ["There are changes that are not committed."]
    git("add", "--all")
    git("commit", "--message", "all")
    assert list(wrong_with_git(tree)) == []
    git("tag", "v0.1.0")
    assert list(wrong_with_git(tree)) == ["The tag v0.1.0 exists. Raise the version."]


def test_a_package_that_an_index_would_refuse_is_named(tmp_path: Path) -> None:
    said = (
        "Metadata-Version: 2.4\nName: quire-memory\nVersion: {}\nDescription-Content-Type: text/markdown\n\n# Quire\n"
    )
    for version, told in (("0.1.0", "0.1.0"), ("0.1.1", "one"), ("0.1.2", "0.1.0")):
        with zipfile.ZipFile(tmp_path / f"quire_memory-{version}-py3-none-any.whl", "w") as wheel:
            wheel.writestr(f"quire_memory-{version}.dist-info/METADATA", said.format(told))
    assert [line.split(":")[0] for line in wrong_in_packages(tmp_path)] == [
        "quire_memory-0.1.1-py3-none-any.whl", "quire_memory-0.1.2-py3-none-any.whl"
    ]  # fmt: skip

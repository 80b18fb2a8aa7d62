"""Check that the tree can be tagged: `make release` runs this first.

One version and one set of names stand everywhere, the changelog's page included, nothing is uncommitted, and the tag is
free. With a folder of packages: an index would take them. Prints what is wrong, a line each.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from packaging.metadata import Metadata

ROOT = Path(__file__).parents[1]
VERSIONS = {
    "app/__init__.py": r'^__version__ = "(.+)"',
    "clients/python/pyproject.toml": r'^version = "(.+)"',
    "clients/python/quire_command/__init__.py": r'^__version__ = "(.+)"',
    "clients/verify/pyproject.toml": r'^version = "(.+)"',
    "pyproject.toml": r'"quire-memory-client==([\d.]+)",.*\n  "quire-memory-verify==\1"',
    "clients/typescript/package.json": r'^  "version": "(.+)"',
    "openapi/openapi.json": r'^    "version": "(.+)"',
    "deploy/kubernetes/kustomization.yaml": r"^    newTag: (\S+)",
    "deploy/helm/quire/Chart.yaml": r'^version: (\S+)\nappVersion: "\1"$',
    "CHANGELOG.md": r"^## \[(.+)\]",
    "README.md": r"^Version (\d+(?:\.\d+)+)",
    "README.zh.md": r"^版本 (\d+(?:\.\d+)+)",
}
NAMES = {
    "pyproject.toml": (r'^name = "(.+)"', "quire-memory"),
    "clients/python/pyproject.toml": (r'^name = "(.+)"', "quire-memory-client"),
    "clients/python/README.md": (r"^# (\S+)", "quire-memory-client"),
    "clients/verify/pyproject.toml": (r'^name = "(.+)"', "quire-memory-verify"),
    "clients/verify/README.md": (r"^# (\S+)", "quire-memory-verify"),
    "clients/typescript/package.json": (r'^  "name": "(.+)"', "@quire-memory/client"),
    "clients/typescript/README.md": (r"^# (\S+)", "@quire-memory/client"),
    "deploy/kubernetes/kustomization.yaml": (r"^  - name: (\S+)", "quire"),
    "docker-compose.yml": (r"^  image: (\w+):", "quire"),
}
"""The names on PyPI, on npm and of the image. `quire` on PyPI and npm, and `quire-client`, belong to others."""
FOREIGN = re.compile(r"""(?:pip install|npm install|from) ["']?quire(?:-client)?(?:\[[\w,-]+\])?["']?(?=[\s`;]|$)""")
READ = ("README*.md", "docs/*.md", "examples/**/*", "clients/*/README.md", "clients/typescript/src/*.ts")


def wrong_in(root: Path) -> Iterator[str]:
    """Yield what is wrong with versions and names."""
    version = _found(root, "app/__init__.py", VERSIONS["app/__init__.py"])
    for name, pattern in VERSIONS.items():
        if (found := _found(root, name, pattern)) != version:
            yield f"{name}: the version is {found}, not {version}."
    for name, (pattern, wanted) in NAMES.items():
        if (found := _found(root, name, pattern)) != wanted:
            yield f"{name}: the name is {found}, not {wanted}."
    if not (root / (dump := f"tests/deploy/dumps/{version}.sql")).exists():
        yield f"{dump} is missing: `make dump` writes it."
    for file in sorted({file for glob in READ for file in root.glob(glob) if file.is_file()}):
        for used in FOREIGN.findall(file.read_text("utf-8", errors="ignore")):
            yield f"{file.relative_to(root)}: {used} installs a package of somebody else."


def wrong_with_git(root: Path) -> Iterator[str]:
    """Yield what keeps the newest commit from being tagged."""
    if _git(root, "status", "--porcelain"):
        yield "There are changes that are not committed."
    tag = f"v{_found(root, 'app/__init__.py', VERSIONS['app/__init__.py'])}"
    if _git(root, "tag", "--list", tag):
        yield f"The tag {tag} exists. Raise the version."


def wrong_in_packages(folder: Path) -> Iterator[str]:
    """Yield what an index would refuse of wheels and source distributions."""
    for file in sorted((*folder.glob("*.whl"), *folder.glob("*.tar.gz"))):
        try:
            found = Metadata.from_email(_metadata(file), validate=True)
        except ExceptionGroup as group:
            yield from (f"{file.name}: {error}" for error in group.exceptions)
            continue
        if not found.description or found.description_content_type != "text/markdown":
            yield f"{file.name}: the index shows no page without a README in Markdown."
        own = f"{found.name.replace('-', '_')}-{found.version}"
        if not file.name.startswith((f"{own}-py3-none-any.whl", f"{own}.tar.gz")):
            yield f"{file.name}: it is named otherwise than what is in it, {own}."


def _metadata(file: Path) -> bytes:
    if file.suffix == ".whl":
        with zipfile.ZipFile(file) as wheel:
            return wheel.read(next(name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")))
    with tarfile.open(file) as source:
        member = source.extractfile(f"{file.name.removesuffix('.tar.gz')}/PKG-INFO")
        return member.read() if member else b""


def _found(root: Path, name: str, pattern: str) -> str | None:
    found = re.search(pattern, (root / name).read_text("utf-8"), re.MULTILINE)
    return found[1] if found else None


def _git(root: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=True).stdout  # noqa: S603, S607 - no input of others


if __name__ == "__main__":
    packages = [Path(folder) for folder in sys.argv[1:]]
    wrong = [line for folder in packages for line in wrong_in_packages(folder)]
    wrong += [] if packages else [*wrong_in(ROOT), *wrong_with_git(ROOT)]
    print("\n".join(wrong), file=sys.stderr)
    sys.exit(bool(wrong))

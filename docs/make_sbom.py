"""Print the bill of materials of a running Quire, made for each release: `make sbom`.

CycloneDX, from requirements.txt (its hashes hold each file to what was locked) and the licences that the installed
packages declare. The same input gives the same bytes.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from importlib.metadata import PackageMetadata, metadata
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model.bom import Bom, BomMetaData
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output import make_outputter
from cyclonedx.schema import OutputFormat, SchemaVersion
from packageurl import PackageURL

ROOT = Path(__file__).parents[1]
SPDX = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "MIT License": "MIT",
}
"""Licences that packages declare in words."""


def pinned() -> Iterator[tuple[str, str]]:
    """Yield the name and version of each package that running needs."""
    yield from re.findall(r"^([\w.-]+)==(\S+)", (ROOT / "requirements.txt").read_text("utf-8"), re.MULTILINE)


def licence_of(declared: PackageMetadata) -> str:
    """Return a package's licence as an SPDX expression. Raises ValueError if it declares none."""
    if "License-Expression" in declared:
        return declared["License-Expression"]
    words = declared["License"].strip().split("\n")[0].strip() if "License" in declared else ""
    if not words:
        classifiers = [str(one).split(" :: ")[-1] for one in declared.get_all("Classifier") or ()]
        words = next((one for one in classifiers if one in SPDX), "")
    if not words:
        raise ValueError(f"{declared['Name']} declares no licence.")
    return SPDX.get(words, words)


def bill() -> Bom:
    own = metadata("quire-memory")
    licences = LicenseFactory()
    quire = Component(
        name="quire", version=own["Version"], type=ComponentType.APPLICATION,
        bom_ref="quire", licenses=[licences.make_from_string(licence_of(own))],
    )  # fmt: skip
    parts = [_part(name, version, licences) for name, version in pinned()]
    listed = "\n".join(f"{name}=={version}" for name, version in pinned())
    bom = Bom(components=parts, metadata=BomMetaData(component=quire), serial_number=uuid5(NAMESPACE_URL, listed))
    bom.register_dependency(quire, parts)
    return bom


def _part(name: str, version: str, licences: LicenseFactory) -> Component:
    return Component(
        name=name, version=version, type=ComponentType.LIBRARY, purl=PackageURL("pypi", None, name, version),
        bom_ref=name, licenses=[licences.make_from_string(licence_of(metadata(name)))],
    )  # fmt: skip


def written() -> str:
    """Return the bill as JSON, without the time at which it was made."""
    content = json.loads(make_outputter(bill(), OutputFormat.JSON, SchemaVersion.V1_6).output_as_string())
    del content["metadata"]["timestamp"]
    return json.dumps(content, indent=1) + "\n"


if __name__ == "__main__":
    sys.stdout.write(written())

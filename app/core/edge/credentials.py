"""The form of an API key.

    qk_<tenant>_<id>_<secret>

in hexadecimal digits: the tenant, the key's id, and 256 random bits. Because the key names its tenant, it is looked up
like everything else, under the row-level security of one tenant: no statement sees the keys of several. The secret is
stored as its SHA-256. That is enough for random bits, which cannot be guessed like a password, and it is fast.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from uuid import UUID

SECRET_BYTES = 32
_KEY = re.compile(r"qk_([0-9a-f]{32})_([0-9a-f]{32})_([0-9a-f]{64})")


@dataclass(frozen=True, slots=True)
class Credentials:
    """A key as shown once, at its creation."""

    tenant: UUID
    id: UUID
    secret: str = field(repr=False)

    @staticmethod
    def read(text: str) -> Credentials | None:
        """Parse a key; None if the text is not one."""
        match = _KEY.fullmatch(text)
        return Credentials(UUID(match[1]), UUID(match[2]), match[3]) if match else None

    @property
    def digest(self) -> bytes:
        return hashlib.sha256(self.secret.encode()).digest()

    def reveal(self) -> str:
        return f"{prefix(self.tenant, self.id)}_{self.secret}"


def prefix(tenant: UUID, key: UUID) -> str:
    """Return the displayable part of a key: all but its secret."""
    return f"qk_{tenant.hex}_{key.hex}"

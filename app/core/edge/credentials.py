"""The form of an API key.

    qk_<tenant>_<id>_<secret>

in hexadecimal digits: the tenant, the key's id, and 256 random bits. Because a key names its tenant, it is looked up
under that tenant's row-level security like everything else: no statement sees keys of several tenants. The secret is
stored as its SHA-256. A fast hash is enough, because random bits cannot be guessed like a password.
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
    """A key in full, as it is shown once at its creation."""

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
    """Return the part of a key that can be shown: everything but its secret."""
    return f"qk_{tenant.hex}_{key.hex}"

"""What an API key looks like.

    qk_<tenant>_<id>_<secret>

in hexadecimal digits: whose it is, which one it is, and 256 random bits. With the tenant in the text, a key is looked
up as everything else is, under the row-level security of one tenant: no statement sees the keys of several. The secret
is kept as its SHA-256. That is enough for random bits, which cannot be guessed like a password, and it is fast.
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
    """A key as it was shown once."""

    tenant: UUID
    id: UUID
    secret: str = field(repr=False)

    @staticmethod
    def read(text: str) -> Credentials | None:
        """None for a text that is no key."""
        found = _KEY.fullmatch(text)
        return Credentials(UUID(found[1]), UUID(found[2]), found[3]) if found else None

    @property
    def digest(self) -> bytes:
        return hashlib.sha256(self.secret.encode()).digest()

    def reveal(self) -> str:
        """The whole key, for the one who is to have it."""
        return f"{prefix(self.tenant, self.id)}_{self.secret}"


def prefix(tenant: UUID, key: UUID) -> str:
    """What may be shown of a key: all but its secret."""
    return f"qk_{tenant.hex}_{key.hex}"

"""The inspector's own files: a style sheet, a little script, an icon."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from importlib.resources import files

TYPES = {"style.css": "text/css", "inspector.js": "text/javascript", "icon.svg": "image/svg+xml"}


@dataclass(frozen=True, slots=True)
class Asset:
    content: bytes
    media_type: str
    etag: str


def _read(name: str) -> Asset:
    content = (files("app.ui") / "static" / name).read_bytes()
    return Asset(content, TYPES[name], f'"{hashlib.sha256(content).hexdigest()[:32]}"')


ASSETS = {name: _read(name) for name in TYPES}

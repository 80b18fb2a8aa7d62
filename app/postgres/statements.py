"""Statements with named parameters, read from the ``.sql`` file beside the module that runs them.

A file holds statements, each under ``-- name: …`` and a line that says what it promises, and pieces of statements,
under ``-- piece: …``. ``:page`` is a parameter; ``{lines_max}`` stands for a piece, or for what the module gives.

PostgreSQL is sent ``$1``, ``$2`` …: first the tenant, then the conversation (see ``along``), then the others as they
occur.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

TENANT, CONVERSATION = "tenant", "conversation"
_HEAD = re.compile(r"^-- (name|piece): (\w+)\n((?:--.*\n)*)", re.MULTILINE)
_PIECE = re.compile(r"\{([a-z]\w*)\}")
_PARAMETER = re.compile(r"""'[^']*'|"[^"]*"|--[^\n]*|/\*.*?\*/|::|(?<!\w):([a-z]\w*)""", re.DOTALL)
"""Or what can hold a colon that begins none."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement as PostgreSQL takes it; ``names`` are its parameters in order, without the tenant."""

    text: str
    names: tuple[str, ...]

    def __str__(self) -> str:
        return self.text

    def arguments(self, named: Mapping[str, object]) -> tuple[object, ...]:
        """Return the values in order. Raises TypeError unless each parameter has one, and each value a parameter."""
        try:
            values = tuple([named[name] for name in self.names])
        except KeyError as missing:
            raise TypeError(f"the statement needs {missing}: {self.text}") from None
        if len(values) < len(named):
            raise TypeError(f"the statement has no {sorted(set(named) - set(self.names))}: {self.text}")
        return values


def values_of(row: DataclassInstance) -> dict[str, Any]:
    """Return the fields of a dataclass by name, as they are: ``asdict`` copies each of them deeply."""
    return {field.name: getattr(row, field.name) for field in fields(row)}


def read_statement(text: str) -> Statement:
    found = dict.fromkeys(name[1] for name in _PARAMETER.finditer(text) if name[1])
    names = [name for name in (TENANT, CONVERSATION) if name in found]
    names += [name for name in found if name not in names]
    number = {name: f"${place}" for place, name in enumerate(names, 1)}
    numbered = _PARAMETER.sub(lambda part: number[part[1]] if part[1] else part[0], text)
    return Statement(numbered, tuple(name for name in names if name != TENANT))


class SqlFile:
    """The ``.sql`` file beside a module. ``given`` are pieces and constants that the module adds."""

    def __init__(self, module: str, /, **given: object) -> None:
        parts = _HEAD.split(Path(module).with_suffix(".sql").read_text("utf-8"))[1:]
        texts = {name: text.strip().removesuffix(";") for name, text in zip(parts[1::4], parts[3::4], strict=True)}
        self.names = [name for kind, name in zip(parts[::4], parts[1::4], strict=True) if kind == "name"]
        self._pieces: dict[str, object] = texts | given

    def piece(self, name: str, /, **more: object) -> str:
        """Return the text under a name with its pieces in place; ``more`` are further ones."""
        text = str((self._pieces | more)[name])
        return _PIECE.sub(lambda found: self.piece(found[1], **more), text)

    def statement(self, name: str, /, **more: object) -> Statement:
        return read_statement(self.piece(name, **more))

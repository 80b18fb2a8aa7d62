"""Declare a setting once, at the field of the core value that holds it.

The variables of the environment, the API's settings of one conversation and docs/settings.md are derived from it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any


@dataclass(frozen=True, slots=True)
class Own:
    """Bounds of one conversation's own value, inclusive, and what the API says of it."""

    ge: float | None = None
    le: float | None = None
    description: str | None = None


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of the environment; its name is in small letters, its bounds are inclusive."""

    name: str
    default: Any
    ge: float | None = None
    le: float | None = None
    length: tuple[int, int] | None = None
    read: Callable[[str], Any] | None = None
    """Makes the field's value of the variable's text; raises ValueError. None: they are the same."""
    own: Own | None = None
    """None: no conversation has a value of its own."""


def setting(variable: Variable, description: str) -> Any:
    said = {"variable": variable, "description": description}
    if (read := variable.read) is None:
        return field(default=variable.default, metadata=said)
    return field(default_factory=lambda: read(variable.default), metadata=said)


def settings_of(rules: type) -> Mapping[str, tuple[Variable, str]]:
    """Return the settings among the fields of a dataclass, each with its description, by the field's name."""
    said = {one.name: one.metadata for one in fields(rules) if one.metadata}
    return {name: (one["variable"], one["description"]) for name, one in said.items()}

"""Write docs/settings.md from app/settings.py: `python docs/make_settings.py`. A test compares the two."""

import sys
from pathlib import Path
from typing import get_args

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from pydantic.fields import FieldInfo  # noqa: E402 - the path above is for a run by hand

from app.api.schemas.conversations import PolicyOverrides  # noqa: E402
from app.settings import Settings  # noqa: E402

PAGE = ROOT / "docs/settings.md"

INTRODUCTION = """\
# Settings

*Written by `docs/make_settings.py` from `app/settings.py`.*

Settings are environment variables, read once when a process starts. Empty ones count as unset. An invalid value
stops the start with a message that names it.
"""
SECTIONS = {
    "quire_": "The process",
    "memory_": "Memory: paging, archive, summaries",
    "otel_": "Traces",
    "": "The database",
}
OVERRIDES = """\
## Settings of one conversation

`settings` in `POST /conversations` and `PATCH /conversations/{id}` overrides these for one conversation. Omitted
ones follow the deployment. A change begins a new epoch and applies to tool results appended from then on.

| value | names |
| --- | --- |
"""
NOT_YET = " **Has no effect yet.**"


def page() -> str:
    fields = dict(Settings.model_fields)
    parts = {title: [name for name in fields if name.startswith(prefix)] for prefix, title in SECTIONS.items()}
    parts["The database"] = [name for name in fields if not name.startswith(("quire_", "memory_", "otel_"))]
    read = _sources()
    tables = [
        f"## {title}\n\n| variable | default | |\n| --- | --- | --- |\n"
        + "".join(_row(name, fields[name], has_effect=f".{name}" in read or f'"{name}"' in read) for name in names)
        for title, names in reversed(parts.items())
    ]
    overrides: dict[str, list[str]] = {}
    for name, field in PolicyOverrides.model_fields.items():
        overrides.setdefault(_takes(field), []).append(f"`{name}`")
    rows = "".join(f"| {value} | {', '.join(names)} |\n" for value, names in overrides.items())
    return "\n".join([INTRODUCTION, *tables, OVERRIDES + rows])


def _sources() -> str:
    """All of the app's code but the settings themselves."""
    return "\n".join(file.read_text() for file in (ROOT / "app").rglob("*.py") if file.name != "settings.py")


def _row(name: str, field: FieldInfo, *, has_effect: bool) -> str:
    text = f"{field.description}{'' if has_effect else NOT_YET}"
    return f"| `{name.upper()}` | {_default(field)} | {text} |\n"


def _default(field: FieldInfo) -> str:
    if field.default_factory is not None:  # the same page whoever writes it
        return "`~/.quire`"
    match field.default:
        case None:
            return "unset"
        case bool() as flag:
            return f"`{str(flag).lower()}`"
        case value:
            return f"`{value}`"


def _takes(field: FieldInfo) -> str:
    bounds = {type(bound).__name__: bound for bound in field.metadata}
    choices = [f"`{name}`" for kind in get_args(field.annotation) for name in get_args(kind)]
    if choices:
        return " or ".join(choices)
    if "Ge" not in bounds:
        return "`true` or `false`"
    unit = f" {field.description}" if field.description else ""
    return f"{bounds['Ge'].ge} to {bounds['Le'].le:,}".replace(",", " ") + unit


if __name__ == "__main__":
    PAGE.write_text(page())

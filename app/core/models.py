"""The table of all differences between model APIs. Its rows are data: ``models.json`` and a deployment's own.

A row applies to models whose names begin with one of its ``prefixes`` (the longest wins), or to an API at one of its
``urls``. No other code names a vendor. A model without a row follows the general rule, an empty row: carry what came.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, Literal, get_args, get_type_hints

Returned = Literal["came", "none", "first", "calls", "turns"]
CacheKind = Literal["none", "prefix", "units", "breakpoints", "marks"]


Basis = Literal["exact", "measured", "assumed"]
"""How a formula is known: its tokenizer is ours; its tokenizer was measured; another's stands in for it."""


@dataclass(frozen=True, slots=True)
class Family:
    """A family's coefficients, in hundredths of a token except for the margin."""

    tokens: int
    digits: int = 0
    han: int = 0
    capitals: int = 0
    call: int = 0
    """What its template writes for a call and its result beyond Quire's own frames."""
    tool: int = 0
    """What it writes for a tool beyond its schema."""
    margin: int = 0
    """Percent that cover 95 % of what the formula leaves uncertain."""
    basis: Basis = "measured"
    source: str = ""
    """What was measured, or what it stands in for."""

    @property
    def is_plain(self) -> bool:
        """Return whether it counts every text as o200k_base does."""
        return not (self.digits or self.han or self.capitals or self.call or self.tool)

    @property
    def factors(self) -> tuple[int, ...]:
        """Return the coefficient of each member of a ``Mix``, in hundredths of a token; 0 for images and files."""
        return self.tokens, self.digits, self.han, self.capitals, -self.tokens, self.call, self.tool


_FAMILIES = json.loads(files("app.core").joinpath("families.json").read_text("utf-8"))
FAMILIES = {name: Family(**members) for name, members in _FAMILIES.items()}
EXACT = "o200k"
"""The family of models that count as we do."""
UNMEASURED = "unmeasured"
"""The family of models that no row gives one: the costliest that is common."""


@dataclass(frozen=True, slots=True)
class PromptCache:
    """An API's prompt cache. Prices are fractions of the price of uncached input."""

    kind: CacheKind = "prefix"
    mark: str = ""
    """The member that marks a block."""
    marks_max: int = 0
    least: int = 0
    """Tokens of the shortest prefix that is cached."""
    step: int = 1
    read: float = 1.0
    write: float = 1.0
    key: str = ""
    """The request's member that names the conversation."""


@dataclass(frozen=True, slots=True)
class ModelRow:
    """The rules of one family of models. The defaults are the general rule."""

    prefixes: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()
    """Parts of base URLs."""
    reasoning: str | None = None
    """Where an answer has its reasoning: a member of the message, ``tool_calls.<member>`` of its calls, ``content``
    (a list of chunks), ``<tag>`` (in the text), ``thinking`` (blocks of Messages), or "" for nowhere. None: unknown.
    """
    returned: Returned = "came"
    """The answers that must have it in later requests: those with calls, all answers of a turn with calls, the first
    call of each answer. ``came``: it may be sent back.
    """
    stand_in: Any = None
    """What takes its place once it is condensed, or where another model answered."""
    bound: bool = False
    """Reasoning is only valid behind an unchanged beginning."""
    forbidden: tuple[str, ...] = ()
    """Members of an assistant's message that are refused."""
    only: tuple[str, ...] = ()
    """The only members that an assistant's message can have; empty: any."""
    parameters: tuple[str, ...] = ()
    """The only members that a request can have; empty: any."""
    ids: str = ""
    """Pattern of a call's id; empty: any."""
    null: bool = True
    """Whether the content beside calls can be null."""
    lists: tuple[str, ...] = ("system", "developer", "user", "assistant", "tool")
    """Roles whose content can be a list of parts."""
    parts: tuple[str, ...] = ()
    """Types of the parts of a list that are taken; empty: all."""
    names: bool = True
    """Whether a user's message can name its speaker; else the name stands before the text."""
    alternate: bool = False
    """User and assistant must alternate."""
    system: Literal["any", "one"] = "any"
    developer: bool = True
    user_needed: bool = False
    limit: Literal["", "max_tokens", "max_completion_tokens"] = ""
    """The only name of the answer's limit that is taken; empty: either."""
    temperature: Literal["any", "one", "default", "positive"] = "any"
    choices: tuple[str, ...] = ()
    """Kinds of ``tool_choice`` that are taken; empty: all."""
    choices_thinking: tuple[str, ...] = ()
    """Those that are taken while the model thinks."""
    formats: tuple[str, ...] = ()
    """Types of ``response_format`` that are taken; empty: all."""
    off: Mapping[str, Any] | None = None
    """Members of a request that turn thinking off; None: it cannot be."""
    down: Mapping[str, Any] | None = None
    """Members that turn it down."""
    unstreamed: Mapping[str, Any] | None = None
    """Members that a request must have whose answer is not streamed."""
    family: str = ""
    """Of tokenizers, in ``families.json``; empty: unknown."""
    window: int | None = None
    """Tokens of the context window."""
    output: int | None = None
    """Tokens of the longest answer."""
    cache: PromptCache = field(default_factory=PromptCache)
    input_price: float | None = None
    """US dollars for a million tokens of the prompt; what its cache reads and takes is a part of that."""
    output_price: float | None = None
    """US dollars for a million tokens of the answer. Without both the price is not known."""


GENERAL = ModelRow()
NUMBER_MAX = 2**31
MODELS_REMEMBERED = 1_000
"""Their rows are looked up several times in a request."""
_PART_OF_NAME = re.compile(r"[./:@](?=[a-z])")
_OBJECTS = frozenset({"off", "down", "unstreamed"})
_FREE = frozenset({"stand_in"})


@dataclass(frozen=True, slots=True, eq=False)
class ModelTable:
    """The rows by name."""

    rows: Mapping[str, ModelRow]

    @lru_cache(maxsize=MODELS_REMEMBERED)  # noqa: B019 - a process has a table or two
    def row(self, model: str, base_url: str = "", *, alternate: bool = False) -> ModelRow:
        """Return the row of a model: by its API's address, else by the longest prefix of its name.

        ``alternate``: the conversation's user and assistant must take turns.
        """
        at = next((row for row in self.rows.values() for url in row.urls if url in base_url), None)
        found = at or next(iter(self._rows_for(model)), GENERAL)
        return replace(found, alternate=True) if alternate else found

    def window(self, model: str) -> int | None:
        """Return the context window of a known model, or None. A gateway's prefix ("openai/gpt-4o") is ignored."""
        return next((row.window for row in self._rows_for(model) if row.window is not None), None)

    @lru_cache(maxsize=MODELS_REMEMBERED)  # noqa: B019 - as above
    def family(self, model: str) -> Family:
        """Return the family of a model's tokenizer, by its name alone, because many vendors serve one model.

        Vendors, regions and gateways in front of the name are ignored.
        """
        whole = model.strip().lower()
        rows = [(prefix, row.family) for row in self.rows.values() if row.family for prefix in row.prefixes]
        for name in (whole, *(whole[at.end() :] for at in _PART_OF_NAME.finditer(whole))):
            if found := [(len(prefix), family) for prefix, family in rows if name.startswith(prefix)]:
                return FAMILIES[max(found, key=lambda pair: pair[0])[1]]
        return FAMILIES[UNMEASURED]

    def _rows_for(self, model: str) -> list[ModelRow]:
        whole = model.strip().lower()
        found = [self._longest(name) for name in dict.fromkeys((whole, whole.rsplit("/", 1)[-1]))]
        return [row for row in found if row is not None]

    def _longest(self, name: str) -> ModelRow | None:
        found = [(len(p), row) for row in self.rows.values() for p in row.prefixes if name.startswith(p)]
        return max(found, key=lambda pair: pair[0])[1] if found else None

    def extended(self, text: str) -> ModelTable:
        """Return the table with the rows of a JSON object, which has the shape of ``models.json``. Raises ValueError.

        A row replaces the one of its name; among prefixes of equal length the last row wins.
        """
        try:
            given = json.loads(text or "{}")
        except (ValueError, RecursionError):
            given = None
        if not isinstance(given, dict):
            raise ValueError("it must be a JSON object of rows by name")  # noqa: TRY004
        rows = {**self.rows}
        for name, members in given.items():
            row = _row(name, members, rows)
            rows = {name: row, **{other: known for other, known in rows.items() if other != name}}
        return ModelTable(rows)


def _row(name: str, members: Any, rows: Mapping[str, ModelRow]) -> ModelRow:
    """Read a row. Members that it omits, except names and addresses, come from the row named ``like``."""
    if not isinstance(members, dict):
        raise ValueError(f"the row {name!r} must be an object")  # noqa: TRY004
    own = {member: value for member, value in members.items() if member != "like"}
    like = members.get("like")
    if like is not None and like not in rows:
        raise ValueError(f"the row {name!r} is like {like!r}, which is no row")
    base = rows[like] if like is not None else GENERAL
    kept = {member.name: getattr(base, member.name) for member in fields(ModelRow)}
    return ModelRow(**{**kept, "prefixes": (), "urls": (), **_members(f"the row {name!r}", ModelRow, own)})


def _members(owner: str, kind: type, given: Mapping[str, Any]) -> dict[str, Any]:
    hints = _hints(kind)
    if unknown := sorted(set(given) - set(hints)):
        raise ValueError(f"{owner} has the unknown member {unknown[0]!r}; it can have {', '.join(hints)}")
    return {member: _value(f"`{member}` of {owner}", member, hints[member], given[member]) for member in given}


_hints = cache(get_type_hints)
"""It evaluates each annotation, and a table has dozens of rows."""


def _value(where: str, member: str, hint: Any, value: Any) -> Any:
    options = get_args(hint)
    if member in _FREE:
        return value
    if member == "cache" and isinstance(value, dict):
        return PromptCache(**_members(where, PromptCache, value))
    if member in _OBJECTS:
        valid = value is None or isinstance(value, dict)
    elif Ellipsis in options:
        valid = isinstance(value, list) and all(isinstance(item, str) and item for item in value)
        value = tuple(item.lower() if member == "prefixes" else item for item in value) if valid else value
    elif options and all(isinstance(option, str) for option in options):
        valid = value in options
    else:
        kinds = tuple(kind for kind in (options or (hint,)) if isinstance(kind, type))
        valid = type(value) in kinds or (float in kinds and type(value) is int)
        valid = valid and not (isinstance(value, int | float) and not 0 <= value < NUMBER_MAX)
    if member == "family":
        valid = value in FAMILIES
    if not valid:
        raise ValueError(f"{where} cannot be {json.dumps(value)}")
    return value


TABLE = ModelTable({}).extended(files("app.core").joinpath("models.json").read_text("utf-8"))

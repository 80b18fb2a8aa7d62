"""Layout of the two charts: percent across, pixels down. Templates draw them as SVG, with a table beside each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.core.model import Ledger

SECTIONS = ("tools", "system", "notes", "summary", "contents", "condensed", "recent", "tail")
GROWN = ("notes", "summary", "contents", "condensed", "recent")
LABEL_SHARE = 7.0
"""Per cent of the width that a piece needs for its name to stand in it."""
WIDE_SHARE = 24.0
"""The same on a phone."""
HEIGHT = 150.0


@dataclass(frozen=True, slots=True)
class PicturePiece:
    name: str
    tokens: int
    x: float
    width: float
    share: float
    """Per cent of the window."""

    @property
    def is_labelled(self) -> bool:
        return self.width >= LABEL_SHARE

    @property
    def is_wide(self) -> bool:
        return self.width >= WIDE_SHARE


@dataclass(frozen=True, slots=True)
class Bar:
    """A window as a bar: the share of its budget that it uses, by section."""

    total: int
    """In the model's own tokens, as the budget is."""
    budget: int
    used: float
    """Per cent of the budget."""
    width: float
    """Percent across; less than 100 beside a larger window."""
    pieces: list[PicturePiece]


def bar(usage: Mapping[str, Any], largest: int | None = None) -> Bar:
    """Lay out a window's bar. ``largest``: tokens that the full width represents, to compare windows."""
    total, counted, budget = usage["total"], usage["model_total"], usage["budget"]
    scale = max(largest or total, 1)
    pieces, x = [], 0.0
    for name in SECTIONS:
        tokens = usage["sections"][name]
        width = 100 * tokens / scale
        pieces.append(PicturePiece(name, tokens, round(x, 3), round(width, 3), round(100 * tokens / max(total, 1), 1)))
        x += width
    used = round(min(100.0, 100 * counted / max(budget, 1)), 3)
    return Bar(counted, budget, used, round(100 * total / scale, 3), pieces)


SCORE_FULL = 20.0
"""The score that fills its bar: every word of a query, near in meaning, with neighbours that match too."""


def strength(score: float) -> float:
    return min(1.0, max(0.0, score / SCORE_FULL))


@dataclass(frozen=True, slots=True)
class Point:
    """The window at the end of a turn."""

    window: int
    """Its number among those served."""
    page: int
    epoch: int
    opens_epoch: bool
    ledger: Ledger

    @property
    def total(self) -> int:
        """Return its tokens without tools, system segment and tail."""
        return sum(getattr(self.ledger, name) for name in GROWN)


@dataclass(frozen=True, slots=True)
class Block:
    name: str
    y: float
    height: float


@dataclass(frozen=True, slots=True)
class Column:
    point: Point
    x: float
    width: float
    blocks: list[Block]


@dataclass(frozen=True, slots=True)
class PictureLine:
    tokens: int
    y: float


@dataclass(frozen=True, slots=True)
class Chart:
    columns: list[Column]
    lines: list[PictureLine]
    most: int
    epochs: int


def chart(points: Sequence[Point]) -> Chart:
    """Lay out a column for each turn, with its sections stacked upwards."""
    most = max((point.total for point in points), default=0)
    top = _round_up(most)
    step = 100 / max(len(points), 12)
    columns = [_column(point, index * step, step, top) for index, point in enumerate(points)]
    lines = [PictureLine(round(top * part / 2), round(HEIGHT * (1 - part / 2), 1)) for part in (1, 2)] if most else []
    return Chart(columns, lines, most, sum(point.opens_epoch for point in points))


def _column(point: Point, x: float, step: float, top: int) -> Column:
    blocks, y = [], HEIGHT
    for name in GROWN:  # frozen parts are at the bottom, so that growth shows at the top
        height = HEIGHT * getattr(point.ledger, name) / top
        y -= height
        blocks.append(Block(name, round(y, 2), round(height, 2)))
    return Column(point, round(x + step * 0.08, 3), round(step * 0.84, 3), blocks)


def _round_up(most: int) -> int:
    """Round up to two significant digits, so that grid lines stand at round numbers."""
    unit = int(10 ** max(0, len(str(most)) - 2))
    return max(2, -(-most // (2 * unit)) * 2 * unit)

"""Figures as pictures: what a benchmark's table says, drawn as SVG by matplotlib where it is installed.

A benchmark states what is drawn, as values; they are drawn at one place, when tables are written. The same values give
the same file, byte for byte, with the same matplotlib.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

IS_INSTALLED = find_spec("matplotlib") is not None
"""Whether the extra `bench` is installed. Tables are written without it too."""

if IS_INSTALLED:
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, NullFormatter

Point: TypeAlias = tuple[float, float]


@dataclass(frozen=True)
class Lines:
    """A line for each name in ``lines``, through its points, over a logarithmic x axis."""

    name: str
    """The name of the file without its suffix, unique among all benchmarks."""
    title: str
    x: str
    y: str
    lines: Mapping[str, Sequence[Point]]
    log_y: bool = False
    goal: float | None = None


@dataclass(frozen=True)
class Bars:
    """A bar for each name in ``bars`` in each of the ``groups``; None leaves a gap."""

    name: str
    title: str
    y: str
    groups: Sequence[str]
    bars: Mapping[str, Sequence[float | None]]
    log_y: bool = False
    goal: float | None = None


Plot: TypeAlias = Lines | Bars

INCHES = (7.0, 3.6)
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#555555", "#000000")
"""Colours that the colour-blind can distinguish (Okabe and Ito)."""
MARKERS = "osD^vPXd"
BAR_GROUP = 0.8
"""The share of a group's width that its bars take."""
TIMES_APART = 3.0
"""The least ratio of neighbouring marks on a logarithmic axis, so that their numbers do not overlap."""
STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "quire",
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "legend.frameon": False,
    "figure.facecolor": "white",
}


def draw(plots: Sequence[Plot], folder: Path) -> list[str]:
    """Draw plots, and return their names; none if matplotlib is missing."""
    if not IS_INSTALLED or not plots:
        return []
    folder.mkdir(exist_ok=True)
    with mpl.rc_context(STYLE):
        for plot in plots:
            _draw(plot, folder / f"{plot.name}.svg")
    return [plot.name for plot in plots]


def _draw(plot: Plot, file: Path) -> None:
    figure = Figure(figsize=INCHES, layout="constrained")
    axes = figure.add_subplot()
    if isinstance(plot, Lines):
        _lines(axes, plot)
    else:
        _bars(axes, plot)
    _frame(axes, plot)
    figure.legend(loc="outside right upper")
    figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})


def _lines(axes: Any, plot: Lines) -> None:
    axes.set_xscale("log")
    axes.set_xlabel(plot.x)
    for i, (name, points) in enumerate(plot.lines.items()):
        colour, marker = COLOURS[i % len(COLOURS)], MARKERS[i % len(MARKERS)]
        axes.plot(*zip(*points, strict=True), label=name, color=colour, marker=marker, markersize=4, linewidth=1.5)
    places = spread({x for points in plot.lines.values() for x, _ in points})
    axes.set_xticks(places, [_number(x) for x in places])
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.tick_params(axis="x", which="minor", length=0)


def spread(places: Collection[float]) -> list[float]:
    """Return the largest value and, going down, those that leave room for their numbers."""
    kept: list[float] = []
    for place in sorted(places, reverse=True):
        if not kept or place * TIMES_APART <= kept[-1]:
            kept.append(place)
    return kept[::-1]


def _bars(axes: Any, plot: Bars) -> None:
    width = BAR_GROUP / len(plot.bars)
    for i, (name, values) in enumerate(plot.bars.items()):
        left = (i + 0.5) * width - BAR_GROUP / 2
        known = [(group + left, value) for group, value in enumerate(values) if value is not None]
        if known:
            axes.bar(*zip(*known, strict=True), width * 0.92, label=name, color=COLOURS[i % len(COLOURS)])
    axes.set_xticks(range(len(plot.groups)), plot.groups)
    axes.grid(visible=False, axis="x")


def _frame(axes: Any, plot: Plot) -> None:
    axes.set_title(plot.title)
    axes.set_ylabel(plot.y)
    if plot.log_y:
        axes.set_yscale("log")
        axes.yaxis.set_minor_formatter(NullFormatter())
    else:
        axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _number(value)))
    if plot.goal is not None:
        axes.axhline(plot.goal, color="#999999", linestyle="--", linewidth=1, label="goal")


def _number(value: float) -> str:
    """Format a number as in the tables."""
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:.3g}"

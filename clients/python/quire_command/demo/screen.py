"""Show a replay: a live table on a terminal, plain lines anywhere else."""

from collections import deque
from types import TracebackType
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table
from rich.text import Text

from quire_command.demo.frame import SECTIONS, Frame, Report, share_out

COLOURS = dict(
    zip(SECTIONS, ("bright_black", "white", "magenta", "blue", "cyan", "yellow", "green", "red"), strict=True)
)
LETTERS = dict(zip(SECTIONS, "TSNUCDRL", strict=True))
ROWS_SHOWN = 14
EXCERPT_CHARACTERS = 600


class Screen:
    """Show frames as they come; use as a context manager."""

    def __init__(self, console: Console, steps_total: int) -> None:
        self.console = console
        self.rows: deque[tuple[Frame, bool]] = deque(maxlen=ROWS_SHOWN)
        self.epoch: int | None = None
        self.title = ""
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        self.progress = Progress(*columns, console=console)
        self.task = self.progress.add_task("turns", total=steps_total)
        self.live = Live(self.picture(), console=console, refresh_per_second=8) if console.is_terminal else None

    def __enter__(self) -> Self:
        if self.live:
            self.live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.live:
            self.live.stop()

    def open(self, title: str) -> None:
        self.title, self.epoch = title, None
        self.rows.clear()
        if not self.live:
            self.plain(f"{title}\nbar: " + ", ".join(f"{LETTERS[name]} {name}" for name in SECTIONS))

    def show(self, frame: Frame) -> None:
        new_epoch = self.epoch is not None and frame.epoch != self.epoch
        self.epoch = frame.epoch
        self.rows.append((frame, new_epoch))
        self.progress.advance(self.task)
        if self.live:
            self.live.update(self.picture())
        else:
            self.plain(line(frame, new_epoch))

    def plain(self, text: str) -> None:
        self.console.print(Text(text), soft_wrap=True)

    def picture(self) -> RenderableType:
        width = max(10, min(60, self.console.width - 54))
        table = Table(box=None, pad_edge=False, header_style="bold")
        for name in ("turn", "history", "window", "saved"):
            table.add_column(name, justify="right")
        table.add_column("budget", width=width, no_wrap=True)
        table.add_column("epoch", justify="right")
        for frame, new_epoch in self.rows:
            table.add_row(*numbers(frame), coloured_bar(frame, width), epoch_mark(frame, new_epoch))
        now = legend(self.rows[-1][0] if self.rows else None)
        return Group(Panel(Group(table, Text(), now), title=self.title or "Quire"), self.progress)


def numbers(frame: Frame) -> tuple[Text, Text, Text, Text]:
    window = Text(f"{frame.window_tokens:,}", style="bold red" if frame.over_budget else "")
    return Text(str(frame.turn)), Text(f"{frame.history_tokens:,}"), window, Text(f"{frame.saved:.0%}")


def coloured_bar(frame: Frame, width: int) -> Text:
    cells = share_out(frame.sections, frame.budget, width)
    bar = Text()
    for name in SECTIONS:
        bar.append("█" * cells[name], style=COLOURS[name])
    return bar.append("·" * (width - sum(cells.values())), style="dim")


def plain_bar(frame: Frame, width: int = 40) -> str:
    cells = share_out(frame.sections, frame.budget, width)
    return "".join(LETTERS[name] * cells[name] for name in SECTIONS).ljust(width, ".")


def epoch_mark(frame: Frame, new_epoch: bool) -> Text:
    return Text(f"▲ {frame.epoch}", style="bold yellow") if new_epoch else Text(str(frame.epoch))


def line(frame: Frame, new_epoch: bool) -> str:
    """Format a frame as a line of plain text."""
    mark = " new epoch" if new_epoch else ""
    over = " OVER BUDGET" if frame.over_budget else ""
    sizes = f"turn {frame.turn:>4}  history {frame.history_tokens:>8}  window {frame.window_tokens:>6}"
    return f"{sizes}  saved {frame.saved:>4.0%}  [{plain_bar(frame)}]  epoch {frame.epoch}{mark}{over}"


def legend(frame: Frame | None) -> Text:
    text = Text()
    for name in SECTIONS:
        tokens = f" {frame.sections[name]:,}" if frame else ""
        text.append("█ ", style=COLOURS[name]).append(f"{name}{tokens}   ")
    return text


def print_report(console: Console, report: Report) -> None:
    facts = report_rows(report)
    if console.is_terminal:
        table = Table(title=report.conversation, show_header=False)
        for name, value, good in facts:
            table.add_row(name, Text(value, style={True: "green", False: "bold red", None: ""}[good]))
        console.print(table)
    else:
        for name, value, _ in facts:
            console.print(Text(f"{name:<28} {value}"), soft_wrap=True)
    if report.recalled:
        console.print(Text("\nAn early page, called back:"))
        console.print(Text(report.recalled[:EXCERPT_CHARACTERS].rstrip() + " …"), soft_wrap=True)


def report_rows(report: Report) -> list[tuple[str, str, bool | None]]:
    """Return (name, value, kept) rows; ``kept`` tells whether a promise held and is None for other rows."""
    return [
        ("messages, turns", f"{report.messages}, {report.turns}", None),
        ("history at the end", f"{report.history_tokens:,} tokens", None),
        ("largest window", f"{report.window_tokens_max:,} of {report.budget:,} tokens", None),
        ("saved at the end, on average", f"{report.saved:.1%}, {report.saved_mean:.1%}", None),
        ("epochs", f"{report.epochs} in {report.frames} windows", None),
        ("repeats the window before", f"{report.repeated_share:.1%} of all characters", None),
        ("time for a window", f"{report.seconds_mean * 1000:.1f} ms on average", None),
        ("budget violations", str(report.over_budget), report.over_budget == 0),
        ("prefix breaks between cuts", str(report.prefix_breaks), report.prefix_breaks == 0),
    ]

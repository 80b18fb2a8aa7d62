"""Show a replay: a live table on a terminal, plain lines anywhere else."""

import os
import shutil
import time
from collections import deque
from types import TracebackType
from typing import Self, TextIO

from quire_command.demo.frame import SECTIONS, Frame, Report, share_out

COLOURS = dict(zip(SECTIONS, ("90", "37", "35", "34", "36", "33", "32", "31"), strict=True))
LETTERS = dict(zip(SECTIONS, "TSNUCDRL", strict=True))
ROWS_SHOWN = 14
EXCERPT_CHARACTERS = 600
LEGEND_COLUMNS = 4
REDRAW_SECONDS = 0.1

# What the picture asks of a terminal: lines are cut at its edge rather than wrapped, which would move all below them.
NO_WRAP, WRAP, NO_CURSOR, CURSOR = "\x1b[?7l", "\x1b[?7h", "\x1b[?25l", "\x1b[?25h"
CLEAR_LINE, CLEAR_BELOW = "\x1b[K", "\x1b[J"


def is_live(out: TextIO) -> bool:
    return out.isatty() and os.environ.get("TERM") != "dumb"


def styled(text: str, style: str) -> str:
    return f"\x1b[{style}m{text}\x1b[0m" if style else text


class Screen:
    """Show frames as they come; use as a context manager."""

    def __init__(self, out: TextIO, steps_total: int) -> None:
        self.out = out
        self.is_live = is_live(out)
        self.rows: deque[tuple[Frame, bool]] = deque(maxlen=ROWS_SHOWN)
        self.epoch: int | None = None
        self.title = ""
        self.steps, self.steps_total = 0, steps_total
        self.started = self.drawn = time.monotonic()
        self.lines_drawn = 0

    def __enter__(self) -> Self:
        if self.is_live:
            self.out.write(NO_CURSOR + NO_WRAP)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.is_live:
            self.draw()
            self.out.write(WRAP + CURSOR)

    def open(self, title: str) -> None:
        self.title, self.epoch = title, None
        self.rows.clear()
        if not self.is_live:
            self.plain(f"{title}\nbar: " + ", ".join(f"{LETTERS[name]} {name}" for name in SECTIONS))

    def show(self, frame: Frame) -> None:
        new_epoch = self.epoch is not None and frame.epoch != self.epoch
        self.epoch = frame.epoch
        self.rows.append((frame, new_epoch))
        self.steps += 1
        if not self.is_live:
            self.plain(line(frame, new_epoch))
        elif time.monotonic() - self.drawn >= REDRAW_SECONDS:
            self.draw()

    def plain(self, text: str) -> None:
        print(text, file=self.out, flush=True)

    def draw(self) -> None:
        """Draw the picture over the one before it."""
        size = shutil.get_terminal_size()
        lines = self.picture(size.columns, size.lines)
        back = f"\x1b[{self.lines_drawn}F" if self.lines_drawn else ""
        self.out.write(back + "".join(f"{one}{CLEAR_LINE}\n" for one in lines) + CLEAR_BELOW)
        self.out.flush()
        self.drawn, self.lines_drawn = time.monotonic(), len(lines)

    def picture(self, columns: int, lines: int) -> list[str]:
        width = max(10, min(60, columns - 40))
        around = [styled(self.title or "Quire", "1"), styled(heading(width), "1")]
        below = ["", *legend(self.rows[-1][0] if self.rows else None), self.progress()]
        room = max(1, lines - len(around) - len(below) - 1)
        return [*around, *(row(frame, new, width) for frame, new in list(self.rows)[-room:]), *below]

    def progress(self) -> str:
        width, seconds = 40, int(time.monotonic() - self.started)
        filled = width * self.steps // max(1, self.steps_total)
        bar = styled("━" * filled, "32") + styled("━" * (width - filled), "2")
        return f"turns {bar} {self.steps}/{self.steps_total} {seconds // 60}:{seconds % 60:02}"


def heading(width: int) -> str:
    return f"turn  history  window  saved  {'budget':<{width}}  epoch"


def row(frame: Frame, new_epoch: bool, width: int) -> str:
    window = styled(f"{frame.window_tokens:>6,}", "1;31" if frame.over_budget else "")
    epoch = styled(f"{f'▲ {frame.epoch}':>5}", "1;33") if new_epoch else f"{frame.epoch:>5}"
    sizes = f"{frame.turn:>4}  {frame.history_tokens:>7,}  {window}  {frame.saved:>5.0%}"
    return f"{sizes}  {coloured_bar(frame, width)}  {epoch}"


def coloured_bar(frame: Frame, width: int) -> str:
    cells = share_out(frame.sections, frame.budget, width)
    bar = "".join(styled("█" * cells[name], COLOURS[name]) for name in SECTIONS if cells[name])
    return bar + styled("·" * (width - sum(cells.values())), "2")


def plain_bar(frame: Frame, width: int = 40) -> str:
    cells = share_out(frame.sections, frame.budget, width)
    return "".join(LETTERS[name] * cells[name] for name in SECTIONS).ljust(width, ".")


def line(frame: Frame, new_epoch: bool) -> str:
    """Format a frame as a line of plain text."""
    mark = " new epoch" if new_epoch else ""
    over = " OVER BUDGET" if frame.over_budget else ""
    sizes = f"turn {frame.turn:>4}  history {frame.history_tokens:>8}  window {frame.window_tokens:>6}"
    return f"{sizes}  saved {frame.saved:>4.0%}  [{plain_bar(frame)}]  epoch {frame.epoch}{mark}{over}"


def legend(frame: Frame | None) -> list[str]:
    names = [
        styled("█", COLOURS[name]) + f" {f'{name} {frame.sections[name]:,}' if frame else name:<17}"
        for name in SECTIONS
    ]
    return ["".join(names[at : at + LEGEND_COLUMNS]) for at in range(0, len(names), LEGEND_COLUMNS)]


def print_report(out: TextIO, report: Report) -> None:
    if is_live(out):
        print("\n" + styled(report.conversation, "1"), file=out)
    for name, value, good in report_rows(report):
        style = {True: "32", False: "1;31", None: ""}[good] if is_live(out) else ""
        print(f"{name:<28} {styled(value, style)}", file=out)
    if report.recalled:
        print("\nAn early page, called back:", file=out)
        print(report.recalled[:EXCERPT_CHARACTERS].rstrip() + " …", file=out)


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

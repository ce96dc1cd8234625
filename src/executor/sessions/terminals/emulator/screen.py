"""A screen: lines, a cursor, and a region that scrolls. The main one keeps what scrolls off its top."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence

from executor.dataclass import dataclass
from executor.sessions.terminals.emulator.cells import JOINED, PLAIN, Line, Style, width
from executor.sessions.terminals.emulator.reflow import reflow

MAX_COMBINED = 8  # characters in a cell
_RUNS = re.compile(r"[ -~]+|[^ -~]")


@dataclass(frozen=True, slots=True)
class Saved:
    """A cursor. Its row is counted from the first line that is kept, so it scrolls with the text."""

    x: int = 0
    y: int = 0
    style: Style = PLAIN
    graphics: bool = False


class Screen:
    """`x` is `columns` after the last cell of a line was drawn: the next character goes to the next line."""

    def __init__(self, columns: int, rows: int, scrollback: int) -> None:
        self.columns, self.rows = columns, rows
        self.lines = [Line() for _ in range(rows)]
        self.scrollback: deque[Line] = deque(maxlen=scrollback)
        self.x = self.y = 0
        self.top, self.bottom = 0, rows - 1
        self.saved = Saved()

    @property
    def line(self) -> Line:
        return self.lines[self.y]

    @property
    def base(self) -> int:
        return len(self.scrollback)

    def row_of(self, saved: Saved) -> int:
        return max(0, min(saved.y - self.base, self.rows - 1))

    def restrict(self) -> None:
        self.x = min(self.x, self.columns - 1)

    # -- drawing ------------------------------------------------------------------------------------------------------

    def draw(self, text: str, style: Style, *, wraps: bool, inserts: bool) -> None:
        for run in _RUNS.findall(text):
            if len(run) > 1 or run.isascii():
                self._draw_run(run, style, wraps, inserts)
            else:
                self._draw_char(run, style, wraps, inserts)

    def _draw_run(self, run: str, style: Style, wraps: bool, inserts: bool) -> None:
        while run:
            self._make_room(1, style, wraps)
            room = self.columns - self.x
            piece, run = run[:room], run[room:]
            if run and not wraps:
                piece, run = piece[:-1] + run[-1], ""
            self._put(piece, style, inserts)

    def _draw_char(self, char: str, style: Style, wraps: bool, inserts: bool) -> None:
        cells = width(char)
        if cells == 0:
            self._combine(char)
            return
        if cells > self.columns:
            return
        if not wraps and self.x + cells > self.columns:
            self.x = self.columns - 1
            if cells > 1:
                return
        self._make_room(cells, style, wraps)
        self._put([char] if cells == 1 else [char, JOINED], style, inserts)

    def _put(self, chars: Sequence[str], style: Style, inserts: bool) -> None:
        line = self.lines[self.y]
        if inserts:
            line.insert(self.x, len(chars), style, self.columns)
        line.put(self.x, chars, style)
        self.x += len(chars)

    def _combine(self, char: str) -> None:
        chars, at = self.line.chars, self.x - 1
        self.line.extend(self.x)
        if at >= 0 and chars[at] == JOINED:
            at -= 1
        if at >= 0 and len(chars[at]) < MAX_COMBINED:
            chars[at] += char

    def _make_room(self, cells: int, style: Style, wraps: bool) -> None:
        if self.x + cells <= self.columns:
            return
        if not wraps:
            self.x = self.columns - 1
            return
        if self.x < self.columns:
            self.line.fill(self.x, self.columns, style)
        self.x = 0
        self.index(("", "", style[2]))
        self.line.continues = True

    # -- moving -------------------------------------------------------------------------------------------------------

    def index(self, style: Style) -> None:
        if self.y == self.bottom:
            self._scroll_off(style)
        elif self.y < self.rows - 1:
            self.y += 1

    def _scroll_off(self, style: Style) -> None:
        gone = self.lines.pop(self.top)
        if self.top == 0 and self.scrollback.maxlen:
            self.scrollback.append(gone)
        self.lines.insert(self.bottom, Line(self.columns, style))

    def reverse_index(self, style: Style) -> None:
        if self.y == self.top:
            self.scroll(-1, style)
        elif self.y > 0:
            self.y -= 1

    def scroll(self, count: int, style: Style, top: int | None = None) -> None:
        """Up, or down if negative; what leaves is gone."""
        first = self.top if top is None else top
        for _ in range(min(abs(count), self.bottom - first + 1)):
            del self.lines[first if count > 0 else self.bottom]
            self.lines.insert(self.bottom if count > 0 else first, Line(self.columns, style))

    def change_lines(self, count: int, style: Style) -> None:
        """At the cursor: delete lines, or insert them if negative."""
        if self.top <= self.y <= self.bottom:
            self.scroll(count, style, self.y)
            self.x = 0

    def move(self, x: int, y: int) -> None:
        self.x = max(0, min(x, self.columns - 1))
        self.y = max(0, min(y, self.rows - 1))

    def climb(self, count: int) -> None:
        """Up, or down if negative; not out of the region that scrolls."""
        self.restrict()
        if count > 0:
            self.y = max(self.top if self.y >= self.top else 0, self.y - count)
        else:
            self.y = min(self.bottom if self.y <= self.bottom else self.rows - 1, self.y - count)

    # -- erasing ------------------------------------------------------------------------------------------------------

    def erase_line(self, how: int, style: Style) -> None:
        start, end = ((self.x, self.columns), (0, min(self.x + 1, self.columns)), (0, self.columns))[how]
        self.line.fill(start, end, style)
        if start == 0 and how != 1:
            self.line.continues = False

    def erase(self, how: int, style: Style) -> None:
        if how == 3:
            self.scrollback.clear()
            return
        first, last = ((self.y + 1, self.rows), (0, self.y), (0, self.rows))[how]
        if how != 2:
            self.erase_line(how, style)
        if how == 1 and self.x + 1 >= self.columns and self.y + 1 < self.rows:
            self.lines[self.y + 1].continues = False
        for at in range(first, last):
            self.lines[at] = Line(self.columns, style)

    # -- size ---------------------------------------------------------------------------------------------------------

    def resize(self, columns: int, rows: int) -> None:
        """Lines flow where there is a scrollback; a full-screen program draws again, so there they are cut."""
        if columns != self.columns and self.scrollback.maxlen:
            self._reflow(columns, rows)
        self._change_rows(rows)
        for line in self.lines:
            line.cut(columns)
        self.columns, self.rows = columns, rows
        self.top, self.bottom = 0, rows - 1
        self.restrict()

    def _reflow(self, columns: int, rows: int) -> None:
        """Blank lines below the cursor are left out, so that nothing scrolls off for them."""
        used = max((at for at, line in enumerate(self.lines) if line.chars), default=0)
        kept = [*self.scrollback, *self.lines[: max(used, self.y) + 1]]
        found, self.x, y = reflow(kept, min(self.x, self.columns - 1), self.base + self.y, self.columns, columns)
        top = min(max(0, len(found) - rows), y)
        self.scrollback.clear()
        self.scrollback.extend(found[:top])
        self.lines, self.y = found[top : top + rows], y - top

    def _change_rows(self, rows: int) -> None:
        """What is below the cursor goes before what is above it."""
        while len(self.lines) > rows:
            if self.y < len(self.lines) - 1:
                self.lines.pop()
            else:
                self.scrollback.append(self.lines.pop(0))
                self.y -= 1
        self.lines += [Line() for _ in range(rows - len(self.lines))]

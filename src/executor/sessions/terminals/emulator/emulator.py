"""What the sequences of a program do to its screens.

Where terminals differ, this does as xterm.js does, which shows the same bytes in the browser. A screen that was sent
and what is written afterwards must come out as if all of it had been seen.
"""

from __future__ import annotations

from collections.abc import Callable

from executor.sessions.terminals.emulator.cells import PLAIN, Style, last_cell, restyle
from executor.sessions.terminals.emulator.screen import Saved, Screen
from executor.sessions.terminals.emulator.sequences import Sequences, Token, numbers

SCROLLBACK = 2000
MIN_SIZE, MAX_COLUMNS, MAX_ROWS = 2, 1000, 500
GRAPHICS = str.maketrans(
    "`abcdefghijklmnopqrstuvwxyz{|}~",
    "◆▒\u2409\u240c\u240d\u240a°±\u2424\u240b┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·",
)
OTHER_SCREEN = (47, 1047, 1049)
DEFAULT_MODES = frozenset({7, 25})
WRAP, ORIGIN = 7, 6
ATTRIBUTES = b"\x1b[?62;22c"  # what it is: a VT220 with colours


class Emulator:
    """`main` has a scrollback, `other` is the screen of full-screen programs. `screen` is the one that is shown."""

    def __init__(self, columns: int, rows: int) -> None:
        self._sequences = Sequences()
        self.columns, self.rows = columns, rows
        self._reset()

    def _reset(self) -> None:
        self.main = Screen(self.columns, self.rows, SCROLLBACK)
        self.other = Screen(self.columns, self.rows, 0)
        self.screen = self.main
        self.entered = 0  # the mode by which the other screen was chosen
        self.style: Style = PLAIN
        self.modes = set(DEFAULT_MODES)
        self.inserts = self.has_keypad = self.new_line = False
        self.cursor = 0  # its shape
        self.graphics = [False, False]  # whether G0 and G1 are line drawing
        self.shift = 0
        self.stops = set(range(8, 1000, 8))
        self._last = ""

    def feed(self, data: bytes) -> tuple[str, bytes]:
        """What watchers may be sent of it, and what the terminal answers to the program."""
        kept: list[str] = []
        answers = b""
        for token in self._sequences.read(data):
            if token.kind == "query":
                answers += self._answer(token)
                continue
            kept.append(token.source)
            self._take(token)
        return "".join(kept), answers

    def resize(self, columns: int, rows: int) -> None:
        self.columns, self.rows = columns, rows
        self.main.resize(columns, rows)
        self.other.resize(columns, rows)

    @property
    def blank_style(self) -> Style:
        """What is blank_style has the background that is chosen."""
        return "", "", self.style[2]

    def _answer(self, token: Token) -> bytes:
        """Only what holds no text of the program: where the cursor is, and that the terminal is one."""
        first = numbers(token.params)[0]
        if token.final == "c":
            return ATTRIBUTES if first == 0 else b""
        if first == 5:
            return b"\x1b[0n"
        top = self.screen.top if ORIGIN in self.modes else 0
        column = min(self.screen.x, self.columns - 1)
        return b"\x1b[%d;%dR" % (self.screen.y - top + 1, column + 1) if first == 6 else b""

    def _take(self, token: Token) -> None:
        if token.kind == "text":
            text = token.source.translate(GRAPHICS) if self.graphics[self.shift] else token.source
            self.screen.draw(text, self.style, wraps=WRAP in self.modes, inserts=self.inserts)
            self._last = text
            return
        last, self._last = self._last, ""
        if token.kind == "control":
            for char in token.source:
                self._control(char)
        elif token.kind == "escape":
            self._escape(token.final)
        elif token.kind == "charset":
            self.graphics["()".index(token.prefix)] = token.final == "0"
        elif token.final == "m":
            self.style = restyle(self.style, token.params)
        elif token.final in "hl":
            self._set_modes(token)
        elif token.final == "b":
            if last:
                count = min(max(1, numbers(token.params)[0]), self.columns * self.rows)
                self.screen.draw(last_cell(last) * count, self.style, wraps=WRAP in self.modes, inserts=self.inserts)
        elif (act := CSI.get(token.final)) is not None:
            act(self, numbers(token.params))

    def _control(self, char: str) -> None:
        screen = self.screen
        if char in "\n\v\f":
            screen.index(self.blank_style)
            screen.restrict()
            if self.new_line:
                screen.x = 0
        elif char == "\r":
            screen.x = 0
        elif char == "\b":
            screen.restrict()
            screen.x = max(0, screen.x - 1)
        elif char == "\t":
            self.tab(1)
        elif char in "\x0e\x0f":
            self.shift = 1 if char == "\x0e" else 0

    def _escape(self, final: str) -> None:
        screen = self.screen
        if final == "7":
            self.save()
        elif final == "8":
            self.restore()
        elif final in "DE":
            screen.restrict()
            screen.index(self.blank_style)
            screen.x = 0 if final == "E" else screen.x
        elif final == "M":
            screen.restrict()
            screen.reverse_index(self.blank_style)
        elif final == "H":
            self.stops.add(screen.x)
        elif final in "=>":
            self.has_keypad = final == "="
        elif final == "c":
            self._reset()

    # -- cursor -------------------------------------------------------------------------------------------------------

    def save(self) -> None:
        screen = self.screen
        screen.saved = Saved(screen.x, screen.base + screen.y, self.style, self.graphics[self.shift])

    def restore(self) -> None:
        saved = self.screen.saved
        self.screen.x, self.screen.y = min(saved.x, self.columns), self.screen.row_of(saved)
        self.style = saved.style
        self.graphics[self.shift] = saved.graphics

    def place(self, x: int, y: int) -> None:
        """Counted from the region that scrolls, where the program has asked for that."""
        screen = self.screen
        if ORIGIN in self.modes:
            screen.move(x, min(y + screen.top, screen.bottom))
        else:
            screen.move(x, y)

    def shift_by(self, x: int, y: int) -> None:
        self.screen.restrict()
        self.screen.move(self.screen.x + x, self.screen.y + y)

    def tab(self, count: int) -> None:
        screen = self.screen
        if screen.x >= self.columns:
            return
        for _ in range(min(abs(count), self.columns)):
            if count > 0:
                screen.x = min((stop for stop in self.stops if stop > screen.x), default=self.columns - 1)
            else:
                screen.x = max((stop for stop in self.stops if stop < screen.x), default=0)
        screen.restrict()

    def clear_stops(self, how: int) -> None:
        if how == 0:
            self.stops.discard(self.screen.x)
        elif how == 3:
            self.stops.clear()

    # -- modes --------------------------------------------------------------------------------------------------------

    def _set_modes(self, token: Token) -> None:
        for mode in numbers(token.params):
            if not token.prefix:
                self._set_ansi_mode(mode, token.final == "h")
            elif mode == 1048:
                (self.save if token.final == "h" else self.restore)()
            elif mode in OTHER_SCREEN:
                (self._enter if token.final == "h" else self._leave)(mode)
            elif token.final == "h":
                self.modes.add(mode)
            else:
                self.modes.discard(mode)
            if token.prefix and mode == ORIGIN:
                self.place(0, 0)

    def _set_ansi_mode(self, mode: int, on: bool) -> None:
        if mode == 4:
            self.inserts = on
        elif mode == 20:
            self.new_line = on

    def _enter(self, mode: int) -> None:
        if mode == 1049:
            self.save()
        if self.screen is self.main:
            saved = self.other.saved
            self.other = Screen(self.columns, self.rows, 0)
            self.other.erase(2, self.blank_style)
            self.other.x, self.other.y, self.other.saved = self.main.x, self.main.y, saved
            self.screen, self.entered = self.other, mode

    def _leave(self, mode: int) -> None:
        if self.screen is self.other:
            self.main.x, self.main.y = self.other.x, self.other.y
            self.screen = self.main
        if mode == 1049:
            self.restore()

    def set_region(self, params: list[int]) -> None:
        top = max(params[0], 1)
        bottom = params[1] if len(params) > 1 and 0 < params[1] <= self.rows else self.rows
        if bottom > top:
            self.screen.top, self.screen.bottom = top - 1, bottom - 1
            self.place(0, 0)

    def reset_softly(self) -> None:
        self.modes = (self.modes - {1, ORIGIN, 1004, 2004}) | DEFAULT_MODES
        self.inserts = self.has_keypad = False
        self.style, self.graphics, self.shift = PLAIN, [False, False], 0
        self.screen.top, self.screen.bottom, self.screen.saved = 0, self.rows - 1, Saved()


def _count(params: list[int]) -> int:
    return max(1, params[0])


def _clamp(screen: Screen) -> Screen:
    screen.restrict()
    return screen


def _next_line(emulator: Emulator, count: int) -> None:
    emulator.screen.climb(count)
    emulator.screen.x = 0


def _erase(emulator: Emulator, how: int) -> None:
    if how in (0, 1, 2, 3):
        emulator.screen.erase(how, emulator.blank_style)


def _erase_line(emulator: Emulator, how: int) -> None:
    if how in (0, 1, 2):
        emulator.screen.erase_line(how, emulator.blank_style)


def _erase_chars(emulator: Emulator, count: int) -> None:
    screen = _clamp(emulator.screen)
    screen.line.fill(screen.x, min(screen.x + count, screen.columns), emulator.blank_style)


def _second(params: list[int]) -> int:
    return params[1] if len(params) > 1 else 0


def _row(emulator: Emulator) -> int:
    return emulator.screen.y - (emulator.screen.top if ORIGIN in emulator.modes else 0)


CSI: dict[str, Callable[[Emulator, list[int]], None]] = {
    "A": lambda e, p: e.screen.climb(_count(p)),
    "B": lambda e, p: e.screen.climb(-_count(p)),
    "C": lambda e, p: e.shift_by(_count(p), 0),
    "D": lambda e, p: e.shift_by(-_count(p), 0),
    "E": lambda e, p: _next_line(e, -_count(p)),
    "F": lambda e, p: _next_line(e, _count(p)),
    "G": lambda e, p: e.place(_count(p) - 1, _row(e)),
    "`": lambda e, p: e.place(_count(p) - 1, _row(e)),
    "H": lambda e, p: e.place(max(1, _second(p)) - 1, _count(p) - 1),
    "f": lambda e, p: e.place(max(1, _second(p)) - 1, _count(p) - 1),
    "I": lambda e, p: e.tab(_count(p)),
    "Z": lambda e, p: e.tab(-_count(p)),
    "J": lambda e, p: _erase(e, p[0]),
    "K": lambda e, p: _erase_line(e, p[0]),
    "X": lambda e, p: _erase_chars(e, _count(p)),
    "L": lambda e, p: _clamp(e.screen).change_lines(-_count(p), e.blank_style),
    "M": lambda e, p: _clamp(e.screen).change_lines(_count(p), e.blank_style),
    "@": lambda e, p: _clamp(e.screen).line.insert(e.screen.x, _count(p), e.blank_style, e.columns),
    "P": lambda e, p: _clamp(e.screen).line.remove(e.screen.x, _count(p), e.blank_style, e.columns),
    "S": lambda e, p: e.screen.scroll(_count(p), e.blank_style),
    "T": lambda e, p: e.screen.scroll(-_count(p), PLAIN),
    "a": lambda e, p: e.shift_by(_count(p), 0),
    "d": lambda e, p: e.place(e.screen.x, _count(p) - 1),
    "e": lambda e, p: e.shift_by(0, _count(p)),
    "g": lambda e, p: e.clear_stops(p[0]),
    "r": lambda e, p: e.set_region(p),
    "s": lambda e, _: e.save(),
    "u": lambda e, _: e.restore(),
    " q": lambda e, p: setattr(e, "cursor", p[0] if p[0] < 7 else 0),
    "!p": lambda e, _: e.reset_softly(),
}

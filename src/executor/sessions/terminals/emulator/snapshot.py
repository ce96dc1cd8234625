"""A terminal as bytes: written to an empty one of the same size, they leave it as the first one is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from executor.sessions.terminals.emulator.cells import JOINED, PLAIN, Line, Style
from executor.sessions.terminals.emulator.emulator import DEFAULT_MODES, ORIGIN, WRAP, Emulator
from executor.sessions.terminals.emulator.screen import Screen


def take_snapshot(emulator: Emulator) -> bytes:
    """Modes come last: lines that continue need the wrapping of an ordinary terminal to be drawn."""
    main = emulator.main
    parts = [draw_lines([*main.scrollback, *main.lines], main.columns)]
    if emulator.screen is emulator.other:
        parts += [_save(main), f"\x1b[?{emulator.entered}h", _draw_rows(emulator.other)]
        parts.append(_save(emulator.other))
    else:
        parts.append(_save(main))
    return "".join((*parts, *_modes(emulator), _cursor(emulator))).encode("utf-8", "replace")


def select(style: Style) -> str:
    return f"\x1b[{';'.join(('0', *filter(None, style)))}m"


def draw_cells(chars: Sequence[str], styles: Sequence[Style], end: int) -> Iterator[str]:
    style, start = PLAIN, 0
    for at in range(end + 1):
        if at == end or styles[at] != style:
            yield "".join(chars[start:at])
            if at < end:
                style, start = styles[at], at
                yield select(style)
    if style != PLAIN:
        yield "\x1b[0m"


def draw_line(line: Line) -> Iterator[str]:
    return draw_cells(line.chars, line.styles, len(line.chars))


def draw_lines(lines: Sequence[Line], columns: int) -> str:
    def each() -> Iterator[str]:
        for at, line in enumerate(lines):
            yield from draw_line(line)
            if at + 1 == len(lines):
                return
            yield " " * (columns - len(line.chars)) if lines[at + 1].continues else "\r\n"

    return "".join(each())


def _draw_rows(screen: Screen) -> str:
    """One by one: nothing may scroll, and what is erased has the background of before."""
    rows = (f"\x1b[{at + 1};1H{''.join(draw_line(line))}" for at, line in enumerate(screen.lines))
    return "\x1b[0m\x1b[2J" + "".join(rows)


def _save(screen: Screen) -> str:
    saved = screen.saved
    charset = "\x1b(0" if saved.graphics else ""
    row = screen.row_of(saved)
    at = _to_column(screen, saved.x, row, row)
    return f"{at}{select(saved.style)}{charset}\x1b7\x1b(B\x1b[0m"


def _to_column(screen: Screen, x: int, y: int, shown_row: int) -> str:
    """A place past the last column has no address: the last character is drawn again."""
    if x < screen.columns:
        return f"\x1b[{shown_row + 1};{x + 1}H"
    line = screen.lines[y]
    line.extend(screen.columns)
    at = screen.columns - (2 if line.chars[-1] == JOINED else 1)
    return f"\x1b[{shown_row + 1};{at + 1}H{select(line.styles[at])}{line.chars[at]}"


def _modes(emulator: Emulator) -> Iterable[str]:
    screen = emulator.screen
    yield from _stops(emulator)
    if (screen.top, screen.bottom) != (0, screen.rows - 1):
        yield f"\x1b[{screen.top + 1};{screen.bottom + 1}r"
    yield from (f"\x1b[?{mode}h" for mode in sorted(emulator.modes - DEFAULT_MODES))
    yield from (f"\x1b[?{mode}l" for mode in sorted(DEFAULT_MODES - emulator.modes - {WRAP}))
    if emulator.has_keypad:
        yield "\x1b="
    if emulator.new_line:
        yield "\x1b[20h"
    if emulator.cursor:
        yield f"\x1b[{emulator.cursor} q"


def _stops(emulator: Emulator) -> Iterable[str]:
    stops = {one for one in emulator.stops if one < emulator.columns}
    if stops != set(range(8, emulator.columns, 8)):
        yield "\x1b[3g"
        yield from (f"\x1b[1;{one + 1}H\x1bH" for one in sorted(stops))


def _cursor(emulator: Emulator) -> str:
    """The place of the cursor, then what changes how characters are drawn: where one is drawn again, it is plain."""
    screen = emulator.screen
    row = screen.y - (screen.top if ORIGIN in emulator.modes else 0)
    sets = "".join(f"\x1b{name}0" for name, on in zip("()", emulator.graphics, strict=True) if on)
    return "".join(
        (
            _to_column(screen, screen.x, screen.y, row),
            select(emulator.style),
            sets,
            "\x0e" if emulator.shift else "",
            "\x1b[4h" if emulator.inserts else "",
            "\x1b[?7l" if WRAP not in emulator.modes else "",
        )
    )

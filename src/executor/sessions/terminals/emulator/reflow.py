"""Lines of a screen at another width: those that continued are one line again, and are cut where it ends now."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from executor.sessions.terminals.emulator.cells import JOINED, Line


def reflow(lines: Sequence[Line], x: int, y: int, before: int, columns: int) -> tuple[list[Line], int, int]:
    """The lines, and where a cursor at `x` of the line `y` is afterwards.

    The line with the cursor doesn't flow. A shell draws its prompt again after a change of size, and goes up as many
    rows as it used before: on a line that had flowed it would erase the lines above.
    """
    found: list[Line] = []
    cursor = (0, 0)
    for first, end in spans(lines):
        if first <= y < end:
            cursor = min(x, columns - 1), len(found) + y - first
            for line in lines[first:end]:
                line.cut(columns)
                found.append(line)
        else:
            found += cut(join(lines[first:end], before), columns)
    return found, *cursor


def spans(lines: Sequence[Line]) -> Iterator[tuple[int, int]]:
    """Where each line begins and ends that may be several on the screen."""
    first = 0
    for at in range(1, len(lines) + 1):
        if at == len(lines) or not lines[at].continues:
            yield first, at
            first = at


def join(parts: Sequence[Line], columns: int) -> Line:
    whole = Line()
    for at, part in enumerate(parts):
        if at:
            fill_up(whole, parts[at - 1], part, columns)
        whole.chars += part.chars
        whole.styles += part.styles
    return whole


def fill_up(whole: Line, part: Line, following: Line, columns: int) -> None:
    """A line that continues has no blank end, unless it ends where a wide character did not fit."""
    missing = columns - len(part.chars)
    has_wide = len(following.chars) > 1 and following.chars[1] == JOINED
    if missing > 1 or not has_wide:
        whole.extend(len(whole.chars) + missing)


def cut(whole: Line, columns: int) -> list[Line]:
    """A wide character that doesn't fit goes to the next line as a whole."""
    parts: list[Line] = []
    start = 0
    while start < len(whole.chars) or not parts:
        end = start + columns
        if end < len(whole.chars) and whole.chars[end] == JOINED:
            end -= 1
        part = Line()
        part.chars, part.styles = whole.chars[start:end], whole.styles[start:end]
        part.continues = bool(parts)
        parts.append(part)
        start = end
    return parts

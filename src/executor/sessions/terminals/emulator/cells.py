"""Lines of a screen: a character and a style for each cell."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import lru_cache

# Attributes, foreground and background, each as the parameters that select it.
Style = tuple[str, str, str]
PLAIN: Style = ("", "", "")
_OFF = {"22": "12", "23": "3", "24": "4", "25": "5", "27": "7", "28": "8", "29": "9"}
_EXTENDED = {"5": 1, "2": 3}  # a colour by number, or by red, green and blue
JOINED = ""  # the second half of a wide character


class Line:
    """`continues` the line above it, which was too long for the screen. A blank end is not kept."""

    __slots__ = ("chars", "continues", "styles")

    def __init__(self, columns: int = 0, style: Style = PLAIN) -> None:
        self.chars: list[str] = []
        self.styles: list[Style] = []
        self.continues = False
        if style != PLAIN:
            self.extend(columns, style)

    def extend(self, columns: int, style: Style = PLAIN) -> None:
        missing = columns - len(self.chars)
        if missing > 0:
            self.chars += [" "] * missing
            self.styles += [style] * missing

    def put(self, at: int, chars: Sequence[str], style: Style) -> None:
        end = at + len(chars)
        if at > len(self.chars):
            self.extend(at)
        self.part_wide(at, end, style)
        self.chars[at:end] = chars
        self.styles[at:end] = [style] * len(chars)

    def fill(self, start: int, end: int, style: Style) -> None:
        """Erase; a wide character loses both of its halves."""
        if style != PLAIN or end < len(self.chars):
            self.put(start, " " * (end - start), style)
        elif start < len(self.chars):
            self.part_wide(start, end, style)
            del self.chars[start:], self.styles[start:]

    def part_wide(self, start: int, end: int, style: Style) -> None:
        """Before cells are replaced: what is left of a wide character at either end becomes blank."""
        chars = self.chars
        if start and start < len(chars) and chars[start] == JOINED:
            chars[start - 1], self.styles[start - 1] = " ", style
        if end < len(chars) and chars[end] == JOINED:
            chars[end], self.styles[end] = " ", style

    def insert(self, at: int, count: int, style: Style, columns: int) -> None:
        self.extend(at)
        if at < len(self.chars) and self.chars[at] == JOINED:
            self.chars[at - 1 : at + 1] = "  "
            self.styles[at - 1] = style
        self.chars[at:at] = [" "] * count
        self.styles[at:at] = [style] * count
        self.cut(columns)

    def remove(self, at: int, count: int, style: Style, columns: int) -> None:
        count = min(count, columns - at)
        self.part_wide(at, at + count, style)
        del self.chars[at : at + count], self.styles[at : at + count]
        if style != PLAIN:
            self.extend(columns - count)
            self.extend(columns, style)

    def cut(self, columns: int) -> None:
        if len(self.chars) > columns and self.chars[columns] == JOINED:
            self.chars[columns - 1] = " "
        del self.chars[columns:], self.styles[columns:]


@lru_cache(maxsize=16384)
def width(char: str) -> int:
    """In cells: 0 for what is drawn over the character before it."""
    code = ord(char)
    if code < 0x300:
        return 1
    if unicodedata.category(char) in ("Mn", "Me", "Cf") or 0x1160 <= code <= 0x11FF:
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def last_cell(text: str) -> str:
    """The last character, with everything that is drawn over it."""
    at = len(text) - 1
    while at and width(text[at]) == 0:
        at -= 1
    return text[at:]


@lru_cache(maxsize=4096)
def restyle(style: Style, params: str) -> Style:
    """After a "select graphic rendition". What is unknown changes nothing."""
    flags, front, back = set(filter(None, style[0].split(";"))), style[1], style[2]
    parts = _split(params)
    at = 0
    while at < len(parts):
        part = parts[at].lstrip("0") or "0"
        at += 1
        if part == "0":
            flags, front, back = set(), "", ""
        elif part in ("38", "48", "58"):
            taken = 1 + _EXTENDED.get(parts[at] if at < len(parts) else "", len(parts))
            colour = parts[at : at + taken]
            at += taken
            if len(colour) == taken and all(one.isdecimal() and int(one) < 256 for one in colour[1:]):
                chosen = ";".join((part, colour[0], *(str(int(one)) for one in colour[1:])))
                front, back = (chosen if part == "38" else front), (chosen if part == "48" else back)
        elif part in ("1", "2", "3", "4", "5", "7", "8", "9"):
            flags.add(part)
        elif part == "21":
            flags.add("4")
        elif part in _OFF:
            flags -= set(_OFF[part])
        elif part == "39":
            front = ""
        elif part == "49":
            back = ""
        elif part[:-1] in ("3", "9") and part[-1] in "01234567":
            front = part
        elif part[:-1] in ("4", "10") and part[-1] in "01234567":
            back = part
    return ";".join(sorted(flags)), front, back


def _split(params: str) -> list[str]:
    """Also parameters with parts of their own, as in `38:2::1:2:3` and `4:3`."""
    found: list[str] = []
    for param in params.split(";")[:64]:
        head, *parts = param.split(":")
        if head in ("38", "48", "58") and parts:
            colour = [part or "0" for part in parts]
            found += [head, colour[0], *(colour[-3:] if colour[0] == "2" else colour[1:2])]
        elif head == "4" and parts:
            found.append("24" if parts[0] == "0" else "4")
        else:
            found.append(head)
    return found

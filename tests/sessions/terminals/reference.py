"""xterm.js without a display, as the reference for the terminal's model."""

from __future__ import annotations

import base64
import json
import subprocess
from pathlib import Path
from typing import Any

from executor.sessions.terminals.emulator.cells import PLAIN, Line, Style
from executor.sessions.terminals.emulator.emulator import Emulator
from executor.sessions.terminals.emulator.snapshot import take_snapshot
from tests.support.packages import node_package

SCRIPT = Path(__file__).parent / "reference.mjs"
Case = tuple[int, int, bytes]


def show(cases: list[Case]) -> list[dict[str, Any]]:
    """What xterm.js shows of each."""
    sent = [{"cols": c, "rows": r, "data": base64.b64encode(data).decode()} for c, r, data in cases]
    done = subprocess.run(
        [node_package() / "bin" / "node", SCRIPT],
        input=json.dumps(sent),
        capture_output=True,
        text=True,
        timeout=240,
        check=True,
    )
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def model_of(case: Case, piece: int = 0) -> Emulator:
    columns, rows, data = case
    emulator = Emulator(columns, rows)
    for at in range(0, len(data), piece or len(data) or 1):
        emulator.feed(data[at : at + (piece or len(data))])
    return emulator


def cells_of(emulator: Emulator) -> list[list[list[str]]]:
    return [_line(line, emulator.columns) for line in emulator.screen.lines]


def history_of(emulator: Emulator) -> list[str]:
    return ["".join(line.chars).rstrip(" ") for line in emulator.main.scrollback]


def restore_case(case: Case, *, after: bytes = b"") -> Case:
    """As someone sees it who attaches at the end, and then what follows."""
    emulator = model_of(case)
    snapshot = take_snapshot(emulator)
    return case[0], case[1], snapshot + after


def _line(line: Line, columns: int) -> list[list[str]]:
    line.extend(columns)
    return [[char, *_colours(style)] for char, style in zip(line.chars, line.styles, strict=True)]


def _colours(style: Style) -> tuple[str, str, str]:
    """The sixteen colours are numbers for xterm.js."""
    flags, front, back = style or PLAIN
    return flags, _number_colour(front), _number_colour(back)


def _number_colour(colour: str) -> str:
    if not colour or ";" in colour:
        return colour
    kind, number = colour[:-1], int(colour[-1])
    return f"{'3' if kind in ('3', '9') else '4'}8;5;{number + (8 if kind in ('9', '10') else 0)}"

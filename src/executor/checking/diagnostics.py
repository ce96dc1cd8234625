"""What a check finds: where, what, about which tool, and whether it keeps the code from running."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from executor.dataclass import dataclass

Severity = Literal["error", "warning"]
ROOT = "tools"  # code without this word names no tool, and is not checked
MAX_DIAGNOSTICS = 20
MAX_MESSAGE = 600
MAX_FINDINGS = 100  # of a checker, before they are judged
MAX_SAID = 1_000


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """Lines and columns count from 1, columns in characters; the end is behind the last one."""

    severity: Severity
    line: int
    column: int
    end_line: int
    end_column: int
    message: str
    code: str
    tool: str = ""
    signature: str = ""
    hint: str = ""

    def to_dict(self) -> dict[str, Any]:
        found = {
            "severity": self.severity,
            "line": self.line,
            "column": self.column,
            "endLine": self.end_line,
            "endColumn": self.end_column,
            "message": self.message,
            "code": self.code,
        }
        extras = {"tool": self.tool, "signature": self.signature, "hint": self.hint}
        return {**found, **{name: text for name, text in extras.items() if text}}


@dataclass(frozen=True, slots=True)
class Finding:
    """What a checker said, before anyone judged what it means for a call. Offsets are characters of the code."""

    code: str
    message: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """`unavailable` says why nothing could be found out; the setting decides what then becomes of the code."""

    diagnostics: tuple[Diagnostic, ...] = ()
    unavailable: str = ""

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        return tuple(one for one in self.diagnostics if one.severity == "error")


PASSED = Verdict()


def truncate(text: str, most: int = MAX_MESSAGE) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


class Lines:
    """From offsets to lines and columns, and from a language server's positions to offsets."""

    def __init__(self, code: str) -> None:
        self.code = code
        self._starts = [0]
        position = code.find("\n")
        while position >= 0:
            self._starts.append(position + 1)
            position = code.find("\n", position + 1)

    def place(self, offset: int) -> tuple[int, int]:
        from bisect import bisect_right

        offset = max(0, min(offset, len(self.code)))
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def offset(self, line: int, column: int) -> int:
        """Of a line and column that count from 1; beyond the end is the end."""
        line = max(1, min(line, len(self._starts)))
        start = self._starts[line - 1]
        end = self._starts[line] - 1 if line < len(self._starts) else len(self.code)
        return min(start + max(0, column - 1), end)

    def offset_of_units(self, line: int, units: int) -> int:
        """Of a line from 1 and UTF-16 units from 0, as language servers count."""
        start = self.offset(line, 1)
        end = self.offset(line, 1 << 30)
        text = self.code[start:end]
        if text.isascii():
            return start + min(units, len(text))
        return start + len(text.encode("utf-16-le", "surrogatepass")[: units * 2].decode("utf-16-le", "ignore"))


def order_diagnostics(diagnostics: Sequence[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Errors first, each once, as many as anyone reads."""
    unique = list(dict.fromkeys(diagnostics))
    unique.sort(key=lambda one: (one.severity != "error", one.line, one.column))
    return tuple(unique[:MAX_DIAGNOSTICS])

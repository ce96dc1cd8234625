"""Checks Python with `ty`. The code is read as it is; `tools` and `ToolError` are built-in names of its project."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, ClassVar

from executor.checking.checkers.language_server import PROJECTS, Program
from executor.checking.checkers.python_messages import runs_anyway
from executor.checking.checkers.server_checker import ServerChecker
from executor.checking.diagnostics import Finding

PROJECT = PROJECTS / "python"
LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache")
# It must not read the settings of the user who runs the daemon.
ENVIRONMENT = {"LANG": "C.UTF-8", "TY_MAX_PARALLELISM": "1", "XDG_CONFIG_HOME": str(PROJECT)}
OPTIONS = {"completions": {"autoImport": False}, "diagnosticMode": "openFilesOnly"}


class PythonChecker(ServerChecker):
    language: ClassVar[str] = "Python"

    def find_program(self) -> Program | None:
        return find_program()

    async def check(self, code: str, declarations: str, *, loose: bool = False) -> list[Finding]:
        findings = await super().check(re.sub(r"\r(?!\n)", "\n", code), declarations, loose=loose)
        return [one for one in findings if not is_set(one, code)]

    def write(self, code: str, *, loose: bool) -> str:
        """`loose` changes nothing: only literals of the code itself are held against a call anyway."""
        return code

    def read(self, code: Any, message: str) -> tuple[str, str] | None:
        """Without the paragraphs that follow: they explain ty's settings."""
        message = message.partition("\n\n")[0]
        return None if runs_anyway(message) else (str(code)[:80], message)


def is_set(finding: Finding, code: str) -> bool:
    """Whether it misses an attribute that the code itself gives to an object, which no class declares."""
    match = re.search(r"has no attribute `(\w+)`", finding.message)
    return match is not None and re.search(rf"\.{match[1]}\s*+=(?!=)", code) is not None


def find_program() -> Program | None:
    from importlib.metadata import version

    try:
        from ty import find_ty_bin

        path = Path(find_ty_bin())
    except (ImportError, FileNotFoundError):
        return None
    return Program(
        path=path,
        version=f"ty {version('ty')}",
        arguments=("server",),
        project=PROJECT,
        readable=tuple(map(Path, LIBRARIES)),
        environment=ENVIRONMENT,
        language="python",
        declarations="executor_tools.pyi",
        main="main.py",
        options=OPTIONS,
    )

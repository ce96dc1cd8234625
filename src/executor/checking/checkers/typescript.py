"""Checks TypeScript with TypeScript's own native checker."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from executor.checking.checkers.language_server import PROJECTS, Program
from executor.checking.checkers.server_checker import ServerChecker
from executor.checking.source import typescript_wrapper

NATIVE = Path(__file__).parents[1] / "native"
ENVIRONMENT = {"LANG": "C.UTF-8", "GOMAXPROCS": "2", "GOMEMLIMIT": "384MiB", "GOGC": "60", "GOTRACEBACK": "none"}


class TypeScriptChecker(ServerChecker):
    language: ClassVar[str] = "TypeScript"
    head_lines: ClassVar[int] = typescript_wrapper.HEAD_LINES

    def find_program(self) -> Program | None:
        return find_program()

    def write(self, code: str, *, loose: bool) -> str:
        return typescript_wrapper.wrap(code, loose=loose)

    def read(self, code: Any, message: str) -> tuple[str, str]:
        return f"TS{int(code)}", message


def find_program() -> Program | None:
    package = NATIVE / "package.txt"
    tsc = next((path for path in (NATIVE / "tsc", NATIVE / "tsc.exe") if path.is_file()), None)
    if tsc is None or not package.is_file():
        return None
    return Program(
        path=tsc,
        version=package.read_text(encoding="ascii").split()[0].rpartition("/")[2],
        arguments=("--lsp", "--stdio"),
        project=PROJECTS / "typescript",
        readable=(NATIVE,),
        environment=ENVIRONMENT,
        language="typescript",
        declarations="tools.d.ts",
        main="main.ts",
    )

"""Checks Python with `ty`. The code is read as it is; `tools` and `ToolError` are built-in names of its project."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, ClassVar

from executor.checking.checkers.language_server import PROJECTS, Program
from executor.checking.checkers.server_checker import ServerChecker
from executor.checking.diagnostics import Finding

PROJECT = PROJECTS / "python"
LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache")
# The settings of whoever runs the daemon are not looked for.
ENVIRONMENT = {"LANG": "C.UTF-8", "TY_MAX_PARALLELISM": "1", "XDG_CONFIG_HOME": str(PROJECT)}
OPTIONS = {"completions": {"autoImport": False}, "diagnosticMode": "openFilesOnly"}
_TOOL = r"Argument to bound method `tools_\w+\.__call__` is incorrect: "
# What the sandbox writes as JSON by itself, see docs/runtimes.md.
_CONVERTED = (
    r"(?:date|datetime|time|timedelta|Decimal|Fraction|UUID|PurePath|Path|PosixPath|IPv4Address|IPv6Address|bytes|range"
    r"|(?:set|frozenset|tuple|deque|dict_keys|dict_values|dict_items|GeneratorType|Generator|map|filter|zip|reversed"
    r"|defaultdict|OrderedDict|Counter|ChainMap|SimpleNamespace|MappingProxyType)(?:\[.*\])?)"
)
# What a check can't know, or what runs here although it is not well typed.
_ALLOWED = re.compile(
    # `return`, `await`, `async for`, `async with` and comprehensions with them work at the top
    r"`return` statement outside of a function|.*outside of an asynchronous function"
    # any error may be a ToolError
    r"|Object of type `\w*(?:Exception|Error)` has no attribute `(?:code|status|message|details|retryable|hint)`"
    # which packages there are is settled when Executor is built
    r"|Cannot resolve imported module `"
    # what may be None usually isn't
    r"|Object of type `None` is not assignable|Cannot subscript object of type `None`"
    r"|Object of type `None` is not iterable|Object of type `[^`]* \| None` (?:is not|may not be) iterable"
    r"|.*Operator `[^`]*` is not supported between objects of type .*\bNone\b"
    # what the library's functions of many forms make of values without a type is often guessed wrong
    r"|No overload of "
    rf"|(?!{_TOOL})Argument to .* is incorrect: Expected .*, found `[^`]* \| "
    r"|Argument to .* is incorrect: Expected .*, found `[^`]*\bUnknown\b"
    rf"|{_TOOL}Expected .*, found `{_CONVERTED}`"
)


class PythonChecker(ServerChecker):
    language: ClassVar[str] = "Python"

    def find_program(self) -> Program | None:
        return find_program()

    async def check(self, code: str, declarations: str, *, loose: bool = False) -> list[Finding]:
        return await super().check(re.sub(r"\r(?!\n)", "\n", code), declarations, loose=loose)

    def write(self, code: str, *, loose: bool) -> str:
        """`loose` changes nothing: only literals of the code itself are held against a call anyway."""
        return code

    def read(self, code: Any, message: str) -> tuple[str, str] | None:
        """Without the paragraphs that follow: they explain rules and settings."""
        message = message.partition("\n\n")[0]
        return None if _ALLOWED.match(message) else (str(code)[:80], message)


def find_program() -> Program | None:
    try:
        from ty import find_ty_bin

        path, found = Path(find_ty_bin()), version("ty")
    except (ImportError, FileNotFoundError, PackageNotFoundError):
        return None
    return Program(
        path=path,
        version=f"ty {found}",
        arguments=("server",),
        project=PROJECT,
        readable=tuple(map(Path, LIBRARIES)),
        environment=ENVIRONMENT,
        language="python",
        declarations="executor_tools.pyi",
        main="main.py",
        options=OPTIONS,
    )

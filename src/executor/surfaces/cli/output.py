"""What the CLI prints: results on standard output, everything else on standard error, readable without colour."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from executor.errors import ExecutorError
from executor.surfaces.cli.exit_codes import code_of
from executor.surfaces.escape import escape, is_plain, quote_lines

CELL = 80
# What JSON lets through and a terminal may act on.
_DOUBTFUL = re.compile(r"[^\x20-\x7e\n]")


def json_text(value: Any, *, indent: int | None = 2) -> str:
    return safe_json(json.dumps(value, ensure_ascii=False, indent=indent))


def safe_json(text: str) -> str:
    """The same JSON, with nothing in it that a terminal would act on."""
    return _DOUBTFUL.sub(lambda match: char if is_plain(char := match[0]) else json.dumps(char)[1:-1], text)


def emit(text: str) -> None:
    """A result. Ends in one newline, and reaches the pipe before anything that follows on standard error."""
    sys.stdout.write(text.rstrip("\n") + "\n")
    sys.stdout.flush()


def emit_json(value: Any) -> None:
    emit(json_text(value))


def emit_result(value: Any, text: str, as_json: bool) -> None:
    emit(json_text(value) if as_json else text)


def emit_page(
    page: Mapping[str, Any],
    columns: Mapping[str, str],
    as_json: bool,
    *,
    rows: Iterable[Mapping[str, Any]] | None = None,
    empty: str = "",
    more: str = "--before",
) -> None:
    """A list as the API answers it. `rows` are its items as the table shows them, `more` is the option for the rest."""
    if as_json:
        emit_json(page)
        return
    if empty and not page["items"]:
        say(empty)
    else:
        emit(table(page["items"] if rows is None else rows, columns))
    if page.get("next"):
        say(f"more: {more} {clean(page['next'])}")


def say(text: str = "") -> None:
    """Anything that is not the result: progress, prompts, hints."""
    print(text, file=sys.stderr, flush=True)


def clean(value: Any) -> str:
    """Remote text on one line."""
    return escape(str(value))


def clean_lines(value: Any) -> str:
    """Remote text that may have several lines, where nothing of ours is beside it."""
    return escape(str(value), keep="\n")


def quote_remote(value: Any) -> str:
    """Remote text after words of ours: of several lines those after the first are marked, so that none can pose."""
    return quote_lines(clean_lines(value))


def table(rows: Iterable[Mapping[str, Any]], columns: Mapping[str, str]) -> str:
    """`columns` maps a field to its heading; the last column may be as wide as it likes."""
    lines = [list(columns.values())]
    lines += [[clean(_cell(row.get(field))) for field in columns] for row in rows]
    last = len(columns) - 1
    lines = [[cell if at == last else _cut(cell) for at, cell in enumerate(line)] for line in lines]
    widths = [max(len(line[at]) for line in lines) for at in range(len(columns))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def count(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def facts(pairs: Sequence[tuple[str, Any]]) -> str:
    shown = [(name, clean(_cell(value))) for name, value in pairs if value not in (None, "", [], {})]
    width = max((len(name) for name, _ in shown), default=0)
    return "\n".join(f"{name.ljust(width)}  {value}" for name, value in shown)


def show_error(error: ExecutorError) -> None:
    say(f"error: {quote_remote(error.message)}")
    if error.hint:
        say(f"hint: {quote_remote(with_flags(with_program(error.hint)))}")


def error_object(error: ExecutorError) -> dict[str, Any]:
    return {"code": code_of(error), "message": error.message, "hint": with_flags(error.hint), **error.details}


def program() -> str:
    """How the reader can call us again: the name in hints must be one that can be pasted into a shell."""
    if program_name := os.environ.get("EXECUTOR_PROGRAM"):
        return shlex.quote(program_name)
    started = sys.argv[0]
    if started.endswith("__main__.py"):
        return f"{shlex.quote(sys.executable)} -m executor"
    import shutil

    found = shutil.which("executor")
    same = found is not None and os.path.realpath(found) == os.path.realpath(started)
    return "executor" if same else shlex.quote(started)


def with_program(text: str) -> str:
    """Hints name commands as `executor …`; here they become what works for this reader."""
    return text.replace("`executor ", f"`{program()} ")


# Hints name fields of the API; this is what the reader of a terminal passes instead.
OPTIONS = {
    "allowServer": "--allow-server",
    "baseUrl": "--base-url",
    "clientId": "--client-id",
    "confirmServers": "--confirm-server",
    "consent": "--yes",
    "cwd": "--cwd",
    "drop": "--yes",
    "force": "--force",
    "inheritRules": "--inherit-rules",
    "kind": "--kind",
    "name": "--name",
    "namespace": "--namespace",
    "replace": "--replace",
    "repository": "--repository",
    "scopes": "--scope",
    "unixUser": "--unix-user",
}
_FIELD = re.compile(r"`(?:variables\.([^`\s]+)|([A-Za-z]+))`")


def with_flags(text: str) -> str:
    def flag(match: re.Match[str]) -> str:
        return f"--variable {match[1]}=VALUE" if match[1] else OPTIONS.get(match[2], match[0])

    return _FIELD.sub(flag, text)


def interactive() -> bool:
    """Someone can read the prompt and answer it."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (dict, list)):
        return json_text(value, indent=None)
    return "" if value is None else value


def _cut(cell: str) -> str:
    return cell if len(cell) <= CELL else cell[: CELL - 1] + "…"

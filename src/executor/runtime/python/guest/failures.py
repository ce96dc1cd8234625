"""Why a program ended: code, message, hint, line and column as the user wrote them."""

from __future__ import annotations

import json
import traceback
from types import TracebackType
from typing import Any

from host import failure_line
from source import FILE
from tools import ToolError
from values import Flaw

_MOST_STACK, _MOST_MESSAGE, _MOST_ERRORS = 16_000, 8_000, 100
_OWN, _LIBRARY = "/0/", "/python/"  # where the driver and the library lay when the image was built
_CARRIED = 64_000
# Which classes of the code can't replace.
_name_of = type.__dict__["__name__"].__get__
_traceback_of = BaseException.__dict__["__traceback__"].__get__


def of_syntax(error: BaseException) -> str:
    if not isinstance(error, SyntaxError):
        return failure_line("syntax_error", f"the code can't be read: {error or type(error).__name__}")
    at = {"line": error.lineno, "column": max(error.offset or 1, 1)} if error.lineno else {}
    return failure_line("syntax_error", f"{error.msg}", "", at)


def of_exit(error: SystemExit) -> str:
    """`sys.exit()` ends a program without a result; with a message or a number it fails."""
    if error.code in (None, 0):
        return "vnull\n"
    return failure_line("code_error", f"SystemExit: {error.code}", "", _position(error.__traceback__))


def describe(error: BaseException, given: list[ToolError]) -> str:
    """Runs texts of the code's own classes. What they raise in turn must not hide that the program failed."""
    try:
        return of_exit(error) if isinstance(error, SystemExit) else of_error(error, given)
    except BaseException:  # noqa: BLE001 - see above
        name = str(_name_of(type(error)))
        at = _position(_traceback_of(error))
        return failure_line("code_error", name, "", {"name": name, **at})


def of_error(error: BaseException, given: list[ToolError]) -> str:
    """`given` are the errors that the host gave; only they end a program with their own code."""
    tool_error = _find_given(error, given)
    if tool_error is not None:
        return _of_tool_error(tool_error, _position(tool_error.__traceback__) or _position(error.__traceback__))
    if isinstance(error, MemoryError):
        return out_of_memory()
    at = _position(error.__traceback__)
    is_large = _is_large(error)
    stack = _own_stack(error) if is_large else _stack(error)
    details = {"name": _name_of(type(error)), **at, "stack": stack}
    return failure_line("code_error", _own_message(error) if is_large else _message(error), "", details)


def _find_given(error: BaseException, given: list[ToolError]) -> ToolError | None:
    """The error itself, or the first of a group in which there is nothing else."""
    found: list[ToolError] = []
    waiting = [error]
    while waiting:
        one = waiting.pop()
        if isinstance(one, BaseExceptionGroup):
            waiting += reversed(one.exceptions)
        elif any(one is known for known in given):
            found.append(one)  # type: ignore[arg-type]
        else:
            return None
    return found[0]


def _is_large(error: BaseException) -> bool:
    """Are more errors linked with it, as causes or in groups, than anyone would read?"""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting and len(seen) <= _MOST_ERRORS:
        one = waiting.pop()
        if one is not None and id(one) not in seen:
            seen.add(id(one))
            waiting += (one.__cause__, one.__context__)
            if isinstance(one, BaseExceptionGroup):
                waiting += one.exceptions
    return len(seen) > _MOST_ERRORS


def _of_tool_error(error: ToolError, at: dict[str, int]) -> str:
    details = {"status": error.status, "details": error.details, "retryable": error.retryable}
    try:
        if len(json.dumps(details)) > _CARRIED:
            details["details"] = None
    except (TypeError, ValueError):
        details = {}
    return failure_line(str(error.code), str(error.message), str(error.hint), {**details, **at})


def _message(error: BaseException) -> str:
    try:
        shown = "".join(traceback.format_exception_only(error)).strip()
    except Exception:  # noqa: BLE001 - of a class whose own text fails
        shown = str(_name_of(type(error)))
    return shown.removeprefix("__main__.")[:_MOST_MESSAGE]


def _own_message(error: BaseException) -> str:
    return f"{_name_of(type(error))}: {error}"[:_MOST_MESSAGE]


def _position(trace: TracebackType | None) -> dict[str, int]:
    """Of the innermost frame in the submitted code."""
    found: dict[str, int] = {}
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename == FILE:
            column = _column(code, trace.tb_lasti)
            found = {"line": trace.tb_lineno or 1, "column": column + 1}
        trace = trace.tb_next
    return found


def _column(code: Any, at: int) -> int:
    for index, place in enumerate(code.co_positions()):
        if index * 2 == at:
            return place[2] or 0
    return 0


def _stack(error: BaseException) -> str:
    try:
        shown = traceback.TracebackException.from_exception(error, compact=True)
        _drop_own(shown)
        return "".join(shown.format()).replace(f'"{_LIBRARY}', '"')[-_MOST_STACK:]
    except Exception:  # noqa: BLE001 - a stack that can't be shown must not hide the error
        return ""


def _own_stack(error: BaseException) -> str:
    """Without the errors that led to it."""
    kept = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith(_OWN)]
    lines = ["Traceback (most recent call last):\n", *traceback.StackSummary.from_list(kept).format()]
    return "".join(lines).replace(f'"{_LIBRARY}', '"')[-_MOST_STACK:]


def _drop_own(shown: traceback.TracebackException | None) -> None:
    """Frames of this driver mean nothing to the author of the code."""
    while shown is not None:
        kept = [frame for frame in shown.stack if not frame.filename.startswith(_OWN)]
        shown.stack = traceback.StackSummary.from_list(kept)
        for one in shown.exceptions or ():
            _drop_own(one)
        shown = shown.__cause__ or shown.__context__


def out_of_memory() -> str:
    return failure_line("memory_limit", "the code used more memory than it may", "keep less in memory at once")


def unserializable(flaw: Flaw) -> str:
    message = f"the result can't be written as JSON: {flaw.place} is {flaw.what}"
    return failure_line("unserializable_result", message, flaw.hint, {"path": flaw.place})


def too_large(most: int) -> str:
    hint = "return only what is needed, for example a count or the first items"
    return failure_line("output_limit", f"the result is larger than {most} bytes", hint)

"""Why a program ended, in the words of every runtime: code, message, hint, line and column as the user wrote them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import orjson
from pydantic_monty import MontyError, MontyRuntimeError, MontySyntaxError

from executor.runtime.python.hints import advice
from executor.runtime.python.json_writer import Flaw
from executor.runtime.python.tool_error_fields import Rewritten

_MOST = {"code": 100, "message": 8000, "hint": 2000, "stack": 16000, "carried": 64000}
_INPUT = re.compile(r"<python-input-\d+>")
_PARSER = "The monty syntax parser does not yet support "
_FIELDS = ("status", "details", "retryable")


def failure_line(code: str, message: str, hint: str = "", details: Mapping[str, Any] | None = None) -> bytes:
    """`f{…}` of a reply."""
    failure = {
        "code": code[: _MOST["code"]],
        "message": message[: _MOST["message"]],
        "hint": hint[: _MOST["hint"]],
        "details": dict(details or {}),
    }
    return b"f" + orjson.dumps(failure) + b"\n"


def of_error(error: MontyError, code: Rewritten, given: dict[str, dict[str, Any]], file: str) -> bytes:
    """`given` are the tool errors that the host gave, by their message; only they end a program with their own code."""
    shown = error.display("type-msg") if isinstance(error, MontyRuntimeError | MontySyntaxError) else str(error)
    at = _position(error, code, file)
    if isinstance(error, MontySyntaxError):
        message = shown.partition(": ")[2] or shown
        return failure_line("syntax_error", message, advice(shown), at)
    if not isinstance(error, MontyRuntimeError):
        return failure_line("code_error", shown, "", at)
    if shown.startswith("_csv.Error: ") and (fields := given.get(shown.removeprefix("_csv.Error: "))) is not None:
        return _of_tool_error(fields, at)
    if limit := _limit(shown):
        return limit
    if _PARSER in shown:
        what = shown.partition(_PARSER)[2]
        return failure_line("syntax_error", f"Python here does not have {what}", advice(shown), at)
    name = shown.partition(":")[0]
    shown = shown.replace("_csv.Error: ", "ToolError: ", 1)
    stack = code.restore_text(_INPUT.sub("main.py", error.display("traceback")))
    details = {"name": name, **at, "stack": stack[: _MOST["stack"]]}
    return failure_line("code_error", shown, advice(shown), details)


def _limit(shown: str) -> bytes | None:
    if shown.startswith("MemoryError"):
        return failure_line("memory_limit", "the code exceeded its memory limit", "keep less in memory at once")
    return None


def _of_tool_error(fields: dict[str, Any], at: dict[str, int]) -> bytes:
    details = {name: fields.get(name) for name in _FIELDS}
    if len(orjson.dumps(details)) > _MOST["carried"]:
        details["details"] = None
    code, message, hint = (str(fields.get(name) or "") for name in ("code", "message", "hint"))
    return failure_line(code or "tool_error", message, hint, {**details, **at})


def _position(error: MontyError, code: Rewritten, file: str) -> dict[str, int]:
    """Of the innermost frame in the submitted code."""
    if not isinstance(error, MontyRuntimeError | MontySyntaxError):
        return {}
    for frame in reversed(error.traceback()):
        if frame.filename == file:
            return {"line": frame.line, "column": code.column(frame.line, frame.column)}
    return {}


def unserializable(flaw: Flaw) -> bytes:
    path = f"$.{flaw.path.lstrip('.')}" if flaw.path.startswith(".") else f"${flaw.path}"
    path = path if len(path) <= 200 else path[:200] + "…"
    message = f"the result can't be converted to JSON: {path} is {flaw.what}"
    return failure_line("unserializable_result", message, flaw.hint, {"path": path})


def too_large(most: int) -> bytes:
    hint = "return only what is needed, for example a count or the first items"
    return failure_line("output_limit", f"the result is larger than {most} bytes", hint)


def too_many_calls(most: int) -> bytes:
    hint = "make fewer calls, or raise the limit on calls of this execution"
    return failure_line("call_limit", f"the code made more than {most} calls", hint)

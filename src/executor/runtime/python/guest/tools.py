"""`tools` as the code sees it: names without end, each of which can be called, and the errors that calls give."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import values

if TYPE_CHECKING:
    from host import Host
    from loop import Loop

_LONGEST_PATH = 1000


class ToolError(Exception):
    """A call failed. `str(error)` is its message."""

    def __init__(
        self, message: str = "", *, code: str = "tool_error", status: Any = None, details: Any = None,
        retryable: bool = False, hint: str = "",
    ) -> None:  # fmt: skip
        super().__init__(message)
        self.message, self.code, self.status = str(message), code, status
        self.details, self.retryable, self.hint = details, retryable, hint


ToolError.__module__ = "builtins"  # shown without a module, as it is known to the code


class Call(asyncio.Future[Any]):
    """What a call gives: awaited at once or later. It is on its way as soon as it is written."""

    def __repr__(self) -> str:
        return f"<call {'done' if self.done() else 'not awaited yet'}>"


class Bridge:
    """Makes calls of what the code writes, and gives them their answers."""

    def __init__(self, host: Host, loop: Loop) -> None:
        self._host, self._loop = host, loop
        self._calls: dict[int, Call] = {}
        self.given: list[ToolError] = []  # by the host; only these end a program with their own code

    def call(self, path: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        if path == "" and args and isinstance(args[0], str):  # tools("namespace._name", …)
            path, args = args[0], args[1:]
        if not 0 < len(path) <= _LONGEST_PATH:
            raise TypeError('tools is not a function: name a tool, like tools.discover(query="...")')
        text = self._write(path, _argument(path, args, kwargs))
        call = Call(loop=self._loop)
        self._calls[self._host.propose_call(path, text)] = call
        return call

    def _write(self, path: str, argument: dict[Any, Any]) -> str:
        try:
            return values.write(argument, self._host.room, strict=True)
        except values.Flaw as flaw:
            what = f"tools.{path}: the argument at {flaw.place} is {flaw.what}, which JSON can't carry"
            raise TypeError(f"{what}: {flaw.hint}") from None
        except RecursionError:
            raise TypeError(f"tools.{path}: the arguments are nested too deeply") from None
        except values.TooLarge:
            raise ValueError(f"tools.{path}: the arguments are too large") from None

    def deliver(self, seq: int, succeeded: bool, text: str) -> None:
        call = self._calls.pop(seq, None)
        if call is None or call.done():
            return
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            call.set_exception(ValueError("the result is nested too deeply to be read"))
            return
        if succeeded:
            call.set_result(value)
        else:
            call.set_exception(self._error(value))
            call._log_traceback = False  # it need not be read

    def _error(self, fields: dict[str, Any]) -> ToolError:
        error = ToolError(
            str(fields.get("message") or ""),
            code=str(fields.get("code") or "tool_error"),
            status=fields.get("status"),
            details=fields.get("details"),
            retryable=bool(fields.get("retryable")),
            hint=str(fields.get("hint") or ""),
        )
        self.given.append(error)
        return error


class Tool:
    """A path. Whether there is such a tool shows in a call."""

    def __init__(self, bridge: Bridge, path: str) -> None:
        self.__bridge, self.__path = bridge, path

    def __getattr__(self, name: str) -> Tool:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(f"'Tool' object has no attribute '{name}'")
        return self[name]

    def __getitem__(self, name: str) -> Tool:
        if not isinstance(name, str):
            raise TypeError("name a tool by text: tools['namespace']['name']")
        path = f"{self.__path}.{name}" if self.__path else name
        if len(path) > _LONGEST_PATH:
            raise AttributeError(f"the name of a tool has at most {_LONGEST_PATH} characters")
        return Tool(self.__bridge, path)

    def __iter__(self) -> Any:
        raise TypeError("tools can't be listed: find them with `await tools.discover(query='...')`")

    def __call__(self, *args: Any, **kwargs: Any) -> Call:
        return self.__bridge.call(self.__path, args, kwargs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tool) and other.__path == self.__path

    def __hash__(self) -> int:
        return hash(self.__path)

    def __repr__(self) -> str:
        return f"<tool {self.__path}>" if self.__path else "<tools>"


def error_of(error: Any) -> Any:
    """The error itself: it has all its fields."""
    return error


def _argument(path: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[Any, Any]:
    if not args:
        return kwargs
    if kwargs or len(args) > 1 or not isinstance(args[0], dict):
        given = f"{len(args)} positional" + (" and keyword" if kwargs else "")
        what = type(args[0]).__name__ if len(args) == 1 and not kwargs else f"{given} arguments"
        raise TypeError(f"tools.{path} takes keyword arguments or one dict; it got {what}")
    return args[0]

"""`executor mcp`: MCP over standard input and output, each message carried to `/mcp` of the daemon, or to a toolkit's.

Clients wait for the first answer, some of them for one second. So this imports neither the SDK nor asyncio, and
answers a client's opening messages itself when no daemon answers them at once. Standard output belongs to the
protocol.
"""

from __future__ import annotations

import json
import os
import select
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any, BinaryIO

from executor.daemon import control
from executor.daemon.control import Running
from executor.errors import DaemonUnreachable, ExecutorError
from executor.settings import Settings
from executor.surfaces.http.client import Answer, Connection, WireError
from executor.surfaces.http.mcp_paths import TOOLKITS
from executor.surfaces.mcp.session import new_session
from executor.surfaces.mcp.stdio_request import CALL, Request, response

CANCELLED = "notifications/cancelled"
OPENING_SECONDS = 0.15  # then the answer is given here: a client must never wait for a busy daemon to show its tools
ANSWER_SECONDS = 80.0  # the daemon answers a call after 50
POLL_SECONDS = 0.05
PARSE_ERROR, INTERNAL_ERROR = -32700, -32603

Credential = Callable[[], dict[str, str]]


class Refused(ExecutorError):
    """A problem the daemon answered with; `code` is the daemon's."""

    def __init__(self, problem: dict[str, Any], status: int) -> None:
        message = str(problem.get("detail") or f"the daemon answered with status {status}")
        super().__init__(message, hint=str(problem.get("hint") or ""))
        self.code = str(problem.get("code") or "internal")  # type: ignore[misc]  # this one's code is not its own
        if self.code == "unauthorized":
            self.hint = "ask the user to run `executor connect` for this client again: its token is no longer valid"


class Bridge:
    """One thread reads; each request has a thread and a connection of its own until it is answered.

    `credential` gives the headers that say who asks. Only the daemon knows the tools of a `toolkit`.
    """

    def __init__(self, settings: Settings, credential: Credential, output: BinaryIO, toolkit: str = "") -> None:
        self._path = f"{TOOLKITS}{toolkit}" if toolkit else "/mcp"
        self._is_narrowed = bool(toolkit)
        self._settings = settings
        self._credential = credential
        self._output = output
        self._writing = threading.Lock()
        self._under_way: set[Request] = set()
        self._version = ""  # that `initialize` agreed on
        # Clients count their requests from the same number: this distinguishes their cancellations.
        self._session = new_session({})

    def serve(self, lines: Iterable[bytes]) -> None:
        for line in lines:
            if line.strip():
                self._take(line.strip())
        self._finish()

    def _take(self, line: bytes) -> None:
        try:
            request = Request(line)
        except ValueError:
            self._write(response(None, error={"code": PARSE_ERROR, "message": "this line is not JSON"}))
            return
        if request.method == CANCELLED:
            self._cancel(request)
        elif not request.is_notification:  # the others mean nothing to a server without sessions
            if request.method == "initialize" and (opened := request.opening("")):
                self._version = opened["protocolVersion"]  # before the next message is read
                self._session = new_session(request.params)
            self._start(request)

    def _start(self, request: Request) -> None:
        self._under_way.add(request)
        threading.Thread(target=self._answer, args=(request,), daemon=True).start()

    def _cancel(self, notification: Request) -> None:
        """A cancelled request has no answer, whatever the daemon makes of the cancellation."""
        number = notification.params.get("requestId")
        for request in list(self._under_way):
            if request.id == number and type(request.id) is type(number):
                request.is_cancelled = True
                self._under_way.discard(request)
                self._start(notification)

    def _answer(self, request: Request) -> None:
        try:
            for reply in self._replies(request):
                if request.expects_answer and not request.is_cancelled:
                    self._write(reply)
        except BrokenPipeError:
            return  # no one reads it now
        except ExecutorError as error:
            self._refuse(request, error)
        except Exception:  # noqa: BLE001 - the edge: every request is answered, and standard error has the reason
            traceback.print_exc()
            self._refuse(request, ExecutorError("`executor mcp` failed", hint="see its standard error"))
        finally:
            self._under_way.discard(request)

    def _replies(self, request: Request) -> Iterator[bytes]:
        opening = request.opening(self._version)
        if opening is None or (self._is_narrowed and request.method == "tools/list"):
            yield from self._carry(request)
        else:
            yield self._quick(request) or response(request.id, result=opening)

    def _quick(self, request: Request) -> bytes | None:
        """From a daemon that runs and is not busy; its answer also names what is connected."""
        try:
            running = control.find(self._settings)
            return next(self._exchange(request, running, OPENING_SECONDS), None) if running else None
        except (OSError, WireError, ExecutorError):
            return None

    def _carry(self, request: Request) -> Iterator[bytes]:
        """A daemon that went away is started again and asked again: a submission has a key, so it is never a second
        execution."""
        for is_last in (False, True):
            running = self._ensure()
            if request.is_cancelled:
                return
            try:
                yield from self._exchange(request, running, ANSWER_SECONDS)
                return
            except (OSError, WireError) as error:
                if is_last or isinstance(error, TimeoutError):
                    raise _lost_error(error) from error
                if isinstance(error, ConnectionRefusedError):
                    self._wait_for_end(running)

    def _exchange(self, request: Request, running: Running, seconds: float) -> Iterator[bytes]:
        connection = Connection(running.host, running.port, seconds)
        try:
            headers = {**request.headers(self._version), "Mcp-Session-Id": self._session, **self._credential()}
            answer = connection.follow("POST", self._path, headers, request.body, seconds=seconds)
            if not isinstance(answer, Answer):
                yield from request.replies_in(answer)
            elif reply := request.reply_in(answer.body):
                yield reply
            elif answer.status >= 400:
                raise _refusal_in(answer)
            elif request.expects_answer:
                raise WireError("the response is not a message")
        finally:
            connection.close()

    def _ensure(self) -> Running:
        """An agent need not know where this installation keeps its files: its user reads that on standard error."""
        try:
            return control.ensure(self._settings, _say)
        except ExecutorError as error:
            _say(f"{error.message}; {error.hint}")
            hint = "ask the user to run `executor doctor`"
            raise DaemonUnreachable("Executor can't be started on this machine", hint=hint) from error

    def _wait_for_end(self, running: Running) -> None:
        """One that refuses connections is on its way out, and holds the data directory until it is gone."""
        deadline = time.monotonic() + control.STOP_SECONDS
        while control.find(self._settings) == running and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)

    def _refuse(self, request: Request, error: ExecutorError) -> None:
        if request.is_cancelled or not request.expects_answer:
            return
        with suppress(BrokenPipeError):
            if request.method != CALL:
                problem = {"code": INTERNAL_ERROR, "message": error.message, "data": {"hint": error.hint}}
                self._write(response(request.id, error=problem))
                return
            from executor.surfaces.mcp.results.tool_results import result_of_error

            result = result_of_error(error)
            if not request.is_modern:
                result.pop("resultType", None)
            self._write(response(request.id, result=result))

    def _write(self, message: bytes) -> None:
        with self._writing:
            self._output.write(message + b"\n")
            self._output.flush()

    def _finish(self) -> None:
        """No more input: what is under way is still answered, as long as someone reads."""
        readers = select.poll()
        readers.register(self._output.fileno(), 0)  # only errors: the reader is gone
        while self._under_way and not readers.poll(POLL_SECONDS * 1000):
            pass


def main(settings: Settings, credential: Credential, toolkit: str = "") -> None:
    Bridge(settings, credential, sys.stdout.buffer, toolkit).serve(sys.stdin.buffer)
    sys.stdout.flush()
    os._exit(0)  # threads that no one waits for are not joined


def _refusal_in(answer: Answer) -> Refused:
    try:
        problem = json.loads(answer.body)
    except ValueError:
        problem = None
    return Refused(problem if isinstance(problem, dict) else {}, answer.status)


def _lost_error(error: Exception) -> DaemonUnreachable:
    why = "did not answer in time" if isinstance(error, TimeoutError) else "disconnected"
    return DaemonUnreachable(
        f"the daemon {why}", hint="`executor executions list` shows whether the code started; if so, it keeps running"
    )


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)

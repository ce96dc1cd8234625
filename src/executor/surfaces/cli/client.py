"""The CLI's way to `/v1`: to the daemon that holds this data directory's lock, and to no one else."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from executor.daemon import control
from executor.daemon.control import Running
from executor.daemon.local_credential import token, workspace_header
from executor.errors import DaemonUnreachable, ExecutorError
from executor.settings import Settings
from executor.surfaces.cli.output import say
from executor.surfaces.http.client import Answer, Connection, WireError

if TYPE_CHECKING:
    from websockets.sync.client import ClientConnection

ANSWER_SECONDS = 120.0
# By the code of a refusal, if the variable decides who is asking.
TOKEN_HINTS = {
    "unauthorized": "EXECUTOR_TOKEN is unknown, expired or revoked; unset or replace it",
    "forbidden": "EXECUTOR_TOKEN decides who you are here: a token of an agent or a key can't do what a person can",
}


class Refused(ExecutorError):
    """The daemon answered with a problem; `reported` is its code there."""

    def __init__(self, problem: Mapping[str, Any], status: int) -> None:
        known = ("type", "title", "status", "detail", "code", "hint", "instance")
        details = {str(name): value for name, value in problem.items() if name not in (*known, "message")}
        message = str(problem.get("detail") or problem.get("title") or f"the daemon answered with status {status}")
        self.reported = str(problem.get("code") or "internal")
        hint = TOKEN_HINTS.get(self.reported) if os.environ.get("EXECUTOR_TOKEN") else None
        super().__init__(message, hint=hint or str(problem.get("hint") or ""), **details)


class Client:
    """One connection at a time, kept open between requests. `restarts` if a daemon that is gone is started again."""

    def __init__(self, settings: Settings, running: Running, token: str, *, restarts: bool = False) -> None:
        self.settings = settings
        self.running = running
        self.restarts = restarts
        self._token = token
        self._connection: Connection | None = None

    def get(self, path: str, *, seconds: float = ANSWER_SECONDS, **query: Any) -> Any:
        given = {name: value for name, value in query.items() if value not in (None, "", [], ())}
        return self.request("GET", f"{path}?{urlencode(given, doseq=True)}" if given else path, seconds=seconds)

    def post(
        self, path: str, body: Mapping[str, Any] | None = None, *, seconds: float = ANSWER_SECONDS, key: str = ""
    ) -> Any:
        """With an idempotency `key` it may be sent again when no one answered."""
        return self.request("POST", path, body or {}, seconds=seconds, key=key)

    def patch(self, path: str, body: Mapping[str, Any]) -> Any:
        return self.request("PATCH", path, body)

    def delete(self, path: str) -> Any:
        return self.request("DELETE", path)

    def lines(self, path: str, *, seconds: float = ANSWER_SECONDS, accept: str = "*/*") -> Iterator[str]:
        """An answer of lines as they come; `seconds` are for each silence."""
        with self._reach(seconds, once=True) as connection:
            headers = self._headers({"Accept": accept})
            answer = connection.follow("GET", path, headers, None, seconds=seconds)
            if isinstance(answer, Answer):
                _value(answer)
                raise WireError("the response is not a stream")
            yield from (line.decode() for line in answer)

    def open_socket(self, path: str) -> ClientConnection:
        """A WebSocket. What it needs takes long to import, and few commands need it."""
        from websockets.exceptions import InvalidStatus
        from websockets.sync.client import connect as open_socket

        address = f"{self.running.base_url.replace('http', 'ws', 1)}{path}"
        try:
            return open_socket(address, additional_headers=self._headers(), compression=None, max_size=None, proxy=None)
        except InvalidStatus as error:
            _value(Answer(error.response.status_code, bytes(error.response.body or b"")))
            raise WireError("the response is not a WebSocket") from None

    def raw(self, path: str, *, seconds: float = ANSWER_SECONDS) -> Answer:
        """An answer as it came, with its headers."""
        with self._reach(seconds) as connection:
            answer = connection.request("GET", path, self._headers(), None, seconds=seconds)
        if answer.status >= 400:
            _value(answer)
        return answer

    def request(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        seconds: float = ANSWER_SECONDS,
        key: str = "",
    ) -> Any:
        headers = self._headers({"Accept": "application/json"})
        if key:
            headers["Idempotency-Key"] = key
        content = None
        if body is not None:
            content = _encode(body)
            headers["Content-Type"] = "application/json"
        with self._reach(seconds) as connection:
            return _value(connection.request(method, path, headers, content, seconds=seconds))

    def follow(
        self,
        path: str,
        body: Mapping[str, Any],
        *,
        progress: Callable[[str], None],
        seconds: float = ANSWER_SECONDS,
        method: str = "POST",
    ) -> Any:
        """Ask for something that takes long and reports its progress; `seconds` are for each silence."""
        headers = self._headers({"Accept": "text/event-stream", "Content-Type": "application/json"})
        with self._reach(seconds, once=True) as connection:
            answer = connection.follow(method, path, headers, _encode(body), seconds=seconds)
            return _value(answer) if isinstance(answer, Answer) else _follow(answer, progress)

    def _headers(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._token}", **(more or {}), **workspace_header()}

    @contextmanager
    def _reach(self, seconds: float, *, once: bool = False) -> Iterator[Connection]:
        """The connection, closed after something that goes wrong, and after what it can be used for only `once`."""
        try:
            yield self._connect(seconds)
        except (OSError, WireError) as error:
            once = True
            raise self._lost_error(error) from error
        finally:
            if once:
                self.close()

    def close(self) -> None:
        if self._connection:
            self._connection.close()
            self._connection = None

    def _connect(self, seconds: float) -> Connection:
        if self._connection is None or not self._connection.is_open:
            self.close()
            self._connection = self._open(seconds)
        return self._connection

    def _open(self, seconds: float) -> Connection:
        """A refused connection carried nothing, so the daemon that just ended can safely be replaced by the next."""
        try:
            return Connection(self.running.host, self.running.port, seconds)
        except ConnectionRefusedError:
            if not self.restarts:
                raise
            self.running = control.ensure(self.settings, progress=_say_progress)
            return Connection(self.running.host, self.running.port, seconds)

    def _lost_error(self, error: Exception) -> DaemonUnreachable:
        why = "did not answer in time" if isinstance(error, TimeoutError) else f"did not answer: {error}"
        return DaemonUnreachable(
            f"the daemon at {self.running.base_url} {why}",
            hint=f"`executor status` shows whether it is running; its log is {self.settings.log_file}",
        )


def segment(text: str) -> str:
    """One segment of a URL path, whatever the user typed."""
    return quote(text, safe="")


def connect(settings: Settings | None = None) -> Client:
    """To the running daemon, or to one started now."""
    settings = settings or Settings.load()
    running = control.ensure(settings, progress=_say_progress)
    return Client(settings, running, token(settings), restarts=True)


def connect_if_running(settings: Settings) -> Client | None:
    running = control.find(settings)
    return Client(settings, running, token(settings)) if running else None


def _say_progress(text: str) -> None:
    say(f"{text} …")


def _encode(body: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(body, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return json.dumps(body).encode()  # a lone surrogate has no UTF-8 form; escaped, the daemon can judge it


def _follow(lines: Iterator[bytes], progress: Callable[[str], None]) -> Any:
    kind = ""
    for line in lines:
        name, _, value = line.decode().partition(": ")
        if name == "event":
            kind = value
        elif name == "data" and kind == "progress":
            progress(json.loads(value)["text"])
        elif name == "data" and kind == "done":
            return json.loads(value)
        elif name == "data":
            problem = json.loads(value)
            raise Refused(problem, int(problem.get("status") or 500))
    raise WireError("the response ended early")


def _value(answer: Answer) -> Any:
    try:
        value = json.loads(answer.body) if answer.body else None
    except ValueError:
        value = None
    if answer.status < 400:
        return value
    raise Refused(value if isinstance(value, dict) else {}, answer.status)

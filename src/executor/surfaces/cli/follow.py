"""Follow an execution until it ends or pauses: its logs as they come, its approvals, its outcome."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from executor.errors import DaemonUnreachable
from executor.surfaces.cli import exit_codes
from executor.surfaces.cli.browser import is_for_browser, open_interaction
from executor.surfaces.cli.client import Client, connect, segment
from executor.surfaces.cli.output import (
    clean,
    clean_lines,
    emit,
    emit_json,
    interactive,
    json_text,
    program,
    quote_remote,
    say,
    with_program,
)
from executor.surfaces.cli.prompts.approval import decide_all, say_how_to_go_on
from executor.surfaces.escape import error_code

FIRST_WAIT = 1
WAIT = 20
GRACE = 30.0
RECONNECTIONS = 5
AT_REST = ("paused", "completed", "failed", "cancelled")


class ExecutionFollower:
    """`run` or `resume`, then `finish`; between them `view` is the execution as last seen."""

    def __init__(self, client: Client, *, as_json: bool, ask: bool) -> None:
        self.client = client
        self.as_json = as_json
        self.ask = ask and not as_json and interactive()
        self.interrupted = False
        self._logs_shown = 0
        self._asked: set[str] = set()

    def run(self, request: dict[str, Any]) -> dict[str, Any]:
        """Ctrl-C is held back until the daemon has sent the execution's id, so that we can say how to continue."""
        body, key = {**request, "wait": FIRST_WAIT}, os.urandom(16).hex()
        with _interrupt_held_back() as pressed:
            view = self._insist(
                lambda: self.client.post("/v1/executions", body, seconds=FIRST_WAIT + GRACE, key=key),
                "the code was submitted",
                "`executor executions list` shows whether it started",
            )
        self.interrupted = bool(pressed)
        return self._follow(view)

    def resume(self, execution_id: str) -> dict[str, Any]:
        path = f"/v1/executions/{segment(execution_id)}/resume"
        return self._follow(self.client.post(path, {"wait": 0}))

    def finish(self, view: dict[str, Any]) -> int:
        """Show the outcome; the exit code."""
        if self.interrupted and view["status"] not in AT_REST:
            _say_it_goes_on(view)
        if self.as_json:
            emit_json(view)
            return exit_codes.INTERRUPTED if self.interrupted else exit_codes.of_execution(view)
        show_diagnostics(view)
        if view["status"] == "completed":
            emit(json_text(view.get("result")))
        elif view["status"] == "paused":
            say_how_to_go_on(view, self._asked)
        elif view["status"] in AT_REST:
            show_failure(view)
        return exit_codes.INTERRUPTED if self.interrupted else exit_codes.of_execution(view)

    def _follow(self, view: dict[str, Any]) -> dict[str, Any]:
        while not self.interrupted:
            try:
                self._show_logs(view)
                if view["status"] == "paused" and self.ask:
                    pending = view.get("interactions") or []
                    self._open(one for one in pending if one["id"] not in self._asked)
                    self._asked |= {one["id"] for one in pending}
                    if not decide_all(self.client, pending):
                        break
                elif view["status"] in AT_REST:
                    break
                view = self._wait(view["executionId"])
            except KeyboardInterrupt:
                self.interrupted = True
        return view

    def _open(self, pending: Iterable[dict[str, Any]]) -> None:
        """Each once: people may settle them in the browser or here."""
        for one in pending:
            if is_for_browser(one):
                open_interaction(self.client, one)

    def _wait(self, execution_id: str) -> dict[str, Any]:
        path = f"/v1/executions/{segment(execution_id)}"
        return self._insist(
            lambda: self.client.get(path, wait=WAIT, seconds=WAIT + GRACE),
            f"execution {execution_id} was running",
            f"check it with `executor resume --execution-id {execution_id}`",
        )

    def _insist(self, ask: Callable[[], Any], meanwhile: str, hint: str) -> dict[str, Any]:
        """A daemon that dies meanwhile is started again: the journal takes the execution on from there."""
        for _ in range(RECONNECTIONS):
            try:
                view: dict[str, Any] = ask()
                return view
            except DaemonUnreachable as error:
                say(f"{clean(error.message)}; reconnecting")
                self.client = connect(self.client.settings)
        raise DaemonUnreachable(
            f"the connection to the daemon was lost {RECONNECTIONS} times while {meanwhile}",
            hint=f"its log is {self.client.settings.log_file}; {hint}",
        )

    def _show_logs(self, view: dict[str, Any]) -> None:
        logs = view.get("logs") or []
        if not self.as_json:
            for line in logs[self._logs_shown :]:
                say(f"{clean(line.get('level', 'log'))}: {quote_remote(line.get('text', ''))}")
        self._logs_shown = max(self._logs_shown, len(logs))


def _say_it_goes_on(view: dict[str, Any]) -> None:
    execution_id = clean(view["executionId"])
    say(f"\ninterrupted; execution {execution_id} keeps running")
    say(f"to see its outcome:\n  {program()} resume --execution-id {execution_id}")
    say(f"to cancel it:\n  {program()} executions cancel {execution_id}")


def show_diagnostics(view: dict[str, Any]) -> None:
    """What its type check found; of a failed one the first is reported as the failure."""
    found = (view.get("error") or {}).get("diagnostics", ())[1:] or view.get("diagnostics") or ()
    for one in found:
        say(f"{clean(one['severity'])}: line {one['line']}, column {one['column']}: {quote_remote(one['message'])}")


def signature_of(error: dict[str, Any]) -> str:
    """Of the tool that a type error is about: its first diagnostic is what the failure shows."""
    first: dict[str, Any] = next(iter(error.get("diagnostics") or ()), {})
    return str(first.get("signature") or "")


def show_failure(view: dict[str, Any]) -> None:
    error = view.get("error") or {}
    where = f" (line {error['line']}, column {error.get('column', '?')})" if error.get("line") else ""
    say(
        f"{view['status']}: {error_code(error.get('code', view['status']))}: "
        f"{quote_remote(error.get('message', ''))}{where}"
    )
    for line in clean_lines(signature_of(error)).splitlines():
        say(f"    {line}")
    if stack := error.get("stack"):
        say(f"| {quote_remote(stack)}")
    # What a denial says to an agent is nothing to the person who denied it.
    if (hint := error.get("hint")) and (error.get("code") != "denied" or os.environ.get("EXECUTOR_TOKEN")):
        say(f"hint: {quote_remote(with_program(hint))}")
    say(f"execution {clean(view['executionId'])}")


@contextmanager
def _interrupt_held_back() -> Iterator[list[int]]:
    """Once; a second Ctrl-C means it."""
    pressed: list[int] = []
    usual = signal.getsignal(signal.SIGINT)

    def note(number: int, frame: object) -> None:
        if pressed:
            raise KeyboardInterrupt
        pressed.append(number)

    signal.signal(signal.SIGINT, note)
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, usual)

"""Follow a session in the terminal: what its agent writes as it comes, its tools, and its permission requests."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

from executor.errors import DaemonUnreachable
from executor.surfaces.cli import exit_codes
from executor.surfaces.cli.client import Client, connect, segment
from executor.surfaces.cli.output import clean, clean_lines, emit_json, interactive, program, quote_remote, say
from executor.surfaces.cli.prompts.approval import decide, prompt, ways_to_decide

SILENCE = 60.0  # the daemon sends something more often than this
RECONNECTIONS = 5
ENDED = ("completed", "failed", "cancelled", "interrupted")
STARTED = ("in_progress", "completed", "failed")


class SessionFollower:
    """Text of the agent goes to standard output, everything else to standard error."""

    def __init__(self, client: Client, session_id: str, *, as_json: bool, after: int = 0) -> None:
        self._client = client
        self._session_id = session_id
        self._as_json = as_json
        self._after = after
        self._is_mid_line = False
        self._shown: dict[str, Any] = {}
        self._lengths: dict[str, int] = {}
        self._is_left = False  # a request was left to be decided elsewhere, and nothing decides it meanwhile

    def follow(self, task_id: str = "") -> None:
        """Until the task ends or needs a decision that isn't made here; without one, as long as the daemon runs."""
        attempts = 0
        while attempts < RECONNECTIONS:
            attempts += 1
            try:
                for kind, data in self._events():
                    attempts = 0
                    if self._take(kind, data, task_id) or (task_id and self._is_left):
                        return
            except DaemonUnreachable as error:
                say(f"{clean(error.message)}; reconnecting")
                self._client = connect(self._client.settings)
        raise DaemonUnreachable(
            "the connection to the daemon was lost", hint=f"run `executor sessions attach {self._session_id}`"
        )

    def _events(self) -> Iterator[tuple[str, dict[str, Any]]]:
        path = f"/v1/sessions/{segment(self._session_id)}/messages?after={self._after}"
        kind = ""
        for line in self._client.lines(path, seconds=SILENCE, accept="text/event-stream"):
            name, _, value = line.partition(": ")
            if name == "event":
                kind = value
            elif name == "data":
                data = json.loads(value)
                self._after = max(self._after, int(data.get("sequence") or 0))
                yield kind, data

    def _take(self, kind: str, data: dict[str, Any], task_id: str) -> bool:
        """Show it. True if the task has ended with it."""
        if self._as_json and not task_id and kind != "session":
            emit_json(data)
        elif kind == "append":
            self._append(data)
        elif kind == "message":
            self._show(data)
        is_mine = kind == "message" and data.get("kind") == "prompt" and data.get("id") == task_id
        if is_mine and data["data"].get("status") in ENDED:
            self._end_line()
            return True
        return False

    def _show(self, record: dict[str, Any]) -> None:
        kind, data = record["kind"], record["data"]
        if kind == "text":
            self._write_rest(record)
        elif kind == "prompt" and self._is_new(record, data.get("status")):
            self._say(f"[{data.get('number')}] {clean(data.get('status'))}: {clean(record['text'][:200])}")
        elif kind == "tool_call" and data.get("status") in STARTED and self._is_new(record, data.get("status")):
            self._say(f"  {clean(data.get('title') or record['id'])}: {clean(data.get('status'))}")
        elif kind == "notice":
            self._say(f"  {quote_remote(record['text'])}")
        elif kind == "permission" and self._is_new(record, data.get("status")):
            self._show_permission(record)

    def _show_permission(self, record: dict[str, Any]) -> None:
        data = record["data"]
        if data.get("status") != "pending":
            self._say(f"  {clean(data.get('tool'))}: {clean(data.get('status'))}")
            return
        interaction_id = str(data["interactionId"])
        asked = connect(self._client.settings).get(f"/v1/interactions/{segment(interaction_id)}")
        if asked.get("status") != "pending":
            return
        self._end_line()
        if self._as_json or not interactive():
            say(f"session {self._session_id} needs a decision\n{prompt(asked)}")
            self._leave(asked)
        elif not decide(connect(self._client.settings), asked):
            self._leave(asked)

    def _leave(self, asked: dict[str, Any]) -> None:
        """Say how to decide it elsewhere. `deny` and `stop` settle what no one answers, so the task is followed on."""
        for line in ways_to_decide(asked):
            say(line)
        session = connect(self._client.settings).get(f"/v1/sessions/{segment(self._session_id)}")
        if session["unattended"] == "wait":
            self._is_left = True
            say(f"then, to follow the session:\n  {program()} sessions attach {self._session_id}")

    def _is_new(self, record: dict[str, Any], status: Any) -> bool:
        """A record may come again; what is the same is not shown twice."""
        if self._shown.get(record["id"]) == status:
            return False
        self._shown[record["id"]] = status
        return True

    def _append(self, data: dict[str, Any]) -> None:
        """Counted as shown: after a broken connection, the whole text comes again."""
        text = str(data.get("text", ""))
        self._lengths[data["id"]] = self._lengths.get(data["id"], 0) + len(text)
        self._write(text)

    def _write_rest(self, record: dict[str, Any]) -> None:
        """Of a text that comes again, what is new."""
        shown = self._lengths.get(record["id"], 0)
        self._write(record["text"][shown:])
        self._lengths[record["id"]] = len(record["text"])

    def _write(self, text: str) -> None:
        if text and not self._as_json:
            sys.stdout.write(clean_lines(text))
            sys.stdout.flush()
            self._is_mid_line = not text.endswith("\n")

    def _say(self, text: str) -> None:
        self._end_line()
        if not self._as_json:
            say(text)

    def _end_line(self) -> None:
        if self._is_mid_line:
            sys.stdout.write("\n")
            sys.stdout.flush()
            self._is_mid_line = False


def exit_code_of(status: str) -> int:
    if status == "completed":
        return exit_codes.COMPLETED
    return exit_codes.FAILED if status in ENDED else exit_codes.PAUSED

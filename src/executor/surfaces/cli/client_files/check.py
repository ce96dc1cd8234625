"""Does what a client would do with its entry: starts the server or connects to it, and lists its tools."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from typing import Any

from executor.dataclass import dataclass
from executor.surfaces.cli.client_files.edit import address_in, command_in
from executor.surfaces.clients.table import McpClient, Table

SECONDS = 120
EXPECTED = ("execute", "resume")
_WHO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "executor connect", "version": "1"}}
HELLO = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": _WHO}
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}
LIST = {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}}
_PASSED_ON = ("HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "USER")  # what a strict client passes on


@dataclass(frozen=True, slots=True)
class Check:
    """`problem` says what is wrong, empty if the tools were listed."""

    tools: tuple[str, ...] = ()
    problem: str = ""

    @property
    def view(self) -> dict[str, Any]:
        return {"ok": not self.problem, "tools": list(self.tools), "problem": self.problem or None}


def check(client: McpClient, entry: Table) -> Check:
    command = command_in(entry)
    try:
        answers = _over_stdio(command, entry) if command else _over_http(*address_in(client, entry))
        return _judge(answers)
    except _Failed as error:
        return Check(problem=str(error))


class _Failed(Exception):
    pass


def _judge(answers: Sequence[Any]) -> Check:
    results = {one.get("id"): one for one in answers if isinstance(one, dict)}
    for number, step in ((1, "initialize"), (2, "tools/list")):
        answer = results.get(number) or {}
        if "result" not in answer:
            why = (answer.get("error") or {}).get("message") or "no answer"
            return Check(problem=f"`{step}` failed: {why}")
    tools = tuple(str(one.get("name")) for one in results[2]["result"].get("tools", []))
    missing = [name for name in EXPECTED if name not in tools]
    return Check(tools, f"the server has no tool {missing[0]!r}" if missing else "")


def _over_stdio(command: Sequence[str], entry: Table) -> list[Any]:
    given = entry.get("env") if isinstance(entry.get("env"), dict) else {}
    environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    lines = "".join(json.dumps(one) + "\n" for one in (HELLO, READY, LIST))
    try:
        done = subprocess.run(
            command,
            env={**environment, **{str(name): str(value) for name, value in (given or {}).items()}},
            input=lines.encode(),
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
    except OSError as error:
        raise _Failed(f"{command[0]} can't be started: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise _Failed(f"{command[0]} did not answer within {SECONDS} seconds") from None
    try:
        answers = [json.loads(line) for line in done.stdout.splitlines() if line.strip()]
    except ValueError:
        raise _Failed(f"{command[0]} printed something else than MCP") from None
    if not answers:
        said = done.stderr.decode(errors="replace").strip().splitlines()[:1]
        raise _Failed(f"{command[0]} ended with code {done.returncode}: {said[0] if said else 'it said nothing'}")
    return answers


def _over_http(url: str, headers: dict[str, str]) -> list[Any]:
    import urllib.error
    import urllib.request

    if not url.startswith(("http://", "https://")):
        raise _Failed(f"{url!r} is not an address")
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    accept = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    answers = []
    for message in (HELLO, LIST):
        try:
            body = json.dumps(message).encode()
            request = urllib.request.Request(url, body, {**accept, **headers})  # noqa: S310 - checked above
            with opener.open(request, timeout=SECONDS) as answer:
                answers.append(_decode(answer.read()))
        except urllib.error.HTTPError as error:
            why = "the token is not accepted" if error.code in (401, 403) else f"status {error.code}"
            raise _Failed(f"{url} refused the request: {why}") from None
        except (OSError, ValueError) as error:
            raise _Failed(f"{url} did not answer: {getattr(error, 'reason', error)}") from None
    return answers


def _decode(body: bytes) -> Any:
    """As JSON, or as the first event of a stream."""
    events = [line[6:] for line in body.splitlines() if line.startswith(b"data: ")]
    return json.loads(events[0] if events else body)

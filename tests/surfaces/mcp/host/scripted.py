"""An MCP server over standard input and output that does exactly what a test asks, byte for byte.

A request with the method `do/…` names what to do. It is of the standard library alone, so that it starts at once.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from typing import Any

waiting: list[Any] = []  # requests that are answered by `do/answer`
heard: list[str] = []  # every line, as it came


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def answer(number: Any, result: Any) -> None:
    say(json.dumps({"jsonrpc": "2.0", "id": number, "result": result}))


def fork_away() -> int:
    """A process that has left its parent and its group."""
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.setsid()
        pid = os.fork()
        if pid:
            os.write(writing, str(pid).encode())
            os._exit(0)
        for stream in (0, 1, 2):
            os.close(stream)
        time.sleep(600)
        os._exit(0)
    os.wait()
    return int(os.read(reading, 20))


def act(method: str, number: Any, params: dict[str, Any]) -> None:
    if method == "initialize":
        about = {"name": "scripted", "version": "1", "pid": os.getpid()}
        answer(number, {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": about})
    elif method == "do/heard":
        answer(number, heard)
    elif method == "do/wait":
        waiting.append(number)
    elif method == "do/answer":
        while waiting:
            answer(waiting.pop(0), "answered")
        answer(number, None)
    elif method == "do/say":
        for line in params["lines"]:
            say(line)
        if params.get("answer", True):
            answer(number, None)
    elif method == "do/repeat":
        say("x" * params["times"])
    elif method == "do/fork":
        answer(number, fork_away())
    elif method == "do/hang":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        answer(number, None)
        time.sleep(600)
    elif method == "do/end":
        print("the last words", file=sys.stderr, flush=True)
        os._exit(7)
    elif method == "do/environment":
        answer(number, dict(os.environ))


if __name__ == "__main__":
    for line in sys.stdin:
        heard.append(line.rstrip("\n"))
        message = json.loads(line)
        if "method" in message and "id" in message:
            act(message["method"], message["id"], message.get("params") or {})

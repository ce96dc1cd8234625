"""The scripted agent. Speaks ACP on standard input and output; needs nothing but Python.

A prompt is a list of steps in JSON, `[{"say": "hello"}, …]`, or text that is repeated as an answer. With
FAKE_AGENT_SCRIPT set, the steps are read from that file instead. FAKE_AGENT_MODE is the mode that it starts in.
"""

import json
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from typing import Any

MODES = ("plan", "default", "acceptEdits", "bypassPermissions")
OPTIONS = [
    {"optionId": "always", "name": "Always", "kind": "allow_always"},
    {"optionId": "once", "name": "Yes", "kind": "allow_once"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]


class Agent:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ids = iter(range(1, 1 << 62))
        self._waiting: dict[int, threading.Event] = {}
        self._answers: dict[int, dict[str, Any]] = {}
        self.session = ""
        self.mode = os.environ.get("FAKE_AGENT_MODE", "default")
        self.cancelled = threading.Event()
        self.mcp: list[Any] = []
        self._calls = 0

    # -- the wire -------------------------------------------------------------

    def serve(self) -> None:
        for line in sys.stdin.buffer:
            message = json.loads(line)
            if "method" not in message:
                self._answers[message["id"]] = message
                self._waiting.pop(message["id"], threading.Event()).set()
            elif "id" in message:
                threading.Thread(target=self._answer, args=(message,), daemon=True).start()
            elif message["method"] == "session/cancel" and not os.environ.get("FAKE_AGENT_IGNORES_CANCEL"):
                self.cancelled.set()

    def _answer(self, message: dict[str, Any]) -> None:
        try:
            handler = getattr(self, message["method"].replace("/", "_"))
            self.send({"id": message["id"], "result": handler(message.get("params", {}))})
        except Exception as error:
            text = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
            self.send({"id": message["id"], "error": {"code": -32603, "message": text}})

    def send(self, message: dict[str, Any]) -> None:
        self.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def write(self, data: bytes) -> None:
        with self._lock:
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()

    def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        identifier, done = next(self._ids), threading.Event()
        self._waiting[identifier] = done
        self.send({"id": identifier, "method": method, "params": params})
        done.wait()
        return self._answers.pop(identifier)

    def update(self, sort: str, /, session: str = "", **fields: object) -> None:
        params = {"sessionId": session or self.session, "update": {"sessionUpdate": sort, **fields}}
        self.send({"method": "session/update", "params": params})

    # -- methods of ACP -------------------------------------------------------

    def initialize(self, _: dict[str, Any]) -> dict[str, Any]:
        capabilities = {"loadSession": True, "mcpCapabilities": {"http": True}, "sessionCapabilities": {}}
        return {"protocolVersion": int(os.environ.get("FAKE_AGENT_VERSION", "1")), "agentCapabilities": capabilities}

    def authenticate(self, _: dict[str, Any]) -> dict[str, Any]:
        return {}

    def session_new(self, params: dict[str, Any]) -> dict[str, Any]:
        self.session, self.mcp = f"fake-{os.getpid()}-{time.time_ns()}", params["mcpServers"]
        self._remember(f"session {self.session}")
        return {"sessionId": self.session, "modes": self._modes()}

    def session_load(self, params: dict[str, Any]) -> dict[str, Any]:
        history = self._history()
        if f"session {params['sessionId']}" not in history:
            raise KeyError("no such session")
        self.session, self.mcp = params["sessionId"], params["mcpServers"]
        for line in history:
            self.update("agent_message_chunk", content={"type": "text", "text": f"replayed {line}"})
        return {"modes": self._modes()}

    def session_set_mode(self, params: dict[str, Any]) -> dict[str, Any]:
        if os.environ.get("FAKE_AGENT_MODE_STUCK"):
            return {}
        self.mode = params["modeId"]
        self.update("current_mode_update", currentModeId=self.mode)
        return {}

    def session_prompt(self, params: dict[str, Any]) -> dict[str, Any]:
        texts = [block.get("text", "") for block in params["prompt"]]
        self.cancelled.clear()
        self._remember(texts[0])
        steps = self._steps(texts[0]) or [{"say": f"You said: {' '.join(texts)}"}]
        if wrong := find_wrong_step(steps):
            raise ValueError(wrong)
        for step in steps:
            if self.cancelled.is_set():
                return {"stopReason": "cancelled"}
            for name, value in step.items():
                getattr(self, f"do_{name}")(value)
        if self.cancelled.is_set():
            return {"stopReason": "cancelled"}
        usage = {"inputTokens": 11, "outputTokens": 7, "cachedReadTokens": 5, "cachedWriteTokens": 3, "totalTokens": 26}
        return {"stopReason": "end_turn", "usage": usage}

    def _modes(self) -> dict[str, Any]:
        return {"currentModeId": self.mode, "availableModes": [{"id": mode, "name": mode} for mode in MODES]}

    def _steps(self, text: str) -> list[Any]:
        if path := os.environ.get("FAKE_AGENT_SCRIPT"):
            with open(path) as file:
                steps = json.load(file)
            return steps if isinstance(steps, list) else []
        try:
            steps = json.loads(text)
        except ValueError:
            steps = None
        return steps if isinstance(steps, list) else []

    def _history(self) -> list[Any]:
        path = f"{os.environ['HOME']}/fake-agent-history"
        if not os.path.exists(path):
            return []
        with open(path) as file:
            return file.read().splitlines()

    def _remember(self, line: str) -> None:
        with open(f"{os.environ['HOME']}/fake-agent-history", "a") as file:
            file.write(line.replace("\n", " ") + "\n")

    # -- steps: what it reports -----------------------------------------------

    def do_say(self, text: str) -> None:
        for word in text.split(" "):
            self.update("agent_message_chunk", content={"type": "text", "text": f"{word} "})

    def do_think(self, text: str) -> None:
        self.update("agent_thought_chunk", content={"type": "text", "text": text})

    def do_plan(self, entries: list[Any]) -> None:
        found = [{"content": entry, "priority": "medium", "status": "pending"} for entry in entries]
        self.update("plan", entries=found)

    def do_usage(self, fields: dict[str, Any]) -> None:
        self.update("usage_update", **fields)

    def do_update(self, fields: dict[str, Any]) -> None:
        """Any update, also of a kind that no one knows."""
        self.update(fields.pop("sessionUpdate"), **fields)

    def do_mode(self, mode: str) -> None:
        """It changes its mode without being asked to."""
        self.mode = mode
        self.update("current_mode_update", currentModeId=mode)

    def do_diff(self, fields: dict[str, Any]) -> None:
        self._calls += 1
        diff = {"type": "diff", "path": fields["path"], "oldText": fields.get("old"), "newText": fields["new"]}
        self.update("tool_call", toolCallId=f"call-{self._calls}", title=f"Edit {fields['path']}", kind="edit",
                    status="completed", content=[diff])  # fmt: skip

    def do_after(self, fields: dict[str, Any]) -> None:
        """Says something after the turn has ended."""
        timer = threading.Timer(fields.get("seconds", 0.3), self.do_say, (fields["say"],))
        timer.daemon = True
        timer.start()

    # -- steps: what it does, with and without asking -------------------------

    def do_bash(self, command: str) -> None:
        """Asks, as an agent in its default mode does; the output becomes the content of the tool call."""
        call = self._begin("Run a command", "execute", {"command": command})
        if self._ask(call, {"command": command}) != "once":
            self._end(call, "failed", "not permitted")
            return
        self._run(call, command)

    def do_run(self, command: str) -> None:
        """Does not ask. The sandbox is what holds it."""
        self._run(self._begin("Run a command", "execute", {"command": command}), command)

    def do_edit(self, fields: dict[str, Any]) -> None:
        path, text = fields["path"], fields["text"]
        call = self._begin(f"Edit {path}", "edit", {"file_path": path})
        diff = [{"type": "diff", "path": path, "oldText": None, "newText": text}]
        if self._ask(call, {"file_path": path}, content=diff) != "once":
            self._end(call, "failed", "not permitted")
            return
        with open(path, "w") as file:
            file.write(text)
        self.update("tool_call_update", toolCallId=call, status="completed", content=diff)

    def do_permission(self, fields: dict[str, Any]) -> None:
        """A bare request with the given options and input; says what was chosen."""
        call = self._begin(fields.get("title", "Something"), fields.get("kind", "other"), fields.get("input", {}))
        outcome = self._ask(
            call, fields.get("input"), options=fields.get("options", OPTIONS), session=fields.get("session", "")
        )
        self.do_say(f"chosen={outcome}")

    def do_parallel(self, count: int) -> None:
        """Several requests at once, the last as of a subagent."""
        chosen: dict[int, str] = {}

        def ask(number: int) -> None:
            call = self._begin(f"Request {number}", "execute", {"command": f"echo {number}"})
            chosen[number] = self._ask(
                call, {"command": f"echo {number}"}, session="child" if number == count - 1 else ""
            )

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.do_say(f"chosen={[chosen[number] for number in range(count)]}")

    def do_call_mcp(self, fields: dict[str, Any]) -> None:
        server = self.mcp[0]
        headers = {header["name"]: header["value"] for header in server["headers"]}
        headers |= {"content-type": "application/json", "accept": "application/json, text/event-stream"}
        request = urllib.request.Request(server["url"], json.dumps(fields).encode(), headers)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                self.do_say(answer.read().decode())
        except OSError as error:
            self.do_say(f"failed: {error}")

    def do_call_model(self, path: str) -> None:
        headers = {"x-api-key": os.environ["FAKE_AGENT_KEY"], "content-type": "application/json"}
        request = urllib.request.Request(os.environ["FAKE_AGENT_ORIGIN"] + path, b"{}", headers)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                self.do_say(answer.read().decode())
        except OSError as error:
            self.do_say(f"failed: {error}")

    def do_connect(self, target: str) -> None:
        """To HOST:PORT, or to the path of a Unix socket."""
        try:
            if target.startswith(("/", "@")):
                with socket.socket(socket.AF_UNIX) as connection:
                    connection.connect(target.replace("@", "\0", 1))
            else:
                host, _, port = target.rpartition(":")
                socket.create_connection((host, int(port)), timeout=10).close()
            self.do_say(f"connected {target}")
        except OSError as error:
            self.do_say(f"refused {target}: {error.strerror or error}")

    def do_read(self, path: str) -> None:
        try:
            with open(path, "rb") as file:
                self.do_say(f"read {path}: {file.read(10_000).decode(errors='replace')}")
        except OSError as error:
            self.do_say(f"refused {path}: {error.strerror}")

    def do_write(self, fields: dict[str, Any]) -> None:
        try:
            with open(fields["path"], "w") as file:
                file.write(fields["text"])
            self.do_say(f"wrote {fields['path']}")
        except OSError as error:
            self.do_say(f"refused {fields['path']}: {error.strerror}")

    # -- steps: faults --------------------------------------------------------

    def do_crash(self, code: int) -> None:
        os._exit(code)

    def do_hang(self, _: object) -> None:
        """Until it is cancelled, or for ever if it does not listen."""
        self.cancelled.wait()

    def do_flood(self, count: int) -> None:
        line = {"method": "session/update", "params": {"sessionId": self.session, "update": {
            "sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "x "}}}}  # fmt: skip
        data = json.dumps({"jsonrpc": "2.0", **line}).encode() + b"\n"
        for _ in range(count // 100):
            self.write(data * 100)

    def do_long(self, size: int) -> None:
        """One message of that many bytes."""
        self.update("agent_message_chunk", content={"type": "text", "text": "y" * size})

    def do_raw(self, text: str) -> None:
        """Written as it is: half a message, or none."""
        self.write(text.encode())

    def do_stderr(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    def do_sleep(self, seconds: float) -> None:
        self.cancelled.wait(seconds)

    # -- tool calls -----------------------------------------------------------

    def _begin(self, title: str, kind: str, given: dict[str, Any]) -> str:
        self._calls += 1
        call = f"call-{self._calls}"
        self.update("tool_call", toolCallId=call, title=title, kind=kind, status="pending", rawInput=given)
        return call

    def _end(self, call: str, status: str, text: str) -> None:
        content = [{"type": "content", "content": {"type": "text", "text": text}}]
        self.update("tool_call_update", toolCallId=call, status=status, content=content)

    def _run(self, call: str, command: str) -> None:
        done = subprocess.run(
            ["/bin/sh", "-c", command], capture_output=True, text=True, stdin=subprocess.DEVNULL, errors="replace"
        )
        self._end(call, "completed" if done.returncode == 0 else "failed", done.stdout + done.stderr)

    def _ask(
        self, call: str, given: object, *, options: list[Any] = OPTIONS, session: str = "", **fields: object
    ) -> str:
        tool = {"toolCallId": call, **fields}
        params = {"sessionId": session or self.session, "toolCall": tool, "options": options}
        answer = self.request("session/request_permission", params)
        outcome = answer.get("result", {}).get("outcome", {})
        return outcome.get("optionId") or outcome.get("outcome") or json.dumps(answer.get("error"))


def find_wrong_step(steps: list[Any]) -> str:
    """Before any of them is done. Empty if all can be."""
    known = sorted(name.removeprefix("do_") for name in vars(Agent) if name.startswith("do_"))
    for number, step in enumerate(steps, 1):
        if not isinstance(step, dict):
            return f'step {number} of the script is not an object such as {{"say": "hello"}}'
        for name in step:
            if name not in known:
                return f"step {number} of the script is unknown: {name[:100]!r}; known steps: {', '.join(known)}"
    return ""


if __name__ == "__main__":
    Agent().serve()

"""A sandbox host as a real process, and servers in this one for the rest."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from typing import Any

import orjson
import uvicorn
from starlette.requests import Request
from starlette.responses import Response

from executor.errors import ExecutorError
from executor.runtime.remote import messages
from executor.runtime.remote.live_runs import LiveRuns
from tests.support.daemon import free_port


class HostProcess:
    """`executor runtime serve`. Outlives its process: `start` again after a kill, on the same port."""

    def __init__(self, root: Path, *, prefix: tuple[str, ...] = (), host: str = "127.0.0.1") -> None:
        self.root, self.port, self.host, self._prefix = root, free_port(), host, prefix
        self.token_file = root / "host.token"
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    @property
    def variables(self) -> dict[str, str]:
        return {"EXECUTOR_REMOTE_URL": self.url, "EXECUTOR_REMOTE_TOKEN_FILE": str(self.token_file)}

    def start(self) -> None:
        options = ["--host", self.host, "--port", str(self.port), "--token-file", str(self.token_file)]
        command = [*self._prefix, sys.executable, "-m", "executor", "runtime", "serve", *options]
        environ = {name: value for name, value in os.environ.items() if not name.startswith("EXECUTOR_")}
        environ |= {"EXECUTOR_DATA_DIR": str(self.root / "data"), "EXECUTOR_CONFIG": os.devnull}
        self.process = subprocess.Popen(command, env={**environ, "EXECUTOR_WORKERS": "1"}, stderr=subprocess.PIPE)
        assert self.process.stderr is not None
        said = self.process.stderr.readline().decode()
        assert "sandbox host on" in said, said

    def signal(self, number: int) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    def kill(self) -> None:
        self.signal(signal.SIGKILL)
        self._reap()

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            self._reap()

    def _reap(self) -> None:
        assert self.process is not None and self.process.stderr is not None
        self.process.wait(120)
        self.process.stderr.close()


class Callback:
    """The daemon's side of a run without a daemon: the door's look at the token, and what the run tells."""

    def __init__(self, runs: LiveRuns) -> None:
        self.runs = runs
        self.requests = 0
        self.drop = 0  # answers that get lost on their way

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        request = Request(scope, receive)
        self.requests += 1
        try:
            run = self.runs.authenticate(scope["path"], request.headers.get("authorization"))
            response = Response(orjson.dumps(await run.exchange(messages.loads(await request.body()))))
        except ExecutorError as error:
            response = Response(error.message, error.status)
        if self.drop:
            self.drop -= 1
            response = Response("lost on its way", 502)
        await response(scope, receive, send)


@asynccontextmanager
async def serve_app(app: Any) -> AsyncIterator[str]:
    listener = socket.socket(proto=socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    config = uvicorn.Config(app, log_config=None, access_log=False, lifespan="off", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    server.capture_signals = nullcontext  # type: ignore[method-assign,assignment]  # pytest has its own
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        await serving
        listener.close()

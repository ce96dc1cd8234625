"""The scripted agent, installed in the place of OpenCode: so it gets a virtual key, a relay and a model, as a real one
does. And a model provider in a thread."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from executor.sessions.agents.table import AGENTS
from tests.support.daemon import Daemon
from tests.support.model_provider import ModelProvider, serving

NAME = "opencode"
REAL_KEY = "sk-real-Zq81hunted7LmXw22vBk93"
MODEL = "gpt-5"
BEGINNING = """import json, os
_options = json.loads(os.environ["OPENCODE_CONFIG_CONTENT"])["provider"]["executor"]["options"]
os.environ["FAKE_AGENT_KEY"] = _options["apiKey"]
os.environ["FAKE_AGENT_ORIGIN"] = _options["baseURL"].removesuffix("/v1")
os.environ["FAKE_AGENT_MODE"] = "build"
"""
# For `run`: as an agent would do it, with the key and the address that it was given.
CALL_MODEL = """python3 -c '
import json, os, urllib.request
body = {"model": "gpt-5", "max_tokens": 5, "stream": True, "messages": [{"role": "user", "content": "hello"}]}
headers = {"Authorization": "Bearer " + os.environ["FAKE_AGENT_KEY"], "Content-Type": "application/json"}
address = os.environ["FAKE_AGENT_ORIGIN"] + "/v1/chat/completions"
print(urllib.request.urlopen(urllib.request.Request(address, json.dumps(body).encode(), headers)).read().decode())
'"""


def install(data_directory: Path, python: str = "") -> None:
    agent = AGENTS[NAME]
    root = data_directory / "agents" / NAME / "node_modules"
    (root / agent.package).mkdir(parents=True)
    (root / agent.package / "package.json").write_text(f'{{"version": "{agent.version}"}}')
    (root / ".bin").mkdir()
    program = root / ".bin" / agent.program
    shebang = f"#!{python or os.path.realpath(sys.executable)} -IS\n"
    program.write_text(shebang + BEGINNING + AGENTS["fake"].command[-1])
    program.chmod(0o755)


def set_key(daemon: Daemon) -> None:
    daemon.post("/v1/model-keys", {"provider": "openai", "value": REAL_KEY})


@contextmanager
def serving_models() -> Iterator[ModelProvider]:
    found: list[ModelProvider] = []
    begun, over = threading.Event(), threading.Event()

    async def serve() -> None:
        async with serving() as provider:
            found.append(provider)
            begun.set()
            await asyncio.to_thread(over.wait)

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    begun.wait()
    try:
        yield found[0]
    finally:
        over.set()
        thread.join()

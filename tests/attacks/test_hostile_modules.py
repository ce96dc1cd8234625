"""Modules of `python:` sources that exit, loop, block, raise what nobody catches, and return too much.

They run inside the daemon, by a human's consent, so they can end its process on purpose (`os._exit`). Everything
short of that fails their own call, and no other.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from executor.errors import SourceUnreachable, ToolError
from executor.model.source import Source
from executor.sources.python.kind import PythonFunctions
from executor.sources.source_request import Consent, SourceRequest
from tests.support.conditions import until
from tests.support.daemon import Daemon, Refused

MODULE = """
import asyncio, concurrent.futures, sys, threading, time

class Mine(BaseException): ...

def leave() -> None: sys.exit(3)
async def later() -> None:
    await asyncio.sleep(0)
    sys.exit("bye")
def interrupt() -> None: raise KeyboardInterrupt
def cancel() -> None: raise asyncio.CancelledError
async def itself() -> None: raise asyncio.CancelledError
def stop() -> None: raise GeneratorExit
def late() -> None: raise TimeoutError("mine")
def futures() -> None: raise concurrent.futures.CancelledError
def strange() -> None: raise Mine("x")
def huge() -> str: return "x" * 12_000_000
def deep() -> list:
    made = []
    for _ in range(100_000): made = [made]
    return made
def loud() -> str:
    print("noise " * 1000); sys.stdout.write("more"); return "said"
def threaded() -> str:
    thread = threading.Thread(target=sys.exit); thread.start(); thread.join(); return "here"
def fine() -> int: return 2
"""
LOOPS = """
import time
def spin() -> None:
    while True: pass
def stubborn() -> None:
    while True:
        try:
            while True: pass
        except Exception: pass
async def block() -> None:
    while True: pass
async def doze() -> None:
    import asyncio
    await asyncio.sleep(3600)
def quick() -> int: return 1
async def quick_too() -> int: return 1
"""
FATAL = ["leave", "later", "interrupt", "cancel", "itself", "stop", "strange", "deep", "late", "futures"]


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    root = tmp_path_factory.mktemp("modules")
    modules = root / "modules"
    modules.mkdir()
    (modules / "hostile_module.py").write_text(MODULE)
    (modules / "exits_at_once.py").write_text("import sys\nsys.exit(1)\ndef f() -> int: return 1\n")
    (modules / "raises_at_once.py").write_text("raise KeyboardInterrupt\n")
    made = Daemon(root, EXECUTOR_WORKERS="1", PYTHONPATH=str(modules))
    made.start()
    made.post("/v1/sources", {"location": "python:hostile_module", "namespace": "evil", "consent": True})
    made.post("/v1/policies", {"pattern": "evil.**", "action": "allow"})
    yield made
    made.stop()


def code_of(daemon: Daemon, name: str) -> Any:
    code = f"return await tools.evil.{name}({{}}).catch(e => e.code)"
    return daemon.request("POST", "/v1/executions", {"code": code, "wait": 60}, timeout=90)["result"]


def test_105_what_would_end_a_process_ends_the_call_alone(daemon: Daemon) -> None:
    """Defence: `Running._run` and `contained` let nothing out that would end the daemon's loop."""
    found = {name: code_of(daemon, name) for name in FATAL}
    assert set(found.values()) <= {"upstream_error", "unexpected_response"}, json.dumps(found)
    assert code_of(daemon, "huge") == "result_too_large"
    assert [code_of(daemon, name) for name in ("loud", "threaded", "fine")] == ["said", "here", 2]
    assert daemon.process is not None and daemon.process.poll() is None


@pytest.mark.parametrize("module", ["exits_at_once", "raises_at_once"])
def test_105_a_module_that_exits_while_it_is_imported(daemon: Daemon, module: str) -> None:
    """Defence: `PythonFunctions.load` imports in a thread that contains everything."""
    with pytest.raises(Refused) as refused:
        daemon.post("/v1/sources", {"location": f"python:{module}", "namespace": "x", "consent": True})
    assert refused.value.problem["code"] == "source_unreachable"
    assert code_of(daemon, "fine") == 2


@pytest.fixture
async def loops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[PythonFunctions, Source, Any]]:
    (tmp_path / "endless_loops.py").write_text(LOOPS)
    (tmp_path / "endless_import.py").write_text("while True: pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    kind = PythonFunctions(call_seconds=1.0, load_seconds=120.0)
    loaded = await kind.load(
        SourceRequest(location="python:endless_loops", consented=Consent(runs_code=True, by_operator=True))
    )
    source = Source("src_1", "ws_1", "python", loaded.namespace, loaded.name, loaded.config)
    yield kind, source, {tool.binding["function"]: tool for tool in loaded.tools}
    await kind.close()
    sys.modules.pop("endless_loops", None)


async def test_105_functions_without_end_are_given_up_and_hold_up_no_one(
    loops: tuple[PythonFunctions, Source, Any],
) -> None:
    """Defence: `Running` interrupts a thread whose time is up; `Coroutines` gives up a loop that is blocked."""
    kind, source, tools = loops
    for name in ("spin", "stubborn", "block", "doze"):
        with pytest.raises(ToolError) as late:
            await kind.invoke(source, tools[name], {}, "key")
        assert late.value.tool_code == "upstream_timeout", name
    await until(lambda: all(thread.name != "module" for thread in threading.enumerate()))
    patient = PythonFunctions(call_seconds=60.0)
    for name in ("quick", "quick_too"):
        assert json.loads(await patient.invoke(source, tools[name], {}, "key")) == 1
    await patient.close()


async def test_105_an_import_without_end_is_given_up(loops: tuple[PythonFunctions, Source, Any]) -> None:
    kind = PythonFunctions(load_seconds=1.0)
    with pytest.raises(SourceUnreachable, match="was not imported within"):
        await kind.load(
            SourceRequest(location="python:endless_import", consented=Consent(runs_code=True, by_operator=True))
        )
    await kind.close()

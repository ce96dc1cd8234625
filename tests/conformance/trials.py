"""Runs of the suite against a daemon, and what of their results is not expected."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from tests.conformance import client_driver, suite
from tests.conformance.exceptions import EXCEPTIONS
from tests.conformance.fixture_names import LOGGING, NAMESPACE, PATH, Translator
from tests.conformance.suite import Scenario, Side
from tests.support.office import add_toolkit, ask_mcp
from tests.surfaces.api.daemon_server import Daemon, running_daemon

HERE = Path(__file__).parent
ATTEMPTS = 3  # the suite and the daemon wait for seconds, or for half a second, which a busy machine may exceed
KEPT = {
    "test://static-text": "executor://guide",
    "test://static-binary": "return {file: {base64: 'iVBO'.repeat(2000), contentType: 'image/png'}}",
    "test://template/123/data": "return 'id 123 '.repeat(6000)",
}


def run_server(revision: str, folder: Path) -> dict[str, Scenario]:
    made: list[Translator] = []

    def wrap(app: object, tokens: object) -> Translator:
        made.append(Translator(app, tokens.agent))  # type: ignore[arg-type, attr-defined]
        return made[0]

    (folder / "data").mkdir(parents=True)
    with running_daemon(folder / "data", wrap) as daemon:
        made[0].uris = provide_fixtures(daemon)
        return run_patiently("server", revision, ["--url", f"{daemon.url}{PATH}"], folder, {})


def run_client(revision: str, folder: Path) -> dict[str, Scenario]:
    (folder / "data").mkdir(parents=True)
    command = f"{sys.executable} -I -S {HERE / 'client_command.py'}"
    with running_daemon(folder / "data") as daemon, client_driver.listening(daemon) as port:
        return run_patiently("client", revision, ["--command", command], folder, {"CONFORMANCE_DRIVER": port})


def run_patiently(
    side: Side, revision: str, target: list[str], folder: Path, environment: dict[str, str]
) -> dict[str, Scenario]:
    """What fails unexpectedly is tried again on its own."""
    found = suite.run(side, revision, target, folder / "results", environment)
    for _ in range(ATTEMPTS - 1):
        for name in {problem.partition(": ")[0] for problem in find_unexpected(side, found)} & found.keys():
            found |= suite.run(side, revision, target, folder / "again", environment, name)
    return found


def provide_fixtures(daemon: Daemon) -> dict[str, str]:
    """The conformance source in a toolkit that passes it through, and artifacts as the suite's resources, by name."""
    command = [sys.executable, str(HERE / "fixture_server.py")]
    given = {"command": command, "namespace": NAMESPACE, "kind": "mcp", "consent": True, "hints": "trust"}
    added = daemon.post("/v1/sources", given)
    assert added.status == 201, added.body
    daemon.post("/v1/policies", {"pattern": f"{NAMESPACE}.*", "action": "allow"})
    add_toolkit(daemon, NAMESPACE, patterns=["**"], passThrough=[f"{NAMESPACE}.*"])
    assert execute(daemon, LOGGING)["status"] == "completed"  # so that everything has been used once
    uris = {}
    for uri, code in KEPT.items():
        if code.startswith("return"):
            execution = execute(daemon, code)
            kept = daemon.get(f"/v1/artifacts?execution={execution['executionId']}").json["items"]
            file = next((one for one in kept if one["mediaType"].startswith("image/")), kept[0])
            code = f"executor://artifacts/{file['id']}"
        uris[uri] = code
    return uris


def execute(daemon: Daemon, code: str) -> dict[str, Any]:
    """In the toolkit: what is kept outside of it can't be read there."""
    called = ask_mcp(daemon, PATH, "agent", "tools/call", name="execute", arguments={"code": code})
    return dict(called["_meta"]["executor/execution"])


def find_unexpected(side: Side, found: dict[str, Scenario]) -> list[str]:
    """What fails without being an exception, and exceptions that pass."""
    listed = EXCEPTIONS[side]
    problems = []
    for name, scenario in found.items():
        for check, why in scenario.failures.items():
            if name not in listed and f"{name}:{check}" not in listed:
                problems.append(f"{name}: {check}: {why}")
        if name in listed and not scenario.failures:
            problems.append(f"{name} passes: take it off the list of exceptions")
        for check in (key.partition(":")[2] for key in listed if key.startswith(f"{name}:")):
            if check not in scenario.failures:
                problems.append(f"{name}: {check} passes: take it off the list of exceptions")
    return problems

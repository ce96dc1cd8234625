"""This checkout: its daemon in a data directory of its own, on a port of its own."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from benchmarks import processes
from benchmarks.subject import READY_SECONDS, Subject
from benchmarks.wire import Http, Mcp, WireError, value_of


class Ours(Subject):
    name = "executor"
    health = "/healthz"
    read = "(await tools.things.things.getThing({id: i})).id"
    write = 'return (await tools.things.things.createThing({name: "a"})).id'

    def environ(self, home: Path) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("EXECUTOR_", "PYTHON"))}
        empty = home / "config.toml"
        empty.touch()
        return kept | {
            "EXECUTOR_CONFIG": str(empty),
            "EXECUTOR_DATA_DIR": str(home / "data"),
            "EXECUTOR_STATE_DIR": str(home / "state"),
            "EXECUTOR_PORT": str(self.port),
            "EXECUTOR_APPROVAL_LIMIT_ACTOR": "1000000",  # thousands are parked to be weighed
        }

    def daemon_command(self) -> list[str]:
        return self.cli("up", "--foreground")

    def cli(self, *arguments: str) -> list[str]:
        """The installed command if there is one, which is what a user runs."""
        installed = Path(sys.executable).with_name("executor")
        return [str(installed), *arguments] if installed.exists() else [sys.executable, "-m", "executor", *arguments]

    def headers(self, home: Path) -> Mapping[str, str]:
        return bearer(home / "data" / "agent.token")

    @cached_property
    def operator(self) -> Http:
        return Http(self.base_url, bearer(self.home / "data" / "operator.token"))

    def connect(self, document_url: str) -> None:
        self.operator.json("POST", "/v1/sources", {"location": document_url, "namespace": "things"})

    def park(self, client: Mcp) -> str:
        answer = client.call("execute", {"code": self.write})
        outcome = answer["_meta"]["executor/execution"]
        if outcome.get("status") != "paused":
            raise WireError(f"{self.name}: expected a paused execution, got {str(answer)[:500]}")
        return f"{outcome['executionId']} {outcome['interactions'][0]['id']}"

    def approve(self, client: Mcp, parked: str) -> None:
        execution, interaction = parked.split()
        self.operator.json("POST", f"/v1/interactions/{interaction}/approve", {})
        answer = client.call("resume", {"executionId": execution})
        if value_of(answer) != 1:
            raise WireError(f"{self.name}: the approved write gave {str(answer)[:500]}")


def bearer(token_file: Path) -> dict[str, str]:
    processes.wait_until(token_file.exists, limit=READY_SECONDS, what=f"writing {token_file.name}")
    return {"Authorization": f"Bearer {token_file.read_text().strip()}"}

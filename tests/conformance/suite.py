"""The public conformance suite of MCP: npm's `@modelcontextprotocol/conformance`, run and read.

It runs every scenario that a revision of the protocol requires, at that revision, and those that it only reports.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Literal

from tests.support import packages

PACKAGE = "@modelcontextprotocol/conformance"
REVISIONS = ("2025-11-25", "2026-07-28")
SCENARIO_SECONDS = 60  # a busy machine; most take milliseconds
RUN_SECONDS = 400
_STAMP = len("-2026-11-17T13-42-16-131Z")

Side = Literal["server", "client"]


@dataclass
class Scenario:
    """`failures` are checks that failed or warned, with what the suite says about each."""

    name: str
    passed: int = 0
    failures: dict[str, str] = field(default_factory=dict)


@cache
def version() -> str:
    manifest = packages.npm_modules() / PACKAGE / "package.json"
    return str(json.loads(manifest.read_text())["version"])


def run(
    side: Side, revision: str, target: list[str], folder: Path, environment: Mapping[str, str], scenario: str = ""
) -> dict[str, Scenario]:
    """`target` is what is tested: `--url …` or `--command …`. Results by the name of the scenario."""
    shutil.rmtree(folder, ignore_errors=True)
    modules = packages.npm_modules()
    node = packages.node_package() / "bin" / "node"  # the suite needs a newer Node than many machines have
    command = [str(node), str(modules / PACKAGE / "dist" / "index.js"), side, *target]
    chosen = (
        ["--scenario", scenario, "--spec-version", revision, "--force"] if scenario else ["--requirements", revision]
    )
    options = [*chosen, "--output-dir", str(folder), "--timeout", str(SCENARIO_SECONDS * 1000)]
    done = subprocess.run(
        [*command, *options],
        env={**os.environ, **environment, "NODE_NO_WARNINGS": "1"},
        capture_output=True,
        text=True,
        timeout=RUN_SECONDS,
        check=False,
    )
    found = _read(folder, side)
    assert found, done.stdout[-2000:] + done.stderr[-2000:]
    return found


def _read(folder: Path, side: Side) -> dict[str, Scenario]:
    """Names may have slashes, which are folders here."""
    found: dict[str, Scenario] = {}
    for file in sorted(folder.rglob("checks.json")):
        name = file.parent.relative_to(folder).as_posix()[:-_STAMP]
        scenario = Scenario(name.removeprefix("server-") if side == "server" else name)
        for check in json.loads(file.read_text()):
            if check["status"] == "SUCCESS":
                scenario.passed += 1
            elif check["status"] in ("FAILURE", "WARNING"):
                scenario.failures[check["id"]] = check.get("errorMessage") or check["description"]
        found[scenario.name] = scenario
    return found

"""What the CLI does, the API does: only what is about the machine itself goes another way."""

from __future__ import annotations

import re
from pathlib import Path

import executor

COMMANDS = Path(executor.__path__[0]) / "surfaces" / "cli" / "commands"
OF_THE_MACHINE = {"up", "down", "serve", "worker", "db", "runtime", "session_host", "mcp", "mcp_host"}
OF_THE_MACHINE |= {"completion", "version"}


def test_every_command_uses_the_api_unless_it_is_about_the_machine() -> None:
    modules = [path for path in COMMANDS.rglob("*.py") if path.name != "__init__.py"]
    without = {path.stem for path in modules if "executor.surfaces.cli.client import" not in path.read_text()}
    assert without == OF_THE_MACHINE


def test_the_reference_names_them() -> None:
    text = (Path(__file__).parents[3] / "docs" / "reference" / "api.md").read_text(encoding="utf-8")
    [sentence] = re.findall(r"These commands are about the machine.*$", text, re.MULTILINE)
    named = set(re.findall(r"`executor ([a-z-]+)", sentence))
    assert named >= {name.replace("_", "-") for name in OF_THE_MACHINE}

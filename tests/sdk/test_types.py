"""A program that uses the SDK is checked as strictly as its author wants."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROGRAM = """
from executor import Approve, AsyncExecutor, Executor, Interaction, tool


@tool(effect="read")
def add(a: int, b: int) -> int:
    return a + b


@tool
def refund(id: str) -> str:
    return id


def decide(interaction: Interaction) -> Approve | None:
    return Approve() if interaction.tool == "shop.refund" else None


def block() -> None:
    with Executor(on_interaction=decide) as executor:
        reveal_type(executor.run("return 1").status)
        reveal_type(executor.sources.list()[0]["namespace"])
        for event in executor.stream("exec_1"):
            reveal_type(event["type"])
        executor.run(1)


async def awaits() -> None:
    async with AsyncExecutor.embedded() as executor:
        reveal_type((await executor.run("return 1", timeout=1.5)).interactions)
        reveal_type((await executor.sessions.get("s"))["tasks"][0]["status"])
        async for record in executor.sessions.stream("s"):
            reveal_type(record.type)
        executor.sessions.get("s")["tasks"]
"""
FOUND = [
    "Literal['cancelled']",
    '"str"',
    '"str"',
    'Argument 1 has incompatible type "int"; expected "str"',
    "tuple[executor.sdk.execution.Interaction, ...]",
    "Literal['interrupted']",
    "Literal['append']",
    "is not indexable",
    "await",
]


def test_both_clients_are_typed(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    options = ["--strict", "--no-pretty", "--config-file", str(ROOT / "pyproject.toml")]
    cache = ["--cache-dir", str(ROOT / ".mypy_cache"), "--python-executable", sys.executable]
    command = [sys.executable, "-m", "mypy", *options, *cache, str(program)]  # in this process it would change limits
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if "program.py:" in line]
    assert len(lines) == len(FOUND), done.stdout + done.stderr
    assert not [line for line, wanted in zip(lines, FOUND, strict=True) if wanted not in line], lines

"""The TypeScript package in a browser: bundled with what browsers take, in a page of the daemon, with its cookie."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.packages import node

ROOT = Path(__file__).parents[3]
ROLLDOWN = ROOT / "web" / "node_modules" / "rolldown" / "bin" / "cli.mjs"
PROGRAM = """async () => {
    const executor = new sdk.Executor()
    const done = await executor.run("return [1 + 1, 2 ** 40]", { language: "python" })
    const types = []
    for await (const event of executor.stream(done)) types.push(event.type)
    const refused = await executor.executions.get("none").catch((error) => error.name)
    const open = async () => new sdk.Executor({ url: "https://x.example" })
    const elsewhere = await open().catch((error) => error.message)
    return [done.status, done.result, types.at(-1), refused, elsewhere]
}"""


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> str:
    if not ROLLDOWN.is_file():
        pytest.skip("the packages of the web UI are not installed: `scripts/setup dev`")
    package = tmp_path_factory.mktemp("typescript") / "package"
    subprocess.run([sys.executable, ROOT / "scripts" / "sdk-typescript", package], check=True)
    options = ["--platform", "browser", "--format", "iife", "--name", "sdk", "--file", "bundle.js"]
    command = [node(), ROLLDOWN, "dist/index.js", *options]
    done = subprocess.run(command, cwd=package, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return (package / "bundle.js").read_text(encoding="utf-8")


def test_a_page_of_the_daemon_runs_code_with_its_cookie(visit: Any, bundle: str) -> None:
    assert "node:" not in bundle
    page = visit("/sources")
    page.evaluate(f"{bundle}\nwindow.sdk = sdk")
    status, result, last, refused, elsewhere = page.evaluate(PROGRAM)
    assert (status, result, last, refused) == ("completed", [2, 2**40], "execution.completed", "NotFound")
    assert "a token is missing" in elsewhere

"""The type checkers themselves, as tests need them: what do they say about this code and these declarations?"""

from __future__ import annotations

import asyncio
import json
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import executor
from executor.checking.checkers.python import PythonChecker
from executor.checking.diagnostics import Lines

TSC = Path(executor.__file__).parent / "checking" / "native" / "tsc"
OPTIONS = {
    "strict": True,
    "noEmit": True,
    "target": "es2022",
    "lib": ["es2022"],
    "types": [],
    "module": "esnext",
    "moduleDetection": "force",
}


def typescript_says(folder: Path, declarations: str, code: str) -> list[str]:
    """Also what is wrong with the declarations themselves."""
    if not TSC.exists():
        pytest.skip("the TypeScript checker is not part of this build")
    folder.mkdir(exist_ok=True)
    (folder / "tools.d.ts").write_text(declarations, encoding="utf-8")
    (folder / "main.ts").write_text(code, encoding="utf-8")
    settings = {"compilerOptions": OPTIONS, "files": ["tools.d.ts", "main.ts"]}
    (folder / "tsconfig.json").write_text(json.dumps(settings))
    done = subprocess.run([TSC, "-p", "."], cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    return [line for line in done.stdout.splitlines() if line.startswith(("main.ts", "tools.d.ts"))]


def python_says(declarations: str, code: str) -> list[str]:
    """In a thread, because some tests run a loop of their own."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, _python_says(declarations, code)).result()


async def _python_says(declarations: str, code: str) -> list[str]:
    checker = PythonChecker()
    try:
        findings, lines = await checker.check(code, declarations), Lines(code)
        return [f"main.py:{lines.place(one.start)[0]}: {one.code}: {one.message}" for one in findings]
    finally:
        await checker.close()

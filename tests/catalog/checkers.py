"""The type checkers themselves, as tests need them: what do they say about this code and these declarations?"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pydantic_monty
import pytest

import executor

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
    """The first line names nothing that exists, so the code is never run."""
    with (
        pydantic_monty.Monty() as pool,
        pool.checkout(type_check=True, type_check_stubs=declarations, type_check_format="concise") as session,
    ):
        try:
            session.feed_start(f"nothing_of_this_name\n{code}")
        except pydantic_monty.MontyTypingError as error:
            said = str(error).splitlines()
            assert any("nothing_of_this_name" in line for line in said)
            return [line for line in said if "error[" in line and "nothing_of_this_name" not in line]
    raise AssertionError("the checker did not look at the code")

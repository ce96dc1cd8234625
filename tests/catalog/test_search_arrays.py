"""numpy is loaded without threads of its own, and leaves the environment of commands as it was."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import executor

SEARCH = """
import os
import executor.catalog.search.ranking
from executor.catalog.search.arrays import THREADS, np
np.ones((400, 400)) @ np.ones((400, 400))
print(len(os.listdir("/proc/self/task")), os.environ.get(THREADS))
"""


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="threads are counted in /proc")
@pytest.mark.parametrize(("given", "left"), [(None, "1 None"), ("1", "1 1")])
def test_numpy_starts_no_threads(given: str | None, left: str) -> None:
    environ = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    environ |= {"OPENBLAS_NUM_THREADS": given} if given is not None else {}
    done = subprocess.run([sys.executable, "-c", SEARCH], env=environ, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == left


def test_numpy_is_imported_in_one_place() -> None:
    modules = Path(executor.__file__).parent.rglob("*.py")
    importing = [path.name for path in modules if "import numpy" in path.read_text("utf-8")]
    assert importing == ["arrays.py"]

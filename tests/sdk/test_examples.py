"""The programs in README.md and docs/sdk.md run as they are, and print what the page says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.daemon import Daemon

ROOT = Path(__file__).parents[2]
EXAMPLE = re.compile(r"^```py\n(from executor import .*?)^```\n+(?:```text\n(.*?)^```$)?", re.DOTALL | re.MULTILINE)
EXAMPLES = [
    pytest.param(program, printed, id=f"{page.name}-{number}")
    for page in (ROOT / "README.md", ROOT / "docs" / "sdk.md")
    for number, (program, printed) in enumerate(EXAMPLE.findall(page.read_text(encoding="utf-8")))
]


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 5


@pytest.mark.parametrize(("program", "printed"), EXAMPLES)
def test_an_example_prints_what_the_page_says(daemon: Daemon, tmp_path: Path, program: str, printed: str) -> None:
    (tmp_path / "example.py").write_text(program)
    done = subprocess.run(
        [sys.executable, "example.py"],
        cwd=tmp_path,
        env=daemon.environ,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert (done.stdout, done.returncode) == (printed, 0), done.stderr

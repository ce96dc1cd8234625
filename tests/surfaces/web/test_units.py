"""The modules of the web UI that need no browser have tests of their own, in `web/tests`: `npm test` runs them too."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support.packages import node_package

WEB = Path(__file__).parents[3] / "web"
VITEST = WEB / "node_modules" / "vitest" / "vitest.mjs"


def test_the_modules_that_need_no_browser_do_what_they_should() -> None:
    if not VITEST.is_file():
        pytest.skip("the packages of the web UI are not installed: `scripts/setup dev`")
    done = subprocess.run(
        [node_package() / "bin" / "node", VITEST, "run", "--reporter=dot"],
        cwd=WEB,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr

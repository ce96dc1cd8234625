"""`scripts/corpus --graphql` tells what calls ask for by themselves, and is not easily satisfied."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.sources.graphql.shapes import FORGE, SHOP, TRACKER

ROOT = Path(__file__).parents[3]
CAREFUL = "import runpy; runpy.run_module('corpus_check', run_name='__main__')"
CARELESS = (
    "import executor.sources.graphql.relevance as relevance;"
    "relevance.is_guarded = lambda text: False; relevance._PRIVATE = relevance.re.compile('\\0');"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, sdl in (("forge", FORGE), ("tracker", TRACKER), ("shop", SHOP)):
        (tmp_path / f"{name}.graphql").write_text(sdl)
    (tmp_path / "query.graphql").write_text("query { viewer { login } }")
    return tmp_path


def totals(code: str, folder: Path) -> tuple[int, dict[str, Any]]:
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT / 'scripts'}"}
    command = [sys.executable, "-c", code, "--graphql", "--json", str(folder)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout.splitlines()[-1])


def test_selections_are_valid_ask_for_nothing_guarded_and_lists_can_be_read_whole(folder: Path) -> None:
    code, total = totals(CAREFUL, folder)
    assert code == 0 and total["document"] == "3 schemas"
    assert total["selections"] >= 12 and not (total["invalid"] or total["guarded"] or total["deprecated"])
    assert (total["connections"], total["followed"], total["nested"]) == (3, 3, 3)


def test_a_selection_that_asks_for_what_needs_a_permission_is_seen(folder: Path) -> None:
    code, total = totals(CARELESS + CAREFUL, folder)
    assert code == 1 and total["guarded"] > 0

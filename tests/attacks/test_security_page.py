"""The table of attacks in docs/security.md is complete, and names tests that are there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def rows() -> dict[int, list[str]]:
    text = (ROOT / "docs" / "security.md").read_text()
    found = re.findall(r"^\| (\d+) \|.*\|(.*)\|$", text, re.MULTILINE)
    return {int(number): re.findall(r"`([^`]+::[^`]+)`", tests) for number, tests in found}


def test_every_attack_has_a_test_that_is_there() -> None:
    table = rows()
    assert set(range(1, 75)) <= set(table) and all(table.values())
    for test in (one for tests in table.values() for one in tests):
        file, _, name = test.partition("::")
        assert f"def {name}(" in (ROOT / "tests" / file).read_text(), test

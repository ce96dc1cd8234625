"""The public conformance suite, against both sides of Executor, at both revisions."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance import trials
from tests.conformance.exceptions import EXCEPTIONS
from tests.conformance.suite import REVISIONS

LEAST = {("server", "2025-11-25"): 33, ("server", "2026-07-28"): 50, ("client", "2025-11-25"): 25,
         ("client", "2026-07-28"): 39}  # fmt: skip


@pytest.mark.parametrize("revision", REVISIONS)
def test_the_server_passes_everything_but_the_exceptions(revision: str, tmp_path: Path) -> None:
    found = trials.run_server(revision, tmp_path / "run")
    assert len(found) >= LEAST["server", revision]
    assert trials.find_unexpected("server", found) == []


@pytest.mark.parametrize("revision", REVISIONS)
def test_the_client_passes_everything_but_the_exceptions(revision: str, tmp_path: Path) -> None:
    found = trials.run_client(revision, tmp_path / "run")
    assert len(found) >= LEAST["client", revision]
    assert trials.find_unexpected("client", found) == []


def test_the_documentation_lists_every_exception_with_its_reason() -> None:
    page = (Path(__file__).parents[2] / "docs" / "conformance.md").read_text()
    for side, listed in EXCEPTIONS.items():
        for name, reason in listed.items():
            assert f"`{name}`" in page, (side, name)
            assert reason in page, (side, name)

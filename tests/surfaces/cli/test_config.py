"""`executor config`: a file is checked, compared, shown before it is applied, and refused if it changes meanwhile."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.surfaces.api.daemon_server import running_upstream
from tests.surfaces.cli.conftest import Cli
from tests.surfaces.cli.test_call import read_until, terminal


@pytest.fixture
def file(shared: Cli, tmp_path: Path) -> Iterator[Path]:
    with running_upstream() as (address, _):
        made = tmp_path / "executor.yaml"
        made.write_text(f"sources:\n  - {{type: openapi, name: filed, spec: {address}/openapi.json}}\n")
        yield made
        shared("sources", "remove", "filed")


def test_a_file_is_compared_and_applied_once(shared: Cli, file: Path) -> None:
    shown = shared("config", "diff", str(file))
    assert shown.code == 0 and shown.out.startswith("+ source filed\n")
    refused = shared("config", "apply", str(file))
    assert refused.code == 2 and "--yes" in refused.err
    done = shared("config", "apply", str(file), "--yes")
    assert done.code == 0 and "applied 1 change" in done.err
    again = shared("config", "apply", str(file), "--json")
    assert again.code == 0 and [one["action"] for one in again.json["changes"]] == ["none"]
    file.write_text("sources: []\n")
    assert "! source filed" in shared("config", "diff", str(file)).out
    assert "- source filed" in shared("config", "diff", str(file), "--prune").out


def test_what_is_wrong_is_named_with_its_place(shared: Cli, file: Path) -> None:
    file.write_text(f"{file.read_text()}  - {{type: mcp, name: other, adress: x}}\n")
    checked = shared("config", "check", str(file))
    assert checked.code == 1 and "executor.yaml: sources[1].url: `url` is missing" in checked.err
    assert shared("config", "check", str(file), "--json").json["problems"][0]["place"].endswith("sources[1].url")
    applied = shared("config", "apply", str(file), "--yes")
    assert applied.code == 1 and "applied 1 change" in applied.err
    file.write_text("sources:\n  - {type: mcp, name: other, urll: x}\n  - {type: openapj, name: more, speck: y}\n")
    wrong = shared("config", "check", str(file))  # the source that was applied is not in it
    assert "`urll` is an unknown key, did you mean `url`?" in wrong.err
    assert "`speck` is an unknown key" in wrong.err and "did you mean `openapi`?" in wrong.err
    assert wrong.err.endswith("0 valid entries, 2 problems\n")
    assert shared("config", "check", str(file.with_name("none.toml"))).code == 2


def test_a_file_that_changes_after_it_was_shown_is_not_applied(shared: Cli, file: Path) -> None:
    with terminal(shared, "config", "apply", str(file)) as (_, screen):
        read_until(screen, "apply these changes?")
        file.write_text("sources: []\n")
        os.write(screen, b"y\n")
        assert "changed after its differences were shown" in read_until(screen, "start again")
    assert "filed" not in shared("sources", "list").out

"""Code that can't be run is refused before anything is started for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from executor.surfaces.cli import exit_codes
from tests.surfaces.cli.conftest import Cli, Outcome

SHAPE = {"executionId", "status", "result", "error", "interactions", "logs"}


def expect_refusal(cli: Cli, done: Outcome, code: str) -> None:
    assert done.code == exit_codes.USAGE
    assert set(done.json) == SHAPE
    assert done.json["executionId"] is None
    assert done.json["error"]["code"] == code
    assert done.json["error"]["hint"]
    assert not cli.data_dir.exists()


@pytest.mark.parametrize("code", ["", "  \n\t "])
def test_empty_code_is_refused(cli: Cli, code: str) -> None:
    expect_refusal(cli, cli("call", "--json", code), "empty_code")
    expect_refusal(cli, cli("call", "--json", "--stdin", stdin=code), "empty_code")


def test_a_missing_file_is_named(cli: Cli) -> None:
    done = cli("call", "--json", "--file", "none.ts")
    expect_refusal(cli, done, "invalid_request")
    assert "none.ts" in done.json["error"]["message"]


def test_ten_megabytes_of_code_are_refused(cli: Cli, tmp_path: Path) -> None:
    code = "a" * 10_000_000
    (tmp_path / "big.ts").write_text(code)
    expect_refusal(cli, cli("call", "--json", "--file", str(tmp_path / "big.ts")), "code_too_large")
    expect_refusal(cli, cli("call", "--json", "--stdin", stdin=code), "code_too_large")


def test_code_comes_from_exactly_one_place(cli: Cli) -> None:
    expect_refusal(cli, cli("call", "--json"), "invalid_request")
    expect_refusal(cli, cli("call", "--json", "return 1", "--stdin", stdin="return 2"), "invalid_request")


def test_code_that_is_not_utf_8_is_refused_with_the_place(cli: Cli) -> None:
    done = cli("call", "--json", "--stdin", stdin=b"return '\xff'")
    expect_refusal(cli, done, "invalid_request")
    assert "byte 9" in done.json["error"]["message"]


def test_a_directory_is_no_file(cli: Cli, tmp_path: Path) -> None:
    expect_refusal(cli, cli("call", "--json", "--file", str(tmp_path)), "invalid_request")

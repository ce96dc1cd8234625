"""`executor call` in Python: by option, by the file's name, by the runtime."""

from __future__ import annotations

from pathlib import Path

import pytest

from executor.surfaces.cli import exit_codes
from tests.surfaces.cli.conftest import Cli


def test_python_is_run_by_option_or_by_the_files_name(shared: Cli, tmp_path: Path) -> None:
    file = tmp_path / "report.py"
    file.write_text("import json\nprint('hello')\njson.loads('[1, 2]')\n")
    by_option = shared("call", "--json", "--language", "python", "sum([1, 2])")
    by_name = shared("call", "--json", "--file", str(file))
    by_runtime = shared("call", "--json", "--runtime", "python", "3 * 3")
    assert [done.json["result"] for done in (by_option, by_name, by_runtime)] == [3, [1, 2], 9]
    assert {done.json["language"] for done in (by_option, by_name, by_runtime)} == {"python"}
    assert [line["text"] for line in by_name.json["logs"]] == ["hello"]


@pytest.mark.parametrize("suffix", [".ts", ".js"])
def test_other_files_are_typescript(shared: Cli, tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"report{suffix}"
    file.write_text("return [1].map((n) => n + 1)")
    assert shared("call", "--json", "--file", str(file)).json["language"] == "typescript"


def test_what_python_lacks_is_reported_with_line_and_hint(shared: Cli) -> None:
    done = shared("call", "--language", "python", "name = 'a.txt'\nopen(name)")
    assert done.code == exit_codes.FAILED
    assert "line 2" in done.err
    assert "there are no files here" in done.err


def test_a_runtime_that_is_not_there_is_a_usage_error(shared: Cli) -> None:
    done = shared("call", "--json", "--runtime", "basement", "1")
    assert done.code == exit_codes.USAGE
    assert done.json["error"]["code"] == "unknown_runtime"


@pytest.mark.parametrize(
    ("language", "signature"), [("typescript", "discover(args?: {"), ("python", "async def discover")]
)
def test_a_type_error_is_shown_with_the_signature(shared: Cli, language: str, signature: str) -> None:
    code = "await tools.discover({query: 5})" if language == "typescript" else "await tools.discover(query=5)"
    done = shared("call", "--language", language, code)
    assert done.code == exit_codes.FAILED
    assert "type_error" in done.err
    assert signature in done.err

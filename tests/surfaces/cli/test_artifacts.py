"""`executor artifacts` as a user runs it."""

from __future__ import annotations

import base64
import json
from pathlib import Path

from executor.surfaces.cli import exit_codes
from tests.surfaces.cli.conftest import Cli


def test_a_large_result_is_printed_whole_listed_shown_saved_and_deleted(shared: Cli, tmp_path: Path) -> None:
    called = shared("call", "--json", "return Array.from({length: 5000}, (_, i) => ({id: i}))")
    assert called.code == exit_codes.COMPLETED and len(called.json["result"]) == 5_000
    kept, execution = called.json["artifact"]["id"], called.json["executionId"]
    [listed] = shared("artifacts", "list", "--execution", execution, "--json").json["items"]
    assert listed["id"] == kept
    assert kept in shared("artifacts", "list").out
    shown = shared("artifacts", "show", kept)
    assert "result.json" in shown.out and "of 5000 items shown" in shown.err
    assert json.loads(shared("artifacts", "get", kept).out) == called.json["result"]
    target = tmp_path / "result.json"
    saved = shared("artifacts", "get", kept, "-o", str(target))
    assert saved.code == exit_codes.COMPLETED and json.loads(target.read_bytes()) == called.json["result"]
    assert target.stat().st_mode & 0o777 == 0o600
    refused = shared("artifacts", "get", kept, "-o", str(target))
    assert refused.code == exit_codes.USAGE and "--force" in refused.err
    assert shared("artifacts", "get", kept, "-o", str(target), "--force", "--json").json["file"] == str(target)
    assert shared("artifacts", "delete", kept).out == f"deleted {kept}\n"
    gone = shared("artifacts", "get", kept, "--json")
    assert gone.code == exit_codes.FAILED and gone.json["error"]["code"] == "not_found"


def test_a_file_goes_through_a_pipe_byte_by_byte(shared: Cli) -> None:
    data = base64.b64encode(bytes(range(256)) * 30).decode()
    called = shared("call", "--json", f'return {{contentType: "image/png", base64: "{data}"}}')
    listed = shared("artifacts", "list", "--execution", called.json["executionId"], "--json").json["items"]
    picture = next(one for one in listed if one["mediaType"] == "image/png")
    import subprocess

    command = shared.command("artifacts", "get", picture["id"])
    done = subprocess.run(command, env=shared.environment, capture_output=True, check=True)
    assert done.stdout == base64.b64decode(data)

"""`scripts/corpus` tells what of a document can be called, and is not easily satisfied."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.sources.openapi.documents import answers, document, json_body

ROOT = Path(__file__).parents[3]
FIXTURES = Path(__file__).parent / "fixtures"
PARAMETERS = [
    {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}},
    {
        "name": "tags",
        "in": "query",
        "style": "pipeDelimited",
        "explode": False,
        "schema": {"type": "array", "items": {"type": "string"}},
    },
    {
        "name": "deep",
        "in": "query",
        "style": "deepObject",
        "schema": {"type": "object", "properties": {"a": {"type": "integer"}}},
    },
    {"name": "X-Thing", "in": "header", "required": True, "schema": {"type": "integer"}},
    {"name": "session", "in": "cookie", "required": True, "schema": {"type": "string"}},
]
UPLOAD = {
    "type": "object",
    "properties": {"file": {"type": "string", "format": "binary"}, "n": {"type": "integer"}},
    "required": ["file"],
}
PATHS = {
    "/things/{id}": {
        "get": {"parameters": PARAMETERS, "responses": answers({"type": "array", "minItems": 1, "items": {}})},
        "put": {"parameters": PARAMETERS[:1], "requestBody": json_body({"type": "object"})},
    },
    "/upload": {"post": {"requestBody": {"required": True, "content": {"multipart/form-data": {"schema": UPLOAD}}}}},
    "/broken": {"get": {"parameters": [{"$ref": "#/nowhere"}]}},
}


def run(folder: Path, *arguments: str, patch: str = "") -> list[dict[str, Any]]:
    start = "sys.argv = ['corpus', *sys.argv[1:]]\nrunpy.run_module('corpus_check', run_name='__main__')"
    code = f"import runpy, sys\n{patch}\n{start}"
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT / 'scripts'}"}
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder), "--json", *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    servers = [{"url": "https://api.example.com"}]
    (tmp_path / "a.json").write_text(json.dumps(document(PATHS, servers=servers)))
    (tmp_path / "b.json").write_text('{"openapi": "3.0.0", "paths": {}}')
    (tmp_path / "package.json").write_text('{"name": "no document"}')
    return tmp_path


def test_every_operation_is_called_or_named_with_its_reason(folder: Path) -> None:
    first, second, totals = run(folder)
    assert (first["document"], first["operations"], first["usable"]) == ("a.json", 4, 3)
    (reason,) = first["named"]
    assert reason.startswith("GET /broken: a parameter can't be read")
    assert first["peak_mb"] > 0
    assert (second["loaded"], "no operations" in second["error"]) == (False, True)
    assert totals["totals"]["documents"] == 2 and totals["totals"]["usable"] == 3


def test_documents_with_the_habits_of_real_ones_are_usable_as_a_whole() -> None:
    *found, totals = run(FIXTURES)
    assert {one["document"]: (one["named"], one["error"]) for one in found if one["usable"] != one["operations"]} == {}
    assert (totals["totals"]["loaded"], totals["totals"]["usable"]) == (6, 36)


def test_a_run_goes_on_where_an_earlier_one_ended(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "results.jsonl"
    assert len(run(folder, "--out", str(out), "--only", "a*")) == 2
    with out.open("a") as file:
        file.write('{"document": "cut in the mid')
    first, totals = run(folder, "--out", str(out), "--jobs", "2")
    assert first["document"] == "b.json" and totals["totals"]["documents"] == 2
    assert len(run(folder, "--out", str(out))) == 1
    *again, _ = run(folder, "--out", str(out), "--again")
    assert [one["document"] for one in again] == ["a.json", "b.json"]


@pytest.mark.parametrize(
    "patch",
    [
        "import executor.sources.openapi.calls.results as r; r.read_json = lambda body: ('{}', {})",
        "import executor.sources.openapi.tools.servers as s; s.fill = lambda *given: 'https://elsewhere.example'",
        "import executor.sources.openapi.calls.parameter_styles as e; e.SEPARATORS['pipeDelimited'] = ','",
        "import executor.sources.openapi.calls.request as r; r.header_value = lambda parameter, value: 'wrong'",
        "import executor.sources.openapi.calls.request as r;"
        " r.payload = lambda body, value: (b'{}', body['mediaType'])",
    ],
)
def test_what_arrives_otherwise_than_the_document_says_is_not_usable(folder: Path, patch: str) -> None:
    first, *_ = run(folder, "--limit", "1", patch=patch)
    assert first["usable"] < 3

"""`scripts/corpus --stability` sees tools that another process would make otherwise of the same document."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.sources.openapi.documents import answers, document

ROOT = Path(__file__).parents[3]
PARTS = [f"part{number}" for number in range(6)]
# What readings of a document must never depend on: the hash seed, the order in which files arrive, and whether it is
# the first reading. Each goes for one tool, and the last for its signature alone.
UNSTABLE = """
from dataclasses import replace
from executor.sources.openapi import kind
from executor.sources.openapi.documents import fetch

read, build, arrived = fetch.read_file, kind.read_catalog, []

def noted(path, *rest):
    arrived.append(path)
    return read(path, *rest)

def unstable(request, *parts, **rest):
    loaded = build(request, *parts, **rest)
    order = str(arrived)
    arrived.clear()
    shuffled = {name: {} for name in {"a", "b", "c", "d", "e"}}
    odd = {
        "it.g.seeded": {"description": str(hash("text"))},
        "it.g.arrived": {"description": order},
        "it.g.renewed": {"path": "it.g.renewedAgain"} if request.names else {},
        "it.g.signed": {"output_schema": {"type": "object", "properties": shuffled}},
    }
    return replace(loaded, tools=tuple(replace(tool, **odd.get(tool.path, {})) for tool in loaded.tools))

fetch.read_file, kind.read_catalog = noted, unstable
"""


def test_what_differs_between_processes_is_named_and_nothing_else(tmp_path: Path) -> None:
    names = ["steady", "seeded", "arrived", "renewed", "signed"]
    schema = {"type": "object", "properties": {one: {"$ref": f"{one}.json"} for one in PARTS}}
    paths = {f"/{name}": {"get": {"operationId": name, "tags": ["g"], "responses": answers(schema)}} for name in names}
    whole = document(paths, info={"title": "It", "version": "1"}, servers=[{"url": "https://api.example.com"}])
    folder, patches = tmp_path / "documents", tmp_path / "patches"
    folder.mkdir(), patches.mkdir()
    (folder / "it.json").write_text(json.dumps(whole))
    for part in PARTS:
        (folder / f"{part}.json").write_text('{"type": "string"}')
    (patches / "sitecustomize.py").write_text(UNSTABLE)
    done = subprocess.run(
        [sys.executable, "-m", "corpus_check", str(folder), "--stability", "--json"],
        env={**os.environ, "PYTHONPATH": f"{patches}:{ROOT / 'src'}:{ROOT / 'scripts'}"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    found, totals = map(json.loads, done.stdout.splitlines())
    assert found["named"] == [
        "it.g.arrived: Python, TypeScript, description not the same in all readings (refreshed)",
        "it.g.renewed: only some readings have it (refreshed)",
        "it.g.renewedAgain: only some readings have it (refreshed)",
        "it.g.seeded: Python, TypeScript, description not the same in all readings (refreshed)",
        "it.g.signed: Python, TypeScript not the same in all readings (refreshed)",
    ]
    assert (found["tools"], totals["totals"]["unstable"]) == (5, 5)

"""What describing a tool costs: time on GitHub's document, and tokens beside one MCP tool for each operation."""

from __future__ import annotations

import asyncio
import json
import random
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks import catalogs, documents
from benchmarks.measures import Rows
from benchmarks.series import Series
from executor.catalog.catalog import Catalog
from executor.model.language import Language
from executor.sources.source_request import SourceRequest
from executor.surfaces.mcp.tool_definitions import TOOLS

LANGUAGES: tuple[Language, ...] = ("typescript", "python")
QUERIES = ("github create issue", "github list pull requests", "github merge pull request", "github get repository")


def measure(*, quick: bool, say: Callable[[str], None]) -> Rows:
    try:
        path = documents.github()
    except documents.Unavailable as reason:
        say(f"describe: skipped: {reason}")
        return {}
    say("describe: GitHub's document")
    return asyncio.run(described(path.read_bytes(), 100 if quick else 1_000))


async def described(document: bytes, amount: int) -> Rows:
    with tempfile.TemporaryDirectory(prefix="executor-bench-") as folder:
        async with catalogs.opened(Path(folder)) as (catalog, _, workspace_id):
            request = SourceRequest(kind="openapi", location="github.json", document=document, namespace="github")
            await catalog.add_source(workspace_id, request)
            heads = await catalog.page(workspace_id, limit=5_000)
            paths = [head.path for head in heads]
            random.Random(1).shuffle(paths)
            rows: Rows = {}
            for language in LANGUAGES:
                rows |= await times(catalog, workspace_id, paths[:amount], language)
            return rows | await tokens(catalog, workspace_id, paths)


async def times(catalog: Catalog, workspace_id: str, paths: list[str], language: Language) -> Rows:
    first = [await timed(catalog, workspace_id, path, language) for path in paths]
    again = [await timed(catalog, workspace_id, paths[-1], language) for _ in paths]
    label = f"describe a tool of GitHub's document in {language}"
    return {
        f"{label}, first time": Series("ms", [wall for wall, _ in first], sum(cpu for _, cpu in first)),
        f"{label}, first time, CPU": Series("ms", [cpu for _, cpu in first]),
        f"{label}, again": Series("ms", [wall for wall, _ in again], sum(cpu for _, cpu in again)),
    }


async def timed(catalog: Catalog, workspace_id: str, path: str, language: Language) -> tuple[float, float]:
    """Milliseconds: by the clock, and of this process."""
    started, cpu = time.perf_counter(), time.process_time()
    await catalog.describe(workspace_id, path, language=language)
    return (time.perf_counter() - started) * 1000, (time.process_time() - cpu) * 1000


async def tokens(catalog: Catalog, workspace_id: str, paths: list[str]) -> Rows:
    offered, per_operation = count({"tools": TOOLS}), 0
    answers: dict[str, list[float]] = {language: [] for language in LANGUAGES}
    for path in paths:
        for language in LANGUAGES:
            answers[language].append(count(await catalog.describe(workspace_id, path, language=language)))
        if not path.endswith(".all"):  # not an operation of the document
            per_operation += count(await as_mcp_tool(catalog, workspace_id, path))
    found = [count(await catalog.search(workspace_id, query, limit=5)) for query in QUERIES]
    return {
        "tokens of tools/list": Series("tokens", [offered]),
        "tokens of a discover answer, 5 tools": Series("tokens", found),
        **{f"tokens of a describe answer in {one}": Series("tokens", each) for one, each in answers.items()},
        "tokens of tools/list with one MCP tool an operation": Series("tokens", [per_operation]),
    }


async def as_mcp_tool(catalog: Catalog, workspace_id: str, path: str) -> dict[str, Any]:
    """What a server that offers each operation as a tool would say of it, result left out."""
    told = await catalog.describe(workspace_id, path, include_schemas=True, budget=20_000)
    return {"name": path, "description": told["description"], "inputSchema": told["inputSchema"]}


@cache
def tokenizer() -> Any:
    from splintr import Tokenizer

    return Tokenizer.from_pretrained("o200k_base")


def count(value: Any) -> float:
    return float(len(tokenizer().encode(json.dumps(value, ensure_ascii=False))))

"""One reading of documents, in a process with a hash seed of its own: what each tool of them is.

`python -m corpus_check.fingerprints ORDER` reads paths from standard input, one a line, and prints a JSON object for
each: `fresh` and `refreshed` map the path of every tool to its fingerprint, `error` says why there are none. `ORDER`
seeds the order in which the files of a document arrive.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from executor.catalog.signatures.signature import signature
from executor.errors import ExecutorError
from executor.model.source import Loaded
from executor.model.tool import Tool
from executor.network.client import Egress
from executor.sources.documents.rows import pack
from executor.sources.graphql.loader import build_catalog
from executor.sources.openapi.documents import linked_files
from executor.sources.openapi.kind import OpenApi
from executor.sources.source_request import Previous, SourceRequest

from .check import content, load, unpacked
from .graphql_schemas import ENDPOINT, is_schema


class Shuffled:
    """Of the files that are asked for at the same time, one after the other arrives, in an order of its own."""

    def __init__(self, fetch: linked_files.Fetch, chance: random.Random) -> None:
        self._fetch, self._chance = fetch, chance
        self._waiting: list[str] = []
        self._next = ""
        self._changed = asyncio.Condition()

    async def __call__(self, uri: str) -> bytes:
        self._waiting.append(uri)
        await asyncio.sleep(0)
        async with self._changed:
            await self._changed.wait_for(lambda: self._choose() == uri)
            try:
                return await self._fetch(uri)
            finally:
                self._waiting.remove(uri)
                self._next = ""
                self._changed.notify_all()

    def _choose(self) -> str:
        self._next = self._next or self._chance.choice(self._waiting)
        return self._next


def shuffle_files(order: int) -> None:
    gather, chance = linked_files.gather, random.Random(order)

    async def shuffled(root: Any, address: str, fetch: linked_files.Fetch, *rest: Any) -> Any:
        return await gather(root, address, Shuffled(fetch, chance), *rest)

    linked_files.gather = shuffled


async def read_twice(kind: OpenApi, path: Path) -> dict[str, Any]:
    """As a source that is added, and as one that is refreshed and knows the names its tools have."""
    try:
        fresh = await read_once(kind, path, {})
        tools = unpacked(fresh)[0]
        names = {one.binding["operation"]: one.path.partition(".")[2] for one in tools if "operation" in one.binding}
        return {"fresh": fingerprints(fresh), "refreshed": fingerprints(await read_once(kind, path, names))}
    except ExecutorError as error:
        return {"error": f"{error.message} ({error.hint})"[:500]}


async def read_once(kind: OpenApi, path: Path, names: dict[str, str]) -> Loaded:
    if is_schema(path):
        request = SourceRequest(namespace="it", base_url=ENDPOINT, location=str(path), previous=Previous(names=names))
        loaded = build_catalog(request, content(path), ENDPOINT, [])
    else:
        loaded = await load(kind, path, names)
    return replace(loaded, packed=pack(loaded))


def fingerprints(loaded: Loaded) -> dict[str, str]:
    tools, definitions = unpacked(loaded)
    return {tool.path: fingerprint(tool, definitions) for tool in tools}


def fingerprint(tool: Tool, definitions: dict[str, Any]) -> str:
    """Of everything that a person approves or an agent reads."""
    parts = {
        "digest": tool.schema_digest,
        "description": tool.description,
        "tags": json.dumps(tool.tags),
        "TypeScript": signature(tool, definitions, language="typescript"),
        "Python": signature(tool, definitions, language="python"),
    }
    return " ".join(f"{name}={hashlib.sha256(part.encode()).hexdigest()[:12]}" for name, part in parts.items())


async def main(order: int) -> None:
    shuffle_files(order)
    egress = Egress()
    kind = OpenApi(egress, load_seconds=300)
    for line in sys.stdin:
        print(json.dumps(await read_twice(kind, Path(line.rstrip("\n")))), flush=True)
    await egress.close()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))

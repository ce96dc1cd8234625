"""What a type check costs: the first one, warm ones of code never seen before, and the memory of the checkers."""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
import time
from collections.abc import Awaitable, Callable
from typing import Any

from benchmarks import processes
from benchmarks.measures import Rows
from benchmarks.series import Series
from executor.daemon.wiring.executor import Executor
from executor.runtime.worker.memory import resident_bytes
from executor.settings import Settings
from executor.sources.source_request import SourceRequest

COUNTS = (1_000, 10_000)
GROUP = 10
CODES = {
    "typescript": """// {number}
const listed = await tools.api.things{a}.list({{limit: 10, state: "open"}});
const made = await tools.api.things{b}.create({{name: "x", size: listed.length, state: "open"}});
for (const one of [1, 2, 3]) console.log(one, made.id);
return await tools.api.things{a}.get({{id: String(made.id)}});
""",
    "python": """# {number}
listed = await tools.api.things{a}.list(limit=10, state="open")
made = await tools.api.things{b}.create(name="x", size=3, state="open")
for one in [1, 2, 3]:
    print(one, made["id"])
await tools.api.things{a}.get(id=str(made["id"]))
""",
}


def measure(*, quick: bool, say: Callable[[str], None]) -> Rows:
    rows: Rows = {}
    for count in COUNTS:
        say(f"checking: {count:,} tools")
        rows |= asyncio.run(checked(count, 15 if quick else 60))
    return rows


async def checked(count: int, amount: int) -> Rows:
    with tempfile.TemporaryDirectory(prefix="executor-bench-") as folder:
        settings = Settings.load({"EXECUTOR_DATA_DIR": folder, "EXECUTOR_WORKERS": "1"})
        settings.state_dir.mkdir(parents=True, exist_ok=True)
        executor = await Executor.open(settings)
        try:
            source = SourceRequest(kind="openapi", location="api.json", document=document(count), namespace="api")
            await executor.catalog.add_source(executor.tenancy.workspace.id, source)
            return await taken(executor, count, amount)
        finally:
            await executor.close()


async def taken(executor: Executor, count: int, amount: int) -> Rows:
    rows: Rows = {}
    workspace_id = executor.tenancy.workspace.id
    await executor.checker.names(workspace_id)
    await asyncio.sleep(1.5)  # until what follows a change of the catalog is done
    for language in CODES:
        label = f"type check, {language}, {count:,} tools"

        async def one(number: int, language: str = language) -> None:
            verdict = await executor.checker.verdict(workspace_id, language, code(language, number, count))
            assert not verdict.unavailable and not verdict.errors, verdict

        rows[f"{label}: first"] = await timed(one, 1)
        rows[f"{label}: warm, new code"] = await timed(one, amount, start=1)
        rows[f"{label}: same code again"] = await timed(lambda number: one(0), amount)
    for name, checker in (("TypeScript", executor.checker.typescript), ("Python", executor.checker.python)):
        rows[f"memory of the {name} checker, {count:,} tools"] = Series("MB", [resident_bytes(checker.pid) / 1e6])
    text = "await tools.api.things7.create({name: 'x', st"

    async def complete(number: int) -> None:
        assert await executor.checker.complete(workspace_id, "typescript", f"// {number}\n{text}", len(text) + 9)

    rows[f"completion, {count:,} tools"] = await timed(complete, amount)
    return rows


async def timed(work: Callable[[int], Awaitable[Any]], amount: int, *, start: int = 0) -> Series:
    before, samples = processes.cpu_seconds(os.getpid()), []
    for number in range(start, start + amount):
        began = time.perf_counter()
        await work(number)
        samples.append((time.perf_counter() - began) * 1000)
    return Series("ms", samples, (processes.cpu_seconds(os.getpid()) - before) * 1000)


def code(language: str, number: int, count: int) -> str:
    groups = count // GROUP
    return CODES[language].format(number=number, a=number % groups, b=(number * 7 + 1) % groups)


def document(count: int) -> bytes:
    """`count` operations, ten for each resource, with bodies of a shared type."""
    text, number = {"type": "string"}, {"type": "integer"}
    state = {"enum": ["open", "closed", "all"]}
    thing = {"type": "object", "properties": {"id": number, "name": text, "size": number, "state": state}}
    schemas, paths = {"Thing": thing}, dict[str, Any]()
    for group in range(count // GROUP):
        schemas[f"New{group}"] = {**thing, "required": ["name"], "additionalProperties": False}
        paths |= resource(group)
    return json.dumps({
        "openapi": "3.1.0", "info": {"title": "Made", "version": "1"}, "servers": [{"url": "https://made.example"}],
        "components": {"schemas": schemas}, "paths": paths,
    }).encode()  # fmt: skip


def resource(group: int) -> dict[str, Any]:
    thing = {"$ref": "#/components/schemas/Thing"}
    body = {"content": {"application/json": {"schema": {"$ref": f"#/components/schemas/New{group}"}}}, "required": True}
    listing = [{"name": "limit", "in": "query", "schema": {"type": "integer"}}]
    listing.append({"name": "state", "in": "query", "schema": {"enum": ["open", "closed"]}})
    by_id = [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}]

    def operation(verb: str, result: dict[str, Any], **more: Any) -> dict[str, Any]:
        answer = {"description": "done", "content": {"application/json": {"schema": result}}}
        return {"operationId": f"{verb}Things{group}", "tags": [f"things{group}"], "responses": {"200": answer}, **more}

    root = f"/things{group}"
    found: dict[str, Any] = {
        root: {
            "get": operation("list", {"type": "array", "items": thing}, parameters=listing),
            "post": operation("create", thing, requestBody=body),
        },
        f"{root}/{{id}}": {
            "get": operation("get", thing, parameters=by_id),
            "delete": operation("delete", thing, parameters=by_id),
        },
    }
    for extra in range(GROUP - 4):
        found[f"{root}/{{id}}/extra{extra}"] = {"get": operation(f"extra{extra}", thing, parameters=by_id)}
    return found

"""One document: loaded, every operation shown, called and compared."""

from __future__ import annotations

import os
import re
import resource
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from executor.catalog.signatures.signature import signature
from executor.errors import DocumentInvalid, ExecutorError, ToolError
from executor.model.source import Loaded, Source
from executor.model.tool import Tool
from executor.network.client import Egress
from executor.schemas.validation import compile_schema
from executor.schemas.validation import problems as invalid
from executor.sources.documents import rows
from executor.sources.openapi.kind import OpenApi
from executor.sources.source_request import Consent, Previous, SourceRequest
from executor.storage.catalog.definitions import with_definitions

from . import addresses, arrivals
from .calls import Impossible, make, parameters
from .documents import Document, keys, read
from .replies import reply_to
from .result import Result
from .server import Server
from .values import Maker

BASE = "/base"
CREDENTIAL = re.compile(
    r"^(x[-_])?(auth|authorization|token|secret|password)$|(api|access|auth|app|client|secret|session)[-_]?(key|token|secret)$",
    re.IGNORECASE,
)
# Ways to make up a call, from the plainest to the fullest; all that are accepted are sent.
WAYS = [
    {"full": False, "choice": 0, "odd": True, "examples": False},
    {"full": True, "choice": 0, "odd": False, "examples": False},
    {"full": False, "choice": 0, "odd": False, "examples": True},
    {"full": False, "choice": 1, "odd": False, "examples": False},
    {"full": True, "choice": 1, "odd": False, "examples": True},
    {"full": False, "choice": 2, "odd": False, "examples": True},
]


async def check(path: Path, name: str) -> Result:
    result = Result(name)
    async with local_service(result) as (kind, server):
        started = cpu_seconds()
        loaded = await load(kind, path)
        result.seconds, result.peak_mb = round(cpu_seconds() - started, 3), peak_mb()
        result.loaded = True
        await check_operations(kind, server, path, loaded, result)
    return result


@asynccontextmanager
async def local_service(result: Result) -> AsyncIterator[tuple[OpenApi, Server]]:
    """The product's reading of documents and a server for its calls; what goes wrong with a document is its result."""
    egress, server = Egress(), Server()
    await server.start()
    try:
        yield OpenApi(egress, load_seconds=300), server
    except ExecutorError as error:
        result.error = f"{error.message} ({error.hint})"[:500]
    finally:
        await server.stop()
        await egress.close()


async def load(kind: OpenApi, path: Path, names: dict[str, str] | None = None) -> Loaded:
    """As a file that an operator adds; with a base URL only if the document names no server that could be used.

    `names` are those that its tools have already, by operation.
    """
    request = SourceRequest(
        kind="openapi",
        location=str(path),
        document=content(path),
        consented=Consent(private_network=True),
        previous=Previous(names=names) if names else None,
    )
    try:
        return await kind.load(request)
    except ExecutorError as error:
        if isinstance(error, DocumentInvalid) and "baseUrl" not in error.hint:
            raise
        return await kind.load(replace(request, base_url="https://api.example.com"))


def cpu_seconds() -> float:
    """Of this process and those it waited for: large documents are read in one of their own."""
    return sum(os.times()[:4])


def peak_mb() -> int:
    """So far: what the checker itself needs afterwards is not the product's."""
    return max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) // 1024


def content(path: Path) -> bytes:
    return path.read_bytes()


def unpacked(loaded: Loaded) -> tuple[list[Tool], dict[str, Any]]:
    if loaded.packed is None:
        return list(loaded.tools), dict(loaded.definitions)
    definitions = {
        row.name: orjson.loads(row.schema)
        for piece in loaded.packed.definitions
        for row in rows.definition_rows_of(piece)
    }
    tools = [
        Tool(
            path=row.path,
            source_id="",
            description=row.description,
            effect=row.effect,  # type: ignore[arg-type]
            input_schema=orjson.loads(row.input_schema),
            output_schema=None if row.output_schema is None else orjson.loads(row.output_schema),
            binding=orjson.loads(row.binding),
            tags=tuple(orjson.loads(row.tags)),
            schema_digest=row.schema_digest,
        )
        for piece in loaded.packed.tools
        for row in rows.tool_rows(piece)
    ]
    return tools, definitions


async def check_operations(kind: OpenApi, server: Server, path: Path, loaded: Loaded, result: Result) -> None:
    document = Document(path, keys(read(path)))
    result.version = str(document.root.get("openapi", document.root.get("swagger")))
    tools, definitions = unpacked(loaded)
    result.tools = len(tools)
    by_operation = {(tool.binding["method"], tool.binding["path"]): tool for tool in tools if "all" not in tool.binding}
    skipped = {one.where: one.reason for one in loaded.skipped}
    source = Source(
        "s", "w", "openapi", loaded.namespace, loaded.name, {"base_url": server.url + BASE, "origins": [server.url]}
    )
    has_base_url = bool(loaded.config["given_base_url"])
    reasons: Counter[str] = Counter()
    for method, template, operation, item in document.operations():
        result.operations += 1
        tool = by_operation.get((method, template))
        if tool is None:
            problem = skipped.get(f"{method} {template}") or skipped.get(template) or "it is missing without a reason"
        else:
            where = (method, template, operation, item)
            result.by_hand += len(credentials_by_hand(document, where, tool))
            problem = "" if has_base_url else addresses.problem(document, item, operation, tool.binding["server"])
            tool = replace(tool, binding={**tool.binding, "server": ""})
            problem = problem or await called(kind, server, document, where, tool, definitions, source)
        if problem:
            reasons[general(problem)] += 1
            result.named.append(f"{method} {template}: {problem}"[:400])
        else:
            result.usable += 1
    result.reasons = dict(reasons.most_common())


async def called(
    kind: OpenApi,
    server: Server,
    document: Document,
    where: Any,
    tool: Tool,
    definitions: dict[str, Any],
    source: Source,
) -> str:
    """Empty if every call that could be made up arrived as the document says, and at least one could; and if what the
    document promises as an answer came back."""
    if not signature(tool, definitions):
        return "it has no signature"
    validator = compile_schema(with_definitions(kind.strict_schema(tool), definitions))
    refusal, sent = "", 0
    declared = {name.lower() for place, name in parameters(document, where[3], where[2]) if place == "header"}
    for way in WAYS:
        if sent >= 2:
            break
        try:
            call = make(document, *where, tool, Maker(document, **way))
            arranged = kind.arrange(tool, call.arguments)
        except Impossible as error:
            return str(error)
        except ToolError as error:
            refusal = refusal or error.message
            continue
        wrong = invalid(validator, arranged, call.arguments, tool)
        if wrong:
            refusal = refusal or f"no call was accepted: {wrong[0]['at']}: {wrong[0]['message']}"
            continue
        server.last = None
        try:
            server.reply = reply_to(document, where[0], where[2], Maker(document, **way, answer=True))
            text = await kind.invoke(source, tool, call.arguments, "key")
        except ToolError as error:
            return f"the call failed: {error.tool_code} {error.message}"
        found = arrivals.problems(call, server.last, BASE, declared) if server.last else ["nothing arrived"]
        if found:
            return found[0]
        if not server.reply.fits(text):
            return f"the answer ({server.reply.media_type}) came out as {text[:100]}"
        sent += 1
    return "" if sent else refusal


def credentials_by_hand(document: Document, where: Any, tool: Tool) -> list[str]:
    """Arguments that a caller has to give and that look like secrets: an agent would have to know them."""
    needed = set(tool.input_schema.get("required", ()))
    named = [name for place, name in parameters(document, where[3], where[2]) if place in ("query", "header", "cookie")]
    return [name for name in named if name in needed and CREDENTIAL.search(name)]


def general(reason: str) -> str:
    """Without names and values, so that equal reasons can be counted together."""
    reason = re.sub(r"'[^']*'|\"[^\"]*\"|\[.*\]|\{.*\}", "…", reason)
    return re.sub(r"(\$ref|the path|parameter|header|field|part|: /)\s?\S+", r"\1 …", reason)[:120]

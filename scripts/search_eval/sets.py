"""Sets of queries with the tools that answer them, as JSON lines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from executor.catalog.search.index.entry import Entry
from executor.sources.openapi.tools.operations import effect
from executor.sources.openapi.tools.tool_names import operation_name, path_group, tag_group
from executor.sources.tool_names import identifier
from search_eval import trades

OWN = Path(__file__).resolve().parents[2] / "tests" / "catalog" / "queries.jsonl"
SHARED_TOOLS = "tools.jsonl"


@dataclass(frozen=True, slots=True)
class Query:
    text: str
    relevant: frozenset[str]


@dataclass(frozen=True, slots=True)
class QuerySet:
    """`any_one`: each of the relevant tools is a right answer; else all of them should be found."""

    name: str
    tools: Path
    queries: list[Query]
    any_one: bool


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def sets_in(folder: Path) -> list[QuerySet]:
    """Every `NAME.jsonl` with tools of its own, or over the shared ones; then the project's own queries."""
    found = []
    for path in sorted(folder.glob("*.jsonl")):
        if path.name == SHARED_TOOLS or path.stem.endswith("_tools"):
            continue
        own_tools = folder / f"{path.stem}_tools.jsonl"
        tools = own_tools if own_tools.exists() else folder / SHARED_TOOLS
        if tools.exists():
            queries = [Query(one["query"], frozenset(one["relevant"])) for one in lines(path)]
            found.append(QuerySet(path.stem, tools, queries, any_one=not own_tools.exists()))
    if (folder / SHARED_TOOLS).exists() and OWN.exists():
        found += own_sets(folder / SHARED_TOOLS)
    return found


def own_sets(tools: Path) -> Iterable[QuerySet]:
    rows = lines(OWN)
    for part in dict.fromkeys(row["part"] for row in rows):
        these = [(row, frozenset(row["relevant"])) for row in rows if row["part"] == part]
        yield QuerySet(f"{part}_agent", tools, [Query(row["agent"], right) for row, right in these], any_one=True)
        yield QuerySet(f"{part}_natural", tools, [Query(row["query"], right) for row, right in these], any_one=True)
        named = [Query(f"{row['query']} in {row['source']}", right) for row, right in these]
        yield QuerySet(f"{part}_named", tools, named, any_one=True)


def trade_sets(tools: Path) -> Iterable[QuerySet]:
    """Both halves of the other trades, with every API connected."""
    tasks = lines(trades.tasks_of("trades"))
    for part in ("tune", "held_out"):
        yield from task_sets(part, tools, [row for row in tasks if trades.half(row["api"]) == part])


def blind_sets(tools: Path) -> Iterable[QuerySet]:
    yield from task_sets("blind2", tools, lines(trades.tasks_of("blind2")))


def task_sets(part: str, tools: Path, tasks: Sequence[dict[str, Any]]) -> Iterable[QuerySet]:
    """Each task in four forms.

    `also` are other APIs' operations that answer the agent's words as well when no app is named.
    """
    forms = {
        "agent": "{app} {agent}",
        "agent_bare": "{agent}",
        "natural": "{query}",
        "natural_named": "{query} in {app}",
    }
    for form, text in forms.items():
        queries = []
        for row in tasks:
            also = row.get("also", ()) if form == "agent_bare" else ()
            right = frozenset(f"{row['api']} {one}" for one in row["relevant"])
            queries.append(Query(text.format(**row), right.union(also)))
        yield QuerySet(f"{part}_{form}", tools, queries, any_one=True)


def entry(tool: dict[str, Any]) -> Entry:
    """As the tool would stand in a catalog: an operation of an API, or a tool of an MCP server."""
    parts = [tool.get(name) or "" for name in ("summary", "description")]
    description = "\n\n".join(part for part in parts if part)
    parameters = (*(one[0] for one in tool.get("params") or ()), *(tool.get("body") or ()))
    tags = tuple(str(tag) for tag in tool.get("tags") or ())
    source = re.sub(r"\W", "", tool.get("source") or "").lower() or "source"
    if tool.get("method"):
        method, route = tool["method"].upper(), tool["path"]
        if "tool" in tool:
            shown = f"{method} {route}"
            return Entry(tool["tool"], description, effect(method), tags, tool["deprecated"], shown, parameters)
        name = operation_name(tool.get("operationId") or "", method, route, tags[0] if tags else "")
        group = (tag_group(tags[0], "") if tags else "") or path_group(route, "")
        path = f"{source}.{group}.{name}"
        return Entry(path, description, effect(method), tags, route=f"{method} {route}", parameters=parameters)
    server, _, rest = tool["id"].partition(".")
    namespace = identifier(server, "source") if rest else source
    name = identifier((tool.get("name") or tool["id"]).rpartition(".")[2], "tool")
    return Entry(f"{namespace}.{name}", description, "write", tags, parameters=parameters)

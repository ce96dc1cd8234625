"""What 10 to 100,000 connected tools cost: connecting and indexing them, starting with them, memory, `1+1`, searching
and describing. One daemon, which gets further sources from size to size."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import quote

from benchmarks import documents, processes
from benchmarks.measures import Rows, milliseconds, timed
from benchmarks.ours import Ours, bearer
from benchmarks.search import THINGS, VERBS
from benchmarks.series import Series
from benchmarks.wire import Http, WireError

SIZES = (10, 100, 1_000, 10_000, 100_000)
TOOLS_PER_SOURCE = 2_500
FIELDS = 8


def measure(folder: Path, *, quick: bool, say: Callable[[str], None]) -> Rows:
    served, subject, rows = folder / "documents", Ours(folder), dict[str, Series]()
    served.mkdir(parents=True)
    connected, total = 0, Series("ms", [0.0], 0.0)
    with documents.serve(served) as address:
        subject.start()
        try:
            settled_memory(subject)
            for size in SIZES[:-1] if quick else SIZES:
                say(f"scaling: {size:,} tools")
                names = list(write_documents(served, connected, size))
                connected = size
                spent = timed_once(subject, lambda names=names: connect(subject, address, names))  # type: ignore[misc]
                total = Series("ms", [total.median + spent.median], (total.cpu_ms or 0) + (spent.cpu_ms or 0))
                found = {"connect and index": total, **measure_size(subject, names[-1], 20 if quick else 100)}
                rows |= {f"scaling: {name} by tools, {size:,}": series for name, series in found.items()}
        finally:
            subject.stop()
    return rows


def connect(subject: Ours, address: str, names: list[str]) -> None:
    """Until a search finds the new tools. The sources are added one after the other."""
    operator = operator_of(subject)
    for name in names:
        operator.json("POST", "/v1/sources", {"location": f"{address}/{name}.json", "namespace": name})
    search(operator, "create a report")
    if not operator.json("GET", f"/v1/tools/search?namespace={names[-1]}&depth=0")["items"]:
        raise WireError(f"the tools of {names[-1]} are not found")
    operator.close()


def measure_size(subject: Ours, namespace: str, amount: int) -> Rows:
    subject.stop()
    client = operator = None
    rows: Rows = {}
    begin = time.perf_counter()
    subject.start()
    try:
        client, operator = subject.client(), operator_of(subject)
        subject.execute(client, "return 1+1", 2)
        spent = processes.cpu_seconds(subject.pid) * 1000
        rows["start and first 1+1"] = Series("ms", [(time.perf_counter() - begin) * 1000], spent)
        operator.json("GET", "/v1/tools?limit=1")  # the first request to the API loads it, whatever it is for
        rows["memory before a search"] = settled_memory(subject)  # what goes on after a start is over then
        rows["first search after a start"] = timed_once(subject, lambda: search(operator, "create a report"))
        rows["memory after a search"] = settled_memory(subject)
        rows["1+1"] = timed(subject, lambda: subject.execute(client, "return 1+1", 2), amount)
        asked = (f"{verb} {thing}" for thing in THINGS * 100 for verb in VERBS)
        rows["search"] = timed(subject, lambda: search(operator, next(asked)), amount)
        listed = operator.json("GET", f"/v1/tools?source={namespace}&limit={amount + 1}")["items"]
        paths, numbers = [one["path"] for one in listed], count()

        def describe() -> None:
            operator.json("GET", f"/v1/tools/{quote(paths[next(numbers) % len(paths)])}")

        rows["describe"] = timed(subject, describe, min(amount, len(paths) - 1))
    finally:
        for one in (client, operator):
            if one is not None:
                one.close()
    return rows


def settled_memory(subject: Ours) -> Series:
    return Series("MB", [processes.settled_memory_bytes(subject.pid) / 1e6])


def operator_of(subject: Ours) -> Http:
    return Http(subject.base_url, bearer(subject.home / "data" / "operator.token"))


def search(operator: Http, query: str) -> None:
    operator.json("GET", f"/v1/tools/search?query={quote(query)}&depth=0")


def timed_once(subject: Ours, work: Callable[[], None]) -> Series:
    before = processes.cpu_seconds(subject.pid)
    wall = milliseconds(work)
    return Series("ms", [wall], (processes.cpu_seconds(subject.pid) - before) * 1000)


def write_documents(folder: Path, present: int, size: int) -> Iterator[str]:
    """The namespaces of the sources that make `size` tools of `present` ones."""
    for at in range(present, size, TOOLS_PER_SOURCE):
        name = f"api{at}"
        (folder / f"{name}.json").write_text(json.dumps(document(at, min(TOOLS_PER_SOURCE, size - at))))
        yield name


def document(seed: int, tools: int) -> dict[str, Any]:
    """Operations on made-up things, of words that APIs use: always the same for the same numbers."""
    choice = random.Random(seed)
    paths: dict[str, Any] = {}
    for number in range(tools):
        one, other = choice.choices(THINGS, k=2)
        verb = choice.choice(list(VERBS))
        thing = {"$ref": f"#/components/schemas/{one}"}
        filters = [{"name": name, "in": "query", "schema": {"type": "string"}} for name in choice.sample(THINGS, 4)]
        paths[f"/v{number}/{other}s/{{{other}Id}}/{one}s"] = {
            VERBS[verb].lower(): {
                "operationId": f"{verb}{one.title()}{number}",
                "tags": [other],
                "summary": f"{verb.title()} the {one} of a {other}",
                "description": f"Needs the right to {verb} a {one}. " + " ".join(choice.choices(THINGS, k=25)),
                "parameters": [
                    {"name": f"{other}Id", "in": "path", "required": True, "schema": {"type": "string"}},
                    *filters,
                ],
                **({"requestBody": content(thing)} if VERBS[verb] in ("POST", "PATCH") else {}),
                "responses": {"200": {"description": "Done", **content(thing)}},
            }
        }
    return {
        "openapi": "3.1.0",
        "info": {"title": f"Made {seed}", "version": "1"},
        "servers": [{"url": "https://made.example"}],
        "paths": paths,
        "components": {"schemas": {one: schema(one) for one in THINGS}},
    }


def schema(thing: str) -> dict[str, Any]:
    fields = {f"field_{at}": {"type": "string", "description": f"Field {at} of a {thing}"} for at in range(FIELDS)}
    return {"type": "object", "properties": {"id": {"type": "integer"}, **fields}}


def content(schema: dict[str, Any]) -> dict[str, Any]:
    return {"content": {"application/json": {"schema": schema}}}

"""Other trades than those of the shared sets: where their documents come from, and the tools made of them.

`python -m search_eval.trades CLONES FILE [blind2]` reads the documents from clones of the repositories named here
(`CLONES/<owner>/<repository>`) and writes the tools as the product would name them. `trades.jsonl` and `blind2.jsonl`
beside this file have the tasks: an operation of one of these documents, as an agent and as a user would ask for it. The
halves of `trades` were split by a hash of the API's name before anything was measured, so that every API is wholly in
one of them. `blind2` was written and committed before it was measured, by someone who had read no other set and none of
the word lists.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from executor.errors import ExecutorError
from executor.model.source import Loaded
from executor.model.tool import Tool
from executor.sources.openapi.tools.builder import read_catalog
from executor.sources.source_request import Consent, SourceRequest

DIRECTORY = "APIs-guru/openapi-directory/APIs/"
TRADES = {
    "gmail": f"{DIRECTORY}googleapis.com/gmail/v1/openapi.yaml",
    "google-calendar": f"{DIRECTORY}googleapis.com/calendar/v3/openapi.yaml",
    "box": f"{DIRECTORY}box.com/2.0.0/openapi.yaml",
    "trello": f"{DIRECTORY}trello.com/1.0/openapi.yaml",
    "xero": f"{DIRECTORY}xero.com/xero_accounting/2.9.4/openapi.yaml",
    "docusign": f"{DIRECTORY}docusign.net/v2.1/openapi.yaml",
    "shipengine": f"{DIRECTORY}shipengine.com/1.1.202304191404/openapi.yaml",
    "spoonacular": f"{DIRECTORY}spoonacular.com/1.1/openapi.yaml",
    "drchrono": f"{DIRECTORY}drchrono.com/v4 (Hunt Valley)/openapi.yaml",
    "spotify": f"{DIRECTORY}spotify.com/sonallux/2023.2.27/openapi.yaml",
    "telnyx": f"{DIRECTORY}telnyx.com/2.0.0/openapi.yaml",
    "apideck-hris": f"{DIRECTORY}apideck.com/hris/10.0.0/openapi.yaml",
    "salesloft": f"{DIRECTORY}salesloft.com/v2/openapi.yaml",
    "square": f"{DIRECTORY}squareup.com/2.0/openapi.yaml",
    "tfl": f"{DIRECTORY}tfl.gov.uk/v1/openapi.yaml",
    "youtube": f"{DIRECTORY}googleapis.com/youtube/v3/openapi.yaml",
    "asana": f"{DIRECTORY}asana.com/1.0/openapi.yaml",
    "classroom": f"{DIRECTORY}googleapis.com/classroom/v1/openapi.yaml",
    "pagerduty": "PagerDuty/api-schema/reference/REST/openapiv3.json",
    "google-maps": "googlemaps/openapi-specification/dist/google-maps-platform-openapi3.json",
    "sendgrid": f"{DIRECTORY}sendgrid.com/1.0.0/openapi.yaml",
    "netlify": f"{DIRECTORY}netlify.com/2.16.0/swagger.yaml",
}
BLIND2 = {
    "ynab": f"{DIRECTORY}youneedabudget.com/1.0.0/openapi.yaml",
    "traccar": f"{DIRECTORY}traccar.org/5.6/openapi.yaml",
    "hetras": f"{DIRECTORY}hetras-certification.net/booking/v0/swagger.yaml",
    "onsched": f"{DIRECTORY}onsched.com/consumer/v1/openapi.yaml",
    "enode": f"{DIRECTORY}enode.io/1.3.10/openapi.yaml",
    "lob": "lob/lob-openapi/dist/lob-api-bundled.yml",
    "intercom": "intercom/Intercom-OpenAPI/descriptions/2.11/api.intercom.io.yaml",
    "discourse": f"{DIRECTORY}discourse.local/latest/openapi.yaml",
    "shutterstock": f"{DIRECTORY}shutterstock.com/1.1.32/openapi.yaml",
    "twitter": f"{DIRECTORY}twitter.com/current/2.62/openapi.yaml",
    "jellyfin": f"{DIRECTORY}jellyfin.local/v1/openapi.yaml",
}
DOCUMENTS = {"trades": TRADES, "blind2": BLIND2}


def tasks_of(name: str) -> Path:
    return Path(__file__).with_name(f"{name}.jsonl")


def half(api: str) -> Literal["tune", "held_out"]:
    return "held_out" if hashlib.sha256(api.encode()).digest()[0] % 2 else "tune"


def load(path: Path) -> Loaded:
    """With a base URL of its own only where the document names no server that could be used."""
    request = SourceRequest(kind="openapi", location=str(path), consented=Consent(private_network=True))
    try:
        return read_catalog(request, path.read_bytes(), str(path))
    except ExecutorError:
        given = SourceRequest(
            kind="openapi",
            location=str(path),
            base_url="https://api.example.com",
            consented=Consent(private_network=True),
        )
        return read_catalog(given, path.read_bytes(), str(path))


def rows(api: str, loaded: Loaded) -> Iterator[dict[str, Any]]:
    host = urlsplit(str(loaded.config["base_url"])).hostname or ""
    for tool in loaded.tools:
        yield {"api": api, "source": loaded.namespace, "title": loaded.name, "host": host, **described(api, tool)}


def described(api: str, tool: Tool) -> dict[str, Any]:
    method, route = tool.binding["method"], tool.binding["path"]
    summary, _, more = tool.description.partition("\n\n")
    return {
        "id": f"{api} {method} {route}",
        "tool": tool.path,
        "operationId": tool.path.rpartition(".")[2],
        "method": method,
        "path": route,
        "summary": summary,
        "description": more,
        "tags": list(tool.tags),
        "deprecated": tool.deprecated,
        "params": [[name] for name in tool.input_schema.get("properties") or ()],
    }


def main(arguments: Iterable[str]) -> None:
    clones, file, *chosen = arguments
    with Path(file).open("w") as out:
        for api, document in DOCUMENTS[chosen[0] if chosen else "trades"].items():
            loaded = load(Path(clones) / document)
            print(f"{api}: {len(loaded.tools)} tools as {loaded.namespace} ({loaded.name})", file=sys.stderr)
            out.writelines(f"{json.dumps(row)}\n" for row in rows(api, loaded))


if __name__ == "__main__":
    main(sys.argv[1:])

"""A checkout under evaluation: its own daemon, with every service of the upstream connected as a person would."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.ours import Ours
from benchmarks.wire import Http

from agents_eval.service import Service
from agents_eval.upstream import Upstream

BEARER = {"in": "header", "name": "Authorization", "template": "Bearer {token}"}


class Checkout(Ours):
    def __init__(self, folder: Path, root: Path) -> None:
        super().__init__(folder)
        self.root = root

    def cli(self, *arguments: str) -> list[str]:
        installed = self.root / ".venv" / "bin" / "executor"
        return [str(installed if installed.exists() else self.root / "scripts" / "executor"), *arguments]


@contextmanager
def running_checkout(folder: Path, root: Path) -> Iterator[Checkout]:
    folder.mkdir(parents=True, exist_ok=True)
    checkout = Checkout(folder, root)
    try:
        checkout.start()
        yield checkout
    finally:
        checkout.stop()


def connect(operator: Http, upstream: Upstream, services: Sequence[type[Service]]) -> None:
    """Each source gets a connection that sends a token."""
    for service in services:
        wanted = {"location": upstream.location(service)}
        if service.namespace:
            wanted["namespace"] = service.namespace
        added = operator.json("POST", "/v1/sources", wanted)
        namespace = (added.get("source") or added)["namespace"]
        operator.json("POST", "/v1/connections", {"source": namespace} | credential(operator, namespace))


def credential(operator: Http, namespace: str) -> dict[str, Any]:
    """In the first way that the document names and that a person can type in; otherwise a bearer token."""
    for way in operator.json("GET", f"/v1/sources/{namespace}/ways")["items"]:
        if way["inputs"] and not way["oauth"]:
            return {"way": way["name"], "values": {one["name"]: "made-up" for one in way["inputs"]}}
    return {"values": {"token": "made-up"}, "placements": [BEARER]}

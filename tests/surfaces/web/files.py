"""Asks the part that serves the UI for an address exactly as it is written, as no client would send it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from starlette.types import Message

from executor.surfaces.web.pages import Pages


@dataclass(frozen=True)
class Served:
    status: int
    headers: dict[str, str]
    body: bytes


async def get(
    served: Pages | Path, path: str, headers: Mapping[str, str] | None = None, *, method: str = "GET"
) -> Served:
    pages, sent = served if isinstance(served, Pages) else Pages(served), list[Message]()
    lines = [(name.encode(), value.encode()) for name, value in (headers or {}).items()]

    async def receive() -> Message:
        raise AssertionError("nothing is read")

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "http", "method": method, "path": path, "headers": lines, "asgi": {"spec_version": "2.4"}}
    await pages(scope, receive, send)
    begun, *parts = sent
    return Served(
        begun["status"],
        {name.decode(): value.decode() for name, value in begun["headers"]},
        b"".join(part.get("body", b"") for part in parts),
    )

"""A request as the local server got it."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import unquote


@dataclass
class Arrived:
    method: str
    target: str
    headers: dict[str, str]
    body: bytes


def pairs_of(query: str) -> list[tuple[str, str]]:
    return [(unquote(one.partition("=")[0]), one.partition("=")[2]) for one in query.split("&") if one]

"""`Link` headers: the addresses that an answer points at."""

from __future__ import annotations

import re

_LINK = re.compile(r"<([^<>]*)>([^<]*)")
_REL = re.compile(r"""(?:^|;)\s*rel\s*=\s*(?:"([^"]*)"|([^\s";,]+))""", re.IGNORECASE)
MAX_HEADER = 20_000


def links(header: str) -> list[tuple[str, str]]:
    """(relation, address) pairs."""
    found = []
    for address, parameters in _LINK.findall(header[:MAX_HEADER]):
        match = _REL.search(parameters)
        for relation in (match[1] or match[2] or "").lower().split() if match else ():
            found.append((relation, address.strip()))
    return found


def next_link(header: str) -> str:
    return next((address for relation, address in links(header) if relation == "next"), "")

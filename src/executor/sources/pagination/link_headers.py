"""`Link` headers: the addresses that an answer points at."""

from __future__ import annotations

import re
from typing import Any

_LINK = re.compile(r"<([^<>]*)>([^<]*)")
_REL = re.compile(r"""(?:^|;)\s*rel\s*=\s*(?:"([^"]*)"|([^\s";,]+))""", re.IGNORECASE)
# Some give the address of a next page that has nothing.
_EMPTY = re.compile(r"""(?:^|;)\s*results\s*=\s*"?false\b""", re.IGNORECASE)
MAX_HEADER = 20_000
PAGING = frozenset({"next", "prev", "previous", "first", "last", "self"})


def links(header: str) -> list[tuple[str, str]]:
    """(relation, address) pairs; the address is empty where the header says that nothing is there."""
    found = []
    for address, parameters in _LINK.findall(header[:MAX_HEADER]):
        match = _REL.search(parameters)
        for relation in (match[1] or match[2] or "").lower().split() if match else ():
            found.append((relation, "" if _EMPTY.search(parameters) else address.strip()))
    return found


def next_link(header: str) -> str:
    return next((address for relation, address in links(header) if relation == "next"), "")


def listed_link(found: list[Any]) -> str:
    """The next page of `[{rel, href}, …]`."""
    for one in found[:50]:
        if isinstance(one, dict) and str(one.get("rel", "")).lower() in ("next", "next_page", "nextpage"):
            return str(one.get("href") or "")
    return ""


def is_address(text: str) -> bool:
    """Whether it can be a relative address; cursors and numbers are none."""
    return text.startswith(("/", "?", "./", "../")) or "?" in text


def is_paging(header: str) -> bool:
    """Whether it speaks of pages at all; there are links to many other things."""
    return any(relation in PAGING for relation, _ in links(header))

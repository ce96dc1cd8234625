"""The other documents that a document refers to: found, fetched within bounds, and made one with it.

References in a linked document are relative to its own address, so they are rewritten to absolute ones as soon as it
is read; after that no one needs to know in which document a node stands.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

from executor.errors import DocumentInvalid, ExecutorError, SourceUnreachable
from executor.sources.addresses import parse as parse_url
from executor.sources.addresses import shown
from executor.sources.openapi import parsing
from executor.sources.stopping import Stopped

if TYPE_CHECKING:
    from executor.sources.loading import Loading

MAX_DOCUMENTS = 500
# Values in which a reference is only an example of one.
_VALUES = frozenset({"example", "examples", "default", "enum", "const"})
_MAPS = frozenset({"properties", "patternProperties", "schemas", "definitions", "parameters", "responses", "$defs"})
# It begins with plain text, which is searched for ten times as fast as anything else.
_LEAVES = re.compile(rb"""\$ref["']?\s*:\s*(?:["'][^#"']|[^#"'\s{\[])""")
_BEFORE = frozenset(b"\"'{,[ \t\r\n")
WINDOW = 200_000
OVERLAP = 1_000

Fetch = Callable[[str], Awaitable[bytes]]


@dataclass(slots=True)
class Linked:
    """`documents` and what was read of them, by address; `refused` with the reason why not."""

    documents: dict[str, Any] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    contents: dict[str, bytes] = field(default_factory=dict)


def may_leave(data: bytes) -> bool:
    """Whether any `$ref` may lead out of the document: much cheaper to see in its text than in its values."""
    for start in range(0, len(data), WINDOW):  # nothing else runs during one search
        for found in _LEAVES.finditer(data, start, start + WINDOW + OVERLAP):
            at = found.start()
            if at == 0 or data[at - 1] in _BEFORE:  # else it is the last part of a path
                return True
    return False


def base_of(location: str) -> str:
    """What references of a document are relative to; nothing for one that came from nowhere."""
    if location.startswith(("http://", "https://")):
        return location
    path = Path(location)
    return path.as_uri() if path.is_absolute() else ""


async def gather(root: dict[str, Any], address: str, fetch: Fetch, loading: Loading) -> Linked:
    """Everything the root leads to, by whatever way. `fetch` raises when an address may not or can't be read."""
    found = Linked()
    waiting = await loading.run(lambda _: absolute(root, address, is_root=True))
    room = parsing.MAX_BYTES
    while waiting:
        uri = waiting.pop()
        if uri in found.documents or uri in found.refused:
            continue
        if len(found.documents) >= MAX_DOCUMENTS:
            found.refused[uri] = f"was not read: the document refers to more than {MAX_DOCUMENTS} others"
            continue
        try:
            data = await fetch(uri)
            room -= len(data)
            if room < 0:
                raise DocumentInvalid("together they are too large")
            value, leads_to = await loading.run(partial(read, data, uri))
        except ExecutorError as error:
            found.refused[uri] = f"was not read: {error.message}"
            continue
        found.documents[uri] = value
        found.contents[uri] = data
        waiting |= leads_to
    return found


def read(data: bytes, uri: str, stopped: Stopped) -> tuple[Any, set[str]]:
    """The document, and the addresses of those it leads to."""
    value = parsing.parse(data, shown(uri))
    return value, absolute(value, uri)


def absolute(root: Any, address: str, *, is_root: bool = False) -> set[str]:
    """Rewrite the references of a document in place, and name the documents they lead to.

    Those of the root document that stay inside it are left alone.
    """
    leads_to: set[str] = set()
    own = root.get("$self") if isinstance(root, dict) else None
    base = urljoin(address, own) if isinstance(own, str) else address
    for node in holders(root):
        ref = node["$ref"]
        if is_root and ref.startswith("#"):
            continue
        try:
            uri, _, fragment = urljoin(base, ref).partition("#")
        except ValueError:
            continue
        if is_root and uri in (base, address):
            node["$ref"] = f"#{fragment}"
            continue
        node["$ref"] = f"{uri}#{fragment}" if "#" in ref else uri
        if uri != address:
            leads_to.add(uri)
    return leads_to


def holders(root: Any) -> Iterator[dict[str, Any]]:
    """Every object with a `$ref` that means one."""
    stack: list[tuple[Any, bool]] = [(root, False)]
    while stack:
        node, is_map = stack.pop()
        if isinstance(node, list):
            stack.extend((part, False) for part in node if isinstance(part, dict | list))
            continue
        if not is_map and isinstance(node.get("$ref"), str):
            yield node
        for key, part in node.items():
            if isinstance(part, dict | list) and (is_map or key not in _VALUES):
                stack.append((part, not is_map and key in _MAPS))


def file_path(uri: str, folder: Path) -> Path:
    """The file that a reference names, if it lies in the folder of the document it stands in, links resolved."""
    from urllib.request import url2pathname  # slow to import, and hardly ever needed

    path = Path(url2pathname(urlsplit(uri).path)).resolve()
    if not path.is_relative_to(folder.resolve()):
        raise SourceUnreachable("it lies outside the folder of the document", hint="move it there", reason="file")
    return path


def allowed(uri: str, address: str, option: Any) -> bool:
    """References stay on the document's own origin, unless the source's option names others or allows all."""
    origin = parse_url(uri).origin
    if option is True or origin == parse_url(address).origin:
        return True
    named = option if isinstance(option, list) else []
    return origin in {parse_url(one).origin for one in named if isinstance(one, str)}

"""The other documents that a document refers to: which they are, and how they become one with it.

References in a linked document are relative to its own address, so they are rewritten to absolute ones as soon as it
is read; after that no one needs to know which document a node comes from.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

from executor.errors import SourceUnreachable
from executor.network.addresses import parse as parse_url
from executor.sources.openapi.documents import parser

MAX_DOCUMENTS = 10_000
BEYOND = f"was not read: only {MAX_DOCUMENTS:,} files and {parser.MAX_BYTES // 1_000_000} MB are read"
# Values in which a reference is only an example of one.
_VALUES = frozenset({"example", "examples", "default", "enum", "const", "x-codeSamples", "x-code-samples"})
_MAPS = frozenset({"properties", "patternProperties", "schemas", "definitions", "parameters", "responses", "$defs"})
# It begins with plain text, which is searched for ten times as fast as anything else.
_LEAVES = re.compile(rb"""\$ref["']?\s*:\s*(?:["'][^#"']|[^#"'\s{\[])""")
_BEFORE = frozenset(b"\"'{,[ \t\r\n")
WINDOW = 200_000
OVERLAP = 1_000


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


def absolute(root: Any, address: str, *, is_root: bool = False) -> list[str]:
    """Rewrite the references of a document in place, and name the documents they lead to, in their order.

    Those of the root document that stay inside it are left alone.
    """
    leads_to: dict[str, None] = {}
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
            leads_to[uri] = None
    return list(leads_to)


def holders(root: Any) -> Iterator[dict[str, Any]]:
    """Every object with a `$ref` that means one, in the order of the document.

    Where keys are names, one may be called `$ref`; then its value is no text.
    """
    stack: list[tuple[Any, bool]] = [(root, False)]
    while stack:
        node, is_map = stack.pop()
        if isinstance(node, list):
            stack.extend((part, False) for part in reversed(node) if isinstance(part, dict | list))
            continue
        if isinstance(node.get("$ref"), str):
            yield node
        for key, part in reversed(node.items()):
            if isinstance(part, dict | list) and (is_map or key not in _VALUES or is_enum(key, part)):
                stack.append((part, not is_map and key in _MAPS))


def is_enum(key: Any, part: Any) -> bool:
    """A list of values that is elsewhere: `enum: {$ref: countries.yaml}`."""
    return key == "enum" and isinstance(part, dict) and isinstance(part.get("$ref"), str)


def file_path(uri: str, folder: Path) -> Path:
    """The file that a reference names, if it lies in the folder of the document it is in, links resolved."""
    from urllib.request import url2pathname  # slow to import, and hardly ever needed

    path = Path(url2pathname(urlsplit(uri).path)).resolve()
    if not path.is_relative_to(folder.resolve()):
        raise SourceUnreachable("it is outside the folder of the document", hint="move it there", reason="file")
    return path


def is_allowed(uri: str, address: str, option: Any) -> bool:
    """References stay on the document's own origin, unless the source's option names others or allows all."""
    origin = parse_url(uri).origin
    if option is True or origin == parse_url(address).origin:
        return True
    named = option if isinstance(option, list) else []
    return origin in {parse_url(one).origin for one in named if isinstance(one, str)}

"""Names of tools for MCP clients: letters, digits, `_` and `-`, at most 64 characters, no two alike."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable

MOST_CHARACTERS = 64  # what the strictest of the known clients and models accept
TAKEN = frozenset({"execute", "resume"})
_UNFIT = re.compile(r"[^A-Za-z0-9_-]")
_DIGEST = 12


def name_tools(paths: Iterable[str]) -> dict[str, str]:
    """The path of each name. Where two paths would have one name, or a name is too long, a digest of the path ends it,
    so that a name never means another tool than before. What still has no name of its own is left out."""
    known = list(dict.fromkeys(paths))
    plain = {path: _UNFIT.sub("_", path) for path in known}
    uses = Counter(name.lower() for name in plain.values())
    names = {path: name if is_fit(name, uses) else with_digest(path, name) for path, name in plain.items()}
    ends = Counter(name.lower() for name in names.values())
    return {name: path for path, name in names.items() if ends[name.lower()] == 1}


def is_fit(name: str, uses: Counter[str]) -> bool:
    return len(name) <= MOST_CHARACTERS and name.lower() not in TAKEN and uses[name.lower()] == 1


def with_digest(path: str, name: str) -> str:
    digest = hashlib.sha256(path.encode()).hexdigest()[:_DIGEST]
    return f"{name[: MOST_CHARACTERS - _DIGEST - 1]}_{digest}"

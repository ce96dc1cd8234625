"""Apps that a query names and that are not connected: the best tool for another app is no answer to that."""

from __future__ import annotations

import re
from collections.abc import Sequence

from executor.catalog.search.entry import MAX_QUERY
from executor.sources import templates

# A name that is also a common word counts only where an app is named: first, or after one of these.
_BEFORE_AN_APP = frozenset({"in", "on", "to", "from", "via", "with", "using", "at"})
_COMMON = frozenset({"box", "linear"})
_WORD = re.compile(r"[a-z0-9]+")


def absent(query: str, namespaces: Sequence[str]) -> str:
    """The first well-known app of the query that none of the sources is named after, or nothing."""
    words: list[str] = _WORD.findall(query[:MAX_QUERY].lower())
    for at, word in enumerate(words):
        named = word not in _COMMON or at == 0 or words[at - 1] in _BEFORE_AN_APP
        if named and word in templates.known() and not any(word in name.lower() for name in namespaces):
            return word
    return ""


def advice(query: str, namespaces: Sequence[str]) -> str:
    app = absent(query, namespaces)
    return f"no source here is named after {app}; a person can connect it: `executor sources add {app}`" if app else ""

"""Names for types: of ASCII letters, telling, and each only once."""

from __future__ import annotations

import re
from collections.abc import Hashable

MAX_LENGTH = 60


class Names:
    def __init__(self, taken: frozenset[str] = frozenset()) -> None:
        self._taken = set(taken)
        self._names: dict[Hashable, str] = {}

    def of(self, thing: Hashable, wanted: str) -> str:
        """The name of a thing, made from what it would like to be called."""
        name = self._names.get(thing)
        if name is None:
            base = re.sub(r"[^A-Za-z0-9_]", "", wanted)[:MAX_LENGTH] or "Type"
            base = f"T{base}" if not base[0].isalpha() else base
            name, count = base, 1
            while name in self._taken:
                count += 1
                name = f"{base}{count}"
            self._taken.add(name)
            self._names[thing] = name
        return name


def pascal(text: str) -> str:
    """`repository-rule` → `RepositoryRule`"""
    words = re.sub(r"[^A-Za-z0-9]+", " ", text).split()
    return "".join(word[:1].upper() + word[1:] for word in words)

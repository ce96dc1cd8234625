"""The paths someone probably meant: by shared three-letter pieces, then by edit distance."""

from __future__ import annotations

import difflib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable

CANDIDATES = 40
MAX_PATH = 300


class Nearest:
    def __init__(self, paths: Iterable[str]) -> None:
        self.paths = list(paths)
        self._pieces: dict[str, list[int]] = defaultdict(list)
        for number, path in enumerate(self.paths):
            for piece in pieces(path):
                self._pieces[piece].append(number)

    def to(self, path: str, limit: int) -> list[str]:
        path = path[:MAX_PATH]
        shared: Counter[int] = Counter()
        for piece in pieces(path):
            shared.update(self._pieces.get(piece, ()))
        candidates = heads_of(shared, self.paths)
        ranked = sorted(candidates, key=lambda other: (-likeness(path, other), other))
        return [other for other in ranked if likeness(path, other) > 0.4][:limit]


def heads_of(shared: Counter[int], paths: list[str]) -> list[str]:
    ranked = sorted(shared.items(), key=lambda item: (-item[1] / (8 + len(paths[item[0]])), item[0]))
    return [paths[number] for number, _ in ranked[:CANDIDATES]]


def likeness(wanted: str, path: str) -> float:
    """Of the whole, or of the last name alone when someone got the group or the namespace wrong."""
    whole = difflib.SequenceMatcher(None, plain(wanted), plain(path)).ratio()
    last = difflib.SequenceMatcher(None, plain(wanted.rpartition(".")[2]), plain(path.rpartition(".")[2])).ratio()
    return 0.7 * whole + 0.3 * last


def plain(path: str) -> str:
    return re.sub(r"[^a-z0-9.]", "", path.lower())


def pieces(path: str) -> set[str]:
    text = f"^{plain(path)}$"
    return {text[start : start + 3] for start in range(len(text) - 2)}

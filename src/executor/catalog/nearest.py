"""The paths someone probably meant: by their words, then by how few letters differ."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from executor.catalog.search.index import Index
    from executor.catalog.search.segment import Array

CANDIDATES = 60
MAX_PATH = 300


def nearest(index: Index, path: str, limit: int, allowed: Array | None = None) -> list[str]:
    """Only of those that are `allowed`."""
    import numpy as np

    from executor.catalog.search.ranking import best

    scores = np.zeros(index.total, np.float32)
    for term, share in meant(index, path[:MAX_PATH]):
        if (found := index.postings(term)) is not None:
            scores[found.docs] += np.float32(share * index.rarity(len(found.docs))) * found.impacts
    if allowed is not None:
        scores[~allowed] = 0.0
    return ranked(path[:MAX_PATH], (index.paths[doc] for doc in best(scores, CANDIDATES)), limit)


def meant(index: Index, path: str) -> Iterable[tuple[str, float]]:
    from executor.catalog.search.words import split, stem

    for word in dict.fromkeys(split(path)):
        term = stem(word)
        yield term, 1.0
        if not index.knows(term):
            yield from ((other, 0.7) for other in index.nearest_words(term) or index.nearest_words(word))


def ranked(path: str, others: Iterable[str], limit: int) -> list[str]:
    likely = sorted(((likeness(path, other), other) for other in others), key=lambda one: (-one[0], one[1]))
    return [other for like, other in likely if like > 0.4][:limit]


def likeness(wanted: str, path: str) -> float:
    """Of the whole, or of the last name alone when someone got the group or the namespace wrong."""
    whole = difflib.SequenceMatcher(None, plain(wanted), plain(path)).ratio()
    last = difflib.SequenceMatcher(None, plain(wanted.rpartition(".")[2]), plain(path.rpartition(".")[2])).ratio()
    return 0.7 * whole + 0.3 * last


def plain(path: str) -> str:
    return re.sub(r"[^a-z0-9.]", "", path.lower())

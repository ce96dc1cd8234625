"""Ranking: candidates by weighted words, then how well a question and a tool cover each other.

The weights were fitted once, by how often the right tool came first over sets of queries with whole sources left out;
`scripts/eval-search` measures them. A short query names what it wants; a long one tells a story around it, so each
measure counts differently in the two, and the length of a query tells how much of each it is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from executor.catalog.search import measures
from executor.catalog.search.gathering import Gathered, gather
from executor.catalog.search.index import Index
from executor.catalog.search.measures import MEASURES
from executor.catalog.search.query import Question, question
from executor.catalog.search.segment import FIELDS, Array

CANDIDATES = 400
SHORT = 8.0
EXACT = 50.0
MATCHED = 6
# measure: (in a short query, in a long one)
WEIGHTS: dict[str, tuple[float, float]] = {
    "words": (2.14, 4.8),
    "exact": (-0.3, 8.0),
    "name": (-1.46, -1.04),
    "group": (1.02, 1.53),
    "route": (2.01, 2.44),
    "summary": (3.24, 5.21),
    "text": (-0.94, 1.27),
    "parameters": (-0.28, 2.3),
    "source": (0.77, 1.96),
    "anywhere": (0.6, 3.49),
    "verb_name": (1.02, 0.0),
    "verb_summary": (1.96, -0.61),
    "verb_anywhere": (0.95, -0.03),
    "explained": (5.35, 0.5),
    "explained_objects": (2.04, -0.56),
    "action": (0.64, -0.93),
    "clash": (-2.37, -0.77),
    "elsewhere": (-3.32, -1.73),
    "depth": (-2.57, -0.95),
    "deprecated": (-2.38, -0.19),
    "all_pages": (-0.5, -0.5),
    "length": (2.5, 0.78),
    "exact_summary": (-2.62, 2.05),
    "pairs": (0.71, 1.61),
    "number": (0.46, -0.11),
}


@dataclass(frozen=True, slots=True)
class Hit:
    """`matched`: what was said → the tool's word for it and the best field it stands in."""

    path: str
    score: float
    matched: dict[str, str]


@dataclass(frozen=True, slots=True)
class Found:
    hits: list[Hit]
    total: int
    understood: bool


def search(index: Index, text: str, *, limit: int = 10, allowed: Array | None = None) -> Found:
    """The best matches, best first, and how many there are. Equal scores come in the order of their paths."""
    asked = question(text, index.spoken, index.knows, index.nearest_words)
    gathered = gather(index, asked)
    if not gathered.slots:
        return Found([], 0, understood=False)
    if allowed is not None:
        gathered.scores[~allowed] = 0.0
    candidates = best(gathered.scores, max(CANDIDATES, limit))
    scores = score(index, asked, gathered, candidates)
    for at in named_outright(index, text, candidates):
        scores[at] += EXACT
    order = sorted(range(len(candidates)), key=lambda at: (-scores[at], index.paths[candidates[at]]))[:limit]
    hits = [
        Hit(index.paths[candidates[at]], round(float(scores[at]), 3), matched(index, gathered, int(candidates[at])))
        for at in order
    ]
    return Found(hits, int(np.count_nonzero(gathered.scores > 0)), understood=True)


def score(index: Index, asked: Question, gathered: Gathered, candidates: Array) -> Array:
    short = shortness(asked)
    weights = np.array([short * WEIGHTS[name][0] + (1 - short) * WEIGHTS[name][1] for name in MEASURES])
    values: Array = np.round(measures.measured(index, asked, gathered, candidates) @ weights, 4)
    return values


def shortness(asked: Question) -> float:
    objects = sum(not slot.verb for slot in asked.slots)
    return 1 / (1 + (objects / SHORT) ** 2)


def best(scores: Array, limit: int) -> Array:
    few = limit >= len(scores)
    found: Array = np.arange(len(scores)) if few else np.argpartition(-scores, limit - 1)[:limit]
    found = found[scores[found] > 0]
    found.sort()
    return found


def named_outright(index: Index, text: str, candidates: Array) -> list[int]:
    """Those whose path, or its end, was given as the query."""
    wanted = text.strip().lower().removeprefix("tools.")
    if not wanted or any(c.isspace() for c in wanted):
        return []
    ending = f".{wanted}"
    return [at for at, doc in enumerate(candidates) if f".{index.paths[doc].lower()}".endswith(ending)]


def matched(index: Index, gathered: Gathered, doc: int) -> dict[str, str]:
    found: dict[str, str] = {}
    for one in gathered.slots:
        for term, _, postings in reversed(one.terms):
            at = int(np.searchsorted(postings.docs, doc))
            if at < len(postings.docs) and postings.docs[at] == doc:
                field = next(name for bit, name in FIELDS.items() if postings.masks[at] & bit)
                found.setdefault(one.slot.said.replace("_", " "), f"{term.replace('_', ' ')} in {field}")
                break
        if len(found) == MATCHED:
            break
    return found

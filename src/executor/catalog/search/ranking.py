"""Ranking: candidates by weighted words, then how well a question and a tool cover each other.

The weights were fitted once, by how often the right tool came first over sets of queries with whole sources left out;
`scripts/eval-search` measures them. A short query names what it wants; a long one tells a story around it, so each
measure counts differently in the two, and the length of a query tells how much of each it is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from executor.catalog.search import measures
from executor.catalog.search.gathering import Gathered, Placed, gather
from executor.catalog.search.index import Index
from executor.catalog.search.measures import MEASURES
from executor.catalog.search.query import Question, question
from executor.catalog.search.segment import FIELDS, SAID, SOURCE, Array

CANDIDATES = 400
SHORT = 8.0
EXACT = 50.0
MATCHED = 6
# measure: (in a short query, in a long one)
WEIGHTS: dict[str, tuple[float, float]] = {
    "words": (0.78, 4.19),
    "exact": (1.82, 7.13),
    "name": (-0.51, -1.04),
    "group": (0.82, 0.4),
    "route": (0.49, -0.54),
    "summary": (0.58, 1.56),
    "text": (-0.46, 1.98),
    "parameters": (-0.01, 2.11),
    "source": (0.99, 1.55),
    "said": (1.4, -0.18),
    "anywhere": (1.11, 2.64),
    "verb_name": (-0.04, 0.1),
    "verb_summary": (0.02, 0.06),
    "verb_anywhere": (1.53, 0.32),
    "explained": (2.62, 1.98),
    "explained_objects": (0.96, -0.14),
    "action": (0.8, -0.39),
    "clash": (-1.15, -0.5),
    "elsewhere": (-1.77, -2.38),
    "depth": (-1.54, 0.13),
    "deprecated": (-0.84, 0.19),
    "all_pages": (-0.5, -0.5),
    "length": (1.12, 0.12),
    "exact_summary": (-0.86, -0.46),
    "pairs": (0.86, 2.59),
    "number": (0.65, -0.28),
    "bulk": (-1.77, -1.46),
    "unsettled": (-0.87, 1.41),
    "wish_read": (-0.26, -0.23),
    "wish_make": (0.82, -0.55),
    "wish_change": (0.9, -0.08),
    "wish_drop": (1.53, 2.2),
    "unwished": (-0.7, 0.09),
    "reading": (-0.53, 0.24),
    "dropping": (-0.41, -0.24),
    "said_with_wish": (0.99, 2.49),
    "held": (1.04, 3.34),
}


@dataclass(frozen=True, slots=True)
class Hit:
    """`matched`: what was said → the tool's word for it and the best field it stands in."""

    path: str
    score: float
    matched: dict[str, str]


@dataclass(frozen=True, slots=True)
class Found:
    """Without a fit, the best hit has nothing of what was asked about."""

    hits: list[Hit]
    total: int
    understood: bool
    is_fit: bool = True


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
    is_fit = bool(order) and fits(gathered, int(candidates[order[0]]))
    return Found(hits, int(np.count_nonzero(gathered.scores > 0)), understood=True, is_fit=is_fit)


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


def fits(gathered: Gathered, doc: int) -> bool:
    """Whether the tool has anything of what the query is about: else it only does the same, to something else."""
    asked = [one for one in gathered.slots if not one.slot.verb and one.slot.weight == 1.0]
    named_only = f" in {FIELDS[SOURCE]}"  # a source's name may also be that of what its tools are about
    found = any((where := standing(one, doc)) and not where.endswith(named_only) for one in asked)
    return found or all(one.slot.is_source for one in asked)


def matched(index: Index, gathered: Gathered, doc: int) -> dict[str, str]:
    found: dict[str, str] = {}
    for one in gathered.slots:
        if where := standing(one, doc):
            found.setdefault(one.slot.said.replace("_", " "), where)
        if len(found) == MATCHED:
            break
    return found


def standing(one: Placed, doc: int) -> str:
    """The best of a slot's terms that the tool itself has, else one that is said of such tools."""
    said = ""
    for term, _, postings in reversed(one.terms):
        at = int(np.searchsorted(postings.docs, doc))
        if at < len(postings.docs) and postings.docs[at] == doc:
            field = next(name for bit, name in FIELDS.items() if postings.masks[at] & bit)
            told = f"{term.replace('_', ' ')} in {field}"
            if field != FIELDS[SAID]:
                return told
            said = said or told
    return said

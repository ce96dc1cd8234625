"""Ranking: candidates by weighted words, then how well a query and a tool cover each other.

The weights were fitted once, by how often the right tool came first over sets of queries with whole sources left out;
`scripts/eval-search` measures them. A short query names what it wants; a long one has a story around it, so each
measure counts differently in the two, and the length of a query says how much of each it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from executor.catalog.search import features
from executor.catalog.search.arrays import Array, np
from executor.catalog.search.candidates import SURELY, Gathered, Placed, gather
from executor.catalog.search.features import MEASURES
from executor.catalog.search.index.index import Index
from executor.catalog.search.index.segment import FIELDS, SAID, SOURCE
from executor.catalog.search.query.query import Query, parse_query
from executor.dataclass import dataclass

CANDIDATES = 400
SHORT = 8.0
EXACT = 50.0
MATCHED = 6
NEAREST = 50
NEAR_ENOUGH = 0.5  # a tool that has no word of the query may still be what is meant
MEANING = 4.0  # what nearness in meaning adds, where the extra is there
UNSURE = 16.0  # and how much more where words fit no tool at all
# Of the best hit. Over the shared sets of queries, what agents ask scores higher when it is found; half of what is
# missed scores lower. See docs/discovery.md.
WEAK_SCORE = 9.0
# measure: (in a short query, in a long one)
WEIGHTS: dict[str, tuple[float, float]] = {
    "words": (0.66, 4.08),
    "exact": (2.89, 6.99),
    "name": (-0.53, -1.19),
    "group": (1.66, 1.08),
    "route": (0.46, -0.48),
    "summary": (1.35, 1.92),
    "text": (-0.77, 1.26),
    "parameters": (-0.01, 2.66),
    "source": (0.82, 2.07),
    "said": (1.35, 0.94),
    "end": (0.75, 0.2),
    "strayed": (-0.49, 1.67),
    "titled": (1.0, 0.0),
    "anywhere": (2.39, 3.1),
    "verb_name": (-0.08, 0.41),
    "verb_summary": (0.3, -0.86),
    "verb_anywhere": (1.42, 0.53),
    "explained": (6.47, 2.3),
    "explained_objects": (-0.99, 0.16),
    "action": (1.24, -1.67),
    "clash": (-1.05, -0.82),
    "elsewhere": (-2.33, -2.57),
    "depth": (-1.72, 0.32),
    "deprecated": (-1.18, 0.54),
    "all_pages": (-0.17, -0.6),
    "length": (2.59, 0.42),
    "exact_summary": (-1.2, -1.77),
    "exact_head": (-2.04, -1.51),
    "substituted": (-5.0, -5.0),
    "pairs": (1.02, 2.79),
    "number": (0.61, -0.9),
    "bulk": (-2.22, -1.58),
    "unsettled": (-1.71, 1.28),
    "wish_read": (-1.03, -0.29),
    "wish_make": (1.21, -0.1),
    "wish_change": (0.1, 0.0),
    "wish_drop": (3.47, 2.47),
    "unwished": (-0.75, -0.65),
    "reading": (-0.7, 0.11),
    "dropping": (-1.49, -0.49),
    "said_with_wish": (-0.03, 2.97),
    "held": (0.76, 3.79),
}


@dataclass(frozen=True, slots=True)
class Hit:
    """`matched`: what was said → the tool's word for it and the best field it is in."""

    path: str
    score: float
    matched: dict[str, str]


@dataclass(frozen=True, slots=True)
class Found:
    """Without a fit, the best hit has nothing of what was asked about. `strength` is its score by words alone."""

    hits: list[Hit]
    total: int
    is_fit: bool = True
    strength: float = 0.0

    @property
    def is_weak(self) -> bool:
        return self.strength < WEAK_SCORE


Words = tuple[Mapping[str, tuple[int, ...]], Callable[[str], bool], Callable[[str], list[str]]]


def read_words(index: Index, visible: Array | None) -> Words:
    """The names of sources, which words tools have, and those nearest to one that none has. What is hidden has none:
    else its names and words could be guessed by what a query finds."""
    if visible is None:
        return index.spoken, index.knows, index.nearest_words
    seen = set(np.unique(index.spaces[visible]).tolist())
    known = ((name, tuple(one for one in numbers if one in seen)) for name, numbers in index.spoken.items())

    def knows(term: str) -> bool:
        found = index.postings(term)
        return found is not None and bool(visible[found.docs].any())

    def nearest(word: str) -> list[str]:
        return [one for one in index.nearest_words(word) if knows(one)]

    return {name: kept for name, kept in known if kept}, knows, nearest


def search(
    index: Index,
    text: str,
    *,
    limit: int = 10,
    allowed: Array | None = None,
    visible: Array | None = None,
    near: Callable[[str], Array] | None = None,
) -> Found:
    """The best matches, best first, and how many there are. Equal scores come in the order of their paths.

    Of the tools that are `allowed`; a query is understood by the words of those that are `visible`. `near` says for
    each tool how near in meaning it is to a text.
    """
    asked = parse_query(text, *read_words(index, visible))
    gathered = gather(index, asked)
    if not gathered.slots:
        return Found([], 0)
    if allowed is not None:
        gathered.scores[~allowed] = 0.0
    candidates = best(gathered.scores, max(CANDIDATES, limit))
    meant = near(asked.rest) if near is not None and asked.rest else None
    if meant is not None:
        possible = np.where(gathered.outside < SURELY, meant + 1, 0.0)  # from 0 to 2
        candidates = np.union1d(candidates, best(possible if allowed is None else possible * allowed, NEAREST))
    scores = by_words = score(index, asked, gathered, candidates)
    if meant is not None:
        scores = np.round(scores + meaning_weight(by_words) * np.maximum(meant[candidates], 0.0), 4)
    for at in named_outright(index, text, candidates):
        scores[at] += EXACT
        by_words[at] = max(by_words[at], EXACT)
    order = sorted(range(len(candidates)), key=lambda at: (-scores[at], index.paths[candidates[at]]))[:limit]
    hits = [
        Hit(index.paths[candidates[at]], round(float(scores[at]), 3), match_words(index, gathered, int(candidates[at])))
        for at in order
    ]
    is_fit = bool(order) and fits(gathered, int(candidates[order[0]]))
    if order and meant is not None:
        is_fit = is_fit or bool(meant[candidates[order[0]]] >= NEAR_ENOUGH)
    strength = float(by_words[order[0]]) if order else 0.0
    return Found(hits, int(np.count_nonzero(gathered.scores > 0)), is_fit, strength)


def score(index: Index, asked: Query, gathered: Gathered, candidates: Array) -> Array:
    short = shortness(asked)
    weights = np.array([short * WEIGHTS[name][0] + (1 - short) * WEIGHTS[name][1] for name in MEASURES])
    values: Array = np.round(features.measure(index, asked, gathered, candidates) @ weights, 4)
    return values


def meaning_weight(by_words: Array) -> float:
    """The less the words of a query fit any tool, the more its meaning counts."""
    return MEANING + UNSURE * max(0.0, 1 - float(by_words.max(initial=0.0)) / WEAK_SCORE)


def shortness(asked: Query) -> float:
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
    found = any((where := place_of(one, doc)) and not where.endswith(named_only) for one in asked)
    return found or all(one.slot.is_source for one in asked)


def match_words(index: Index, gathered: Gathered, doc: int) -> dict[str, str]:
    found: dict[str, str] = {}
    for one in gathered.slots:
        if where := place_of(one, doc):
            found.setdefault(one.slot.said.replace("_", " "), where)
        if len(found) == MATCHED:
            break
    return found


def place_of(one: Placed, doc: int) -> str:
    """The best of a slot's terms that the tool itself has, else one that is said of such tools."""
    said = ""
    for term, _, postings in reversed(one.terms):
        at = int(np.searchsorted(postings.docs, doc))
        if at < len(postings.docs) and postings.docs[at] == doc:
            field = next(name for bit, name in FIELDS.items() if postings.masks[at] & bit)
            reason = f"{term.replace('_', ' ')} in {field}"
            if field != FIELDS[SAID]:
                return reason
            said = said or reason
    return said

"""First pass: every tool that has any of the words, with what they are worth there."""

from __future__ import annotations

from executor.catalog.search.arrays import Array, np
from executor.catalog.search.index.index import Index, Postings
from executor.catalog.search.index.segment import GROUP, HEAD, NAME, SUMMARY
from executor.catalog.search.query.query import Query, Slot
from executor.dataclass import dataclass

MAX_SLOTS = 32
VERB = 0.5
OUTSIDE = 0.8
SYNONYM = 0.75
SURELY = 0.6  # a source that was named this clearly is a filter
FILTERED = 12  # slots; a longer text may want several things of several sources


@dataclass(frozen=True, slots=True)
class Placed:
    """A slot and where its terms stand, the worst fitting first; `rarity` is that of all of them together."""

    slot: Slot
    rarity: float
    terms: list[tuple[str, float, Postings]]


@dataclass(frozen=True, slots=True)
class Gathered:
    """`outside` says for each tool how surely it is not of the source that was named."""

    slots: list[Placed]
    scores: Array
    exact: Array
    outside: Array


def gather(index: Index, asked: Query) -> Gathered:
    placed = [place(index, slot) for slot in asked.slots]
    if not any(one.terms for one in placed):
        placed = []
    if len(placed) > MAX_SLOTS:
        telling = sorted(range(len(placed)), key=lambda at: -placed[at].rarity * placed[at].slot.weight)
        placed = [placed[at] for at in sorted(telling[:MAX_SLOTS])]
    scores, buffer = np.zeros(index.total, np.float32), np.zeros(index.total, np.float32)
    for one in placed:
        add(scores, buffer, one)
    outside = elsewhere(index, asked)
    surely = outside >= SURELY
    scores *= 1 - OUTSIDE * outside
    if len(placed) <= FILTERED and scores[~surely].any():
        scores[surely] = 0.0
    return Gathered(placed, scores, exactly(index, placed), outside)


def place(index: Index, slot: Slot) -> Placed:
    """Where some tool is named by the very word, others that only mean the same count less."""
    terms = [(term, share, found) for term, share in slot.shares.items() if (found := index.postings(term)) is not None]
    if any(share == 1.0 and (found.masks & HEAD).any() for _, share, found in terms):
        terms = [(term, share if share == 1.0 else SYNONYM * share, found) for term, share, found in terms]
    terms.sort(key=lambda one: one[1])
    count = min(index.total, sum(share * share * len(found.docs) for _, share, found in terms))
    return Placed(slot, index.rarity(count) if terms else 0.0, terms)


def add(scores: Array, buffer: Array, one: Placed) -> None:
    """The best of a slot's terms counts, not all of them."""
    factor = np.float32(one.slot.weight * (VERB if one.slot.verb else 1.0) * one.rarity)
    if len(one.terms) == 1:
        _, share, found = one.terms[0]
        scores[found.docs] += factor * np.float32(share) * found.impacts
        return
    for _, share, found in one.terms:
        buffer[found.docs] = np.maximum(buffer[found.docs], np.float32(share) * found.impacts)
    scores += factor * buffer
    for _, _, found in one.terms:
        buffer[found.docs] = 0.0


def exactly(index: Index, placed: list[Placed]) -> Array:
    """What only the words that were said are worth, as a part of what they could be."""
    said: dict[str, float] = {}
    for one in placed:
        for term in one.slot.said.split("_"):
            said[term] = max(said.get(term, 0.0), one.slot.weight)
    scores, most = np.zeros(index.total, np.float32), 0.0
    for term, weight in said.items():
        if (found := index.postings(term)) is not None:
            worth = weight * index.rarity(len(found.docs))
            scores[found.docs] += np.float32(worth) * found.impacts
            most += worth
    return scores / np.float32(most or 1.0)


def elsewhere(index: Index, asked: Query) -> Array:
    """A source's name that many others' texts have too says little of where to look; one that none has, all."""
    inside = np.isin(index.spaces, list(asked.sources))
    surest, in_names = 0.0, np.zeros(index.total, bool)
    for trust, terms in dict.fromkeys(asked.sources.values()):
        mentions = np.zeros(index.total, bool)
        for term in terms:
            if (found := index.postings(term)) is not None:
                mentions[found.docs] = True
                in_names[found.docs] |= (found.masks & (NAME | GROUP | SUMMARY)) != 0
        amount = np.count_nonzero(mentions)
        surest = max(surest, trust * (np.count_nonzero(mentions & inside) / amount if amount else 1.0))
    outside: Array = np.where(inside, 0.0, np.where(in_names, 0.5, 1.0)).astype(np.float32) * np.float32(surest)
    return outside

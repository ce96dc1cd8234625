"""Second pass: how well each candidate fits, in measures between 0 and 1 that don't depend on a query's length."""

from __future__ import annotations

import math

from executor.catalog.search.arrays import Array, np
from executor.catalog.search.candidates import VERB, Gathered
from executor.catalog.search.index.index import Index
from executor.catalog.search.index.segment import (
    ALL_PAGES,
    BULK,
    DEPRECATED,
    END,
    FIELDS,
    HEAD,
    MANY,
    MASKS,
    ONE,
    SUMMARY,
    UNSETTLED,
)
from executor.catalog.search.query import actions
from executor.catalog.search.query.intent import WISHES
from executor.catalog.search.query.query import Query

# Of the objects of a query, how much is in each field; of its verbs too; `explained` is the part of a tool's name
# that the query accounts for, so a tool for more than was asked for loses; `strayed` is a route whose end, which names
# what the tool is about, has nothing of the query; `substituted` is what only a synonym or a saying answers although
# another tool is named by the very word, in a terse query.
MEASURES = (
    "words", "exact", "name", "group", "route", "summary", "text", "parameters", "source", "said", "end",
    "strayed", "titled", "anywhere",
    "verb_name", "verb_summary", "verb_anywhere", "explained", "explained_objects", "action", "clash", "elsewhere",
    "depth", "deprecated", "all_pages", "length", "exact_summary",
    "exact_head", "substituted", "pairs", "number", "bulk", "unsettled", "wish_read",
    "wish_make", "wish_change", "wish_drop", "unwished", "reading", "dropping", "said_with_wish", "held",
)  # fmt: skip
BITS = np.array([[1.0 if mask & field else 0.0 for field in FIELDS] for mask in range(MASKS)], dtype=np.float32)
# How much a word says that occurs only there.
STRENGTH = np.array([1.0, 0.85, 0.9, 0.95, 0.6, 0.4, 0.5, 0.85, 0.0], dtype=np.float32)
SUMMARY_COLUMN, END_COLUMN = list(FIELDS).index(SUMMARY), list(FIELDS).index(END)
UNKNOWN = 0.5


class Coverage:
    """For each slot and candidate, how well the slot is answered in each field."""

    def __init__(self, index: Index, asked: Query, gathered: Gathered, candidates: Array) -> None:
        slots, amount = gathered.slots, len(candidates)
        position = np.full(index.total, -1, np.int32)
        position[candidates] = np.arange(amount, dtype=np.int32)
        self.fields = np.zeros((len(slots), amount, len(FIELDS)), np.float32)
        self.heads = np.zeros((len(slots), amount), np.float32)
        self.exact = np.zeros((3, len(slots), amount), np.float32)
        self.named = np.zeros(len(slots), np.float32)
        explained: dict[str, tuple[float, Array, Array]] = {}
        for number, one in enumerate(slots):
            for term, share, found in one.terms:
                where = position[found.docs]
                inside = where >= 0
                at, bits, heads = where[inside], BITS[found.masks[inside]], found.heads[inside]
                self.fields[number, at] = np.maximum(self.fields[number, at], np.float32(share) * bits)
                self.heads[number, at] = np.maximum(self.heads[number, at], np.float32(share) * heads)
                if share == 1.0:
                    self.exact[0, number, at] = bits[:, 3]
                    self.exact[1, number, at] = bits[:, :3].max(axis=1)
                    self.exact[2, number, at] = np.maximum(self.exact[2, number, at], bits[:, :6].max(axis=1))
                    self.named[number] = max(self.named[number], float((found.masks & HEAD).any()))
                if term not in explained or explained[term][0] < share:
                    explained[term] = (share, at, heads)
        self.explained = np.zeros(amount, np.float32)
        for share, at, heads in explained.values():
            self.explained[at] += np.float32(share / 255) * heads
        unknown = math.log(1 + index.total) * UNKNOWN
        self.weights = np.array([one.slot.weight * (one.rarity or unknown) for one in slots])
        self.verbs = np.array([one.slot.verb for one in slots])
        self.sources = np.array([one.slot.is_source for one in slots])

    def objects(self) -> Array:
        """Weights of what the query is about: not its verbs, not the source, unless there is nothing else."""
        for left_out in (self.verbs | self.sources, self.sources):
            weights: Array = np.where(left_out, 0.0, self.weights)
            if weights.any():
                return np.asarray(weights / weights.sum())
        return np.asarray(self.weights / (self.weights.sum() or 1.0))

    def verb_weights(self) -> Array:
        weights = np.where(self.verbs, self.weights, 0.0)
        return np.asarray(weights / (weights.sum() or 1.0))


def measure(index: Index, asked: Query, gathered: Gathered, candidates: Array) -> Array:
    """One row a candidate, one column a measure."""
    cover = Coverage(index, asked, gathered, candidates)
    objects, verbs = cover.objects(), cover.verb_weights()
    anywhere = (cover.fields * STRENGTH).max(axis=2)
    by_field = np.einsum("s,sdf->df", objects, cover.fields)
    of_verbs = np.einsum("s,sdf->df", verbs, cover.fields)
    most = float(np.sum(cover.weights * np.where(cover.verbs, VERB, 1.0))) or 1.0
    flags = index.flags[candidates]
    granted = granting(index, asked, candidates)
    held = objects @ cover.fields.max(axis=2)
    columns = [
        gathered.scores[candidates] / most,
        gathered.exact[candidates],
        *by_field.T,
        1 - cover.fields[:, :, END_COLUMN].max(axis=0),
        match_title(index, cover, candidates),
        objects @ anywhere,
        of_verbs[:, 0],
        of_verbs[:, 3],
        verbs @ anywhere,
        np.minimum(cover.explained, 1.0),
        np.minimum((objects > 0) @ cover.heads / 255, 1.0),
        *agreement(index, asked, candidates),
        gathered.outside[candidates],
        np.minimum(index.depths[candidates], 12) / 10,
        (flags & DEPRECATED) / DEPRECATED,
        (flags & ALL_PAGES) / ALL_PAGES,
        np.minimum(index.lengths[candidates] / 100, 1.0),
        objects @ cover.exact[0],
        objects @ cover.exact[1],
        (objects * cover.named) @ (1 - cover.exact[2]) * asked.is_terse,
        pairs(cover, objects),
        number(asked, flags),
        (flags & BULK) / BULK * (1.0 if asked.many <= 0 else 0.5),
        (flags & UNSETTLED) / UNSETTLED,
        *granted,
        by_field[:, 7] * granted[0:4].sum(axis=0),
        held,
    ]
    return np.stack(columns, axis=1)


def match_title(index: Index, cover: Coverage, candidates: Array) -> Array:
    """How far the summary says what was said, and no more: `Download file`."""
    held = cover.fields[~cover.sources][:, :, SUMMARY_COLUMN].sum(axis=0)
    longest = np.maximum(index.summaries[candidates], np.count_nonzero(~cover.sources))
    return np.asarray(held / np.maximum(longest, 1))


def agreement(index: Index, asked: Query, candidates: Array) -> tuple[Array, Array]:
    """Whether a tool does what the query wants, and whether it writes where the query wants to read, or the reverse."""
    does = index.actions[candidates]
    nothing = np.zeros(len(candidates))
    if not asked.actions:
        return nothing, nothing
    agrees = (does & asked.actions) != 0
    reads = (does & ~np.uint16(actions.READS)) == 0
    wants_read = not asked.actions & ~actions.READS
    if not wants_read and asked.actions & actions.READS:
        return agrees.astype(float), nothing
    return agrees.astype(float), (reads != wants_read).astype(float)


def granting(index: Index, asked: Query, candidates: Array) -> Array:
    """How far a tool does what is wished for: reading, making, changing, dropping; what it does that no one wished."""
    does = index.actions[candidates]
    posts = (does & actions.ANY_POST) == actions.ANY_POST
    does = np.where(posts, does & ~np.uint16(actions.BITS["attach"]), does)
    wished = asked.wishes
    fits = {wish: (does & bits) != 0 for wish, bits in WISHES.items()}
    shares = np.stack([wished[wish] * fits[wish] for wish in WISHES])
    most = max(wished.values())
    unwished = most - np.minimum(shares.max(axis=0), most)
    reads = ((does & ~np.uint16(actions.READS)) == 0).astype(float)
    drops = ((does & actions.BITS["delete"]) != 0).astype(float)
    return np.vstack([shares, unwished, reads, drops])


def pairs(cover: Coverage, objects: Array) -> Array:
    """Neighbours in the query that are found together."""
    held = cover.fields[objects > 0][:, :, :4].max(axis=2)
    weights = objects[objects > 0]
    if len(held) < 2:
        return np.asarray(held[0])
    both = np.minimum(weights[1:], weights[:-1])
    return np.asarray((both / (both.sum() or 1.0)) @ np.minimum(held[1:], held[:-1]))


def number(asked: Query, flags: Array) -> Array:
    """One thing was asked for, or several, and the tool gives that."""
    if not asked.many or (asked.actions and not asked.actions & (actions.READS | actions.BITS["delete"])):
        return np.zeros(len(flags))
    return np.where(flags & MANY, 1.0, np.where(flags & ONE, -1.0, 0.0)) * asked.many

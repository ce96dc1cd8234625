"""The index of a workspace: the segments of its sources, merged. Built once per state of a catalog, then only read."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from executor.catalog.search.arrays import Array, np
from executor.catalog.search.index.segment import (
    GROUP,
    MASKS,
    NAME,
    PARAMETERS,
    ROUTE,
    SAID,
    SOURCE,
    SUMMARY,
    TEXT,
    Segment,
)
from executor.catalog.search.query.apps import NOTHING, App, app_names, spoken_names
from executor.catalog.search.query.spelling import Spelling

K1 = 1.2
B = 0.75
WEIGHTS = {NAME: 2.0, GROUP: 1.0, SOURCE: 2.5, SUMMARY: 1.5, TEXT: 1.0, ROUTE: 1.0, PARAMETERS: 0.5, SAID: 0.7}
TIMES = np.array([sum(w for field, w in WEIGHTS.items() if mask & field) for mask in range(MASKS)], dtype=np.float32)


class Postings(NamedTuple):
    """Where a term occurs: tools, fields, its part of their names, and what it is worth there."""

    docs: Array
    masks: Array
    heads: Array
    impacts: Array


NO_APPS: Mapping[str, App] = {}


class Index:
    """`apps`: titles and hosts of the sources, by namespace."""

    def __init__(self, segments: Sequence[Segment], apps: Mapping[str, App] = NO_APPS) -> None:
        segments = [segment for segment in segments if segment.paths]
        self.paths = [path for segment in segments for path in segment.paths]
        self.total = len(self.paths)
        self.vocabulary: dict[str, int] = {}
        terms = self._merged_terms(segments)
        order = np.argsort(terms, kind="stable")
        counts = np.bincount(terms, minlength=len(self.vocabulary))
        self._starts = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
        offsets = np.cumsum([0, *(len(segment.paths) for segment in segments)])
        docs = [segment.docs + np.int32(at) for segment, at in zip(segments, offsets, strict=False)]
        self._docs = join_arrays(docs, np.int32)[order]
        self._masks = join_arrays([segment.masks for segment in segments], np.uint16)[order]
        self._heads = join_arrays([segment.heads for segment in segments], np.uint8)[order]
        self.actions = join_arrays([segment.actions for segment in segments], np.uint16)
        self.lengths = join_arrays([segment.lengths for segment in segments], np.float32)
        self.depths = join_arrays([segment.depths for segment in segments], np.uint8)
        self.flags = join_arrays([segment.flags for segment in segments], np.uint8)
        self.summaries = join_arrays([segment.summaries for segment in segments], np.uint8)
        self._impacts = self._worth()
        self.namespaces = list(dict.fromkeys(path.partition(".")[0] for path in self.paths))
        numbers = {name: number for number, name in enumerate(self.namespaces)}
        self.spaces = np.fromiter((numbers[path.partition(".")[0]] for path in self.paths), np.int32, self.total)
        self.called = {name: app_names(name, apps.get(name, NOTHING)) for name in self.namespaces}
        self.spoken = spoken_names(self.called)

    def knows(self, term: str) -> bool:
        return term in self.vocabulary

    def postings(self, term: str) -> Postings | None:
        number = self.vocabulary.get(term)
        if number is None:
            return None
        part = slice(self._starts[number], self._starts[number + 1])
        return Postings(self._docs[part], self._masks[part], self._heads[part], self._impacts[part])

    def rarity(self, count: float) -> float:
        return math.log(1 + (self.total - count + 0.5) / (count + 0.5))

    @cached_property
    def spelling(self) -> Spelling:
        """Made when the first word comes that no tool has."""
        return Spelling(self.vocabulary)

    def nearest_words(self, word: str) -> list[str]:
        return self.spelling.nearest(word)

    @property
    def size(self) -> int:
        """Bytes of its arrays."""
        arrays = (self._docs, self._masks, self._heads, self._impacts, self._starts, self.lengths, self.spaces)
        return sum(array.nbytes for array in arrays)

    def _merged_terms(self, segments: Sequence[Segment]) -> Array:
        vocabulary, found = self.vocabulary, []
        for segment in segments:
            numbers = (vocabulary.setdefault(term, len(vocabulary)) for term in segment.terms)
            known = np.fromiter(numbers, np.int32, len(segment.terms))
            found.append(np.repeat(known, np.diff(segment.starts)))
        return join_arrays(found, np.int32)

    def _worth(self) -> Array:
        """BM25 with fields instead of repetitions: saturated, and a long text gains nothing by its length."""
        average = float(self.lengths.mean()) if self.total else 1.0
        norm = K1 * (1 - B + B * self.lengths / max(1.0, average))
        times = TIMES[self._masks]
        worth: Array = (times * np.float32(K1 + 1) / (times + norm[self._docs])).astype(np.float16)
        return worth


def join_arrays(arrays: Sequence[Array], kind: type[np.generic]) -> Array:
    return np.concatenate(arrays) if arrays else np.zeros(0, kind)

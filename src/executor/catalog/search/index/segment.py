"""The index of one source: which word is in which field of which tool, as arrays."""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from executor.catalog.search.arrays import Array, np
from executor.catalog.search.index.entry import Entry
from executor.catalog.search.query import actions
from executor.catalog.search.query.phrases import said_of
from executor.catalog.search.query.thesaurus import thesaurus
from executor.catalog.search.query.tokenizer import split_spaced, stem, stems
from executor.dataclass import dataclass
from executor.model.tool import ALL

NAME, GROUP, SOURCE, SUMMARY, TEXT, ROUTE, PARAMETERS, SAID, END = (1 << at for at in range(9))
FIELDS = {
    NAME: "name", GROUP: "group", ROUTE: "route", SUMMARY: "summary", TEXT: "description", PARAMETERS: "parameters",
    SOURCE: "source", SAID: "sayings", END: "route's end",
}  # fmt: skip
MASKS = 1 << len(FIELDS)
HEAD = NAME | GROUP | ROUTE
LENGTHS = {PARAMETERS: 0.3, END: 0.0}  # what a word of these adds to the length of a tool; of others, 1
MAX_SUMMARY = 300
MAX_TEXT = 1_200
MAX_PARAMETERS = 60
SHORT = 100
EFFECTS = ("read", "write", "destructive")
# Beside the effect, in the same byte.
EFFECT, DEPRECATED, ALL_PAGES, ONE, MANY, BULK, UNSETTLED = 3, 4, 8, 16, 32, 64, 128
# Words that every API has in its names.
FILLER = frozenset(stem(word) for word in split_spaced("api rest v1 v2 v3 v4 1 2 3 4 by id ids for"))
_PLACEHOLDER = re.compile(r"\{[^{}]*\}")
# Words are looked for first: an expression that begins anywhere takes ten times as long.
_DEPRECATED_WORDS = ("deprecat", "legacy", "closing down", "no longer supported")
_UNSETTLED_WORDS = ("legacy", "stubbed", "alpha", "beta", "test", "preview")
_DEPRECATED = re.compile(r"(?i)\bdeprecat|\blegacy\b|\bclosing down\b|\bno longer supported\b")
_BULK = re.compile(r"Collection|(?i:bulk|batch)")
_UNSETTLED = re.compile(r"(?i)legacy|stubbed|\d(?:alpha|beta)\d|test_?helpers|preview\b")


@dataclass(frozen=True, slots=True)
class Segment:
    """`terms[i]` is in the tools `docs[starts[i]:starts[i + 1]]`, in the fields of `masks`.

    `heads` says how much of a tool's name the term is: the words of one name add up to 255. `summaries` counts the
    words of each summary.
    """

    paths: list[str]
    terms: list[str]
    starts: Array
    docs: Array
    masks: Array
    heads: Array
    actions: Array
    lengths: Array
    depths: Array
    flags: Array
    summaries: Array


def fields(entry: Entry) -> Iterator[tuple[int, str]]:
    namespace, _, rest = entry.path.partition(".")
    group, _, name = rest.removesuffix(ALL).rpartition(".")
    summary, _, more = entry.description.partition("\n\n")
    if len(summary) > MAX_SUMMARY:
        summary, more = summary[:MAX_SUMMARY], f"{summary[MAX_SUMMARY:]} {more}"
    parts = fixed_parts(entry.route)
    yield NAME, name
    yield GROUP, f"{group} {' '.join(entry.tags)}"
    yield SOURCE, namespace
    yield SUMMARY, summary
    yield TEXT, more[:MAX_TEXT]
    yield ROUTE, " ".join(parts)
    yield END, parts[-1] if parts else name
    yield PARAMETERS, " ".join(entry.parameters[:MAX_PARAMETERS])


def fixed_parts(route: str) -> list[str]:
    """Of `POST /submissions/{id}:turnIn` also what is done; not what only names a format."""
    parts = [
        (_PLACEHOLDER.sub("", part) if "{" in part else part).strip(":.") for part in route.partition(" ")[2].split("/")
    ]
    return [part.removesuffix(".json") for part in parts if part and part not in ("json", "xml")]


def terms_of(text: str) -> Sequence[str]:
    """Stems, and the phrases that the thesaurus knows. Tools of one group share most of their short texts."""
    return short_terms(text) if len(text) <= SHORT else find_terms(text)


@lru_cache(20_000)
def short_terms(text: str) -> tuple[str, ...]:
    return tuple(find_terms(text))


def find_terms(text: str) -> list[str]:
    found = stems(text)
    known = thesaurus()
    after = enumerate(map(known.following.get, found), 1)
    begins = [at for at, words in after if words is not None and at < len(found) and found[at] in words]
    if not begins:
        return found
    said = ("_".join(found[at - 1 : at - 1 + size]) for size in (2, 3) for at in begins if at - 1 + size <= len(found))
    return found + [phrase for phrase in said if phrase in known.phrases]


class Vocabulary(dict[str, int]):
    """The number of each term; a new one gets the next."""

    def __missing__(self, term: str) -> int:
        self[term] = number = len(self)
        return number


class Building:
    """Takes tools a few at a time, so that anyone who builds can let others continue in between."""

    def __init__(self) -> None:
        self._vocabulary = Vocabulary()
        self._terms, self._docs, self._masks = array("i"), array("i"), array("H")
        self._lengths, self._actions = array("f"), array("H")
        self._depths, self._flags = array("B"), array("B")
        self._paths: list[str] = []

    def add(self, entries: Iterable[Entry]) -> None:
        for entry in entries:
            self._add(entry)

    def _add(self, entry: Entry) -> None:
        """A word counts once a field, however often it is repeated there."""
        masks: dict[int, int] = {}
        number_of, length = self._vocabulary.__getitem__, 0.0
        for field, text in fields(entry):
            terms = terms_of(text)
            for known in map(number_of, terms):
                masks[known] = masks.get(known, 0) | field
            length += LENGTHS.get(field, 1.0) * len(terms)
        does = actions_of(entry)
        for known in map(number_of, said_of(entry, does)):
            masks[known] = masks.get(known, 0) | SAID
        self._terms.extend(masks)
        self._masks.extend(masks.values())
        self._docs.extend([len(self._paths)] * len(masks))
        self._paths.append(entry.path)
        self._lengths.append(length)
        self._actions.append(does)
        self._depths.append(depth(entry))
        self._flags.append(flags(entry))

    def segment(self) -> Segment:
        terms = np.frombuffer(self._terms, dtype=np.int32)
        docs = np.frombuffer(self._docs, dtype=np.int32)
        masks = np.frombuffer(self._masks, dtype=np.uint16)
        heads = self._heads(terms, docs, masks)
        order = np.argsort(terms, kind="stable")
        counts = np.bincount(terms, minlength=len(self._vocabulary))
        summaries = np.bincount(docs[masks & SUMMARY > 0], minlength=len(self._paths))
        return Segment(
            paths=self._paths,
            terms=list(self._vocabulary),
            starts=np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
            docs=docs[order],
            masks=masks[order],
            heads=heads[order],
            actions=np.frombuffer(self._actions, dtype=np.uint16),
            lengths=np.frombuffer(self._lengths, dtype=np.float32),
            depths=np.frombuffer(self._depths, dtype=np.uint8),
            flags=np.frombuffer(self._flags, dtype=np.uint8),
            summaries=np.minimum(summaries, 255).astype(np.uint8),
        )

    def _heads(self, terms: Array, docs: Array, masks: Array) -> Array:
        """A word that many names of the source have says little about any one of them."""
        total = len(self._paths)
        rarity = np.zeros(len(self._vocabulary) or 1)
        in_heads = np.bincount(terms[masks & HEAD > 0], minlength=len(self._vocabulary)).tolist()
        for (term, known), count in zip(self._vocabulary.items(), in_heads, strict=True):
            if count and "_" not in term:
                plain = 0.1 if term in FILLER else 0.4 if actions.actions_of(term) else 1.0
                rarity[known] = plain * (0.3 + math.log((total + 1) / count) / math.log(total + 2))
        weights = np.where(masks & HEAD, rarity[terms], 0.0)
        sums = np.bincount(docs, weights, minlength=total)
        sums[sums == 0] = 1.0
        return np.round(255 * weights / sums[docs]).astype(np.uint8)


def build_segment(entries: Iterable[Entry]) -> Segment:
    building = Building()
    building.add(entries)
    return building.segment()


def actions_of(entry: Entry) -> int:
    said = actions.in_name(entry.path.removesuffix(ALL).rpartition(".")[2])
    if entry.route:
        possible = actions.by_route(entry.route)
        if said & ~actions.READS or not said & possible:
            return (said & possible) or possible
        return said & possible if said == actions.BITS["list"] else possible
    if said:
        return said
    return actions.READS if entry.effect == "read" else 0


def depth(entry: Entry) -> int:
    return min(255, entry.route.count("{") + max(0, entry.route.count("/") - 1)) if entry.route else 2


def flags(entry: Entry) -> int:
    found = EFFECTS.index(entry.effect) if entry.effect in EFFECTS else 1
    if entry.deprecated or says(_DEPRECATED, _DEPRECATED_WORDS, entry.description[:400]):
        found |= DEPRECATED
    if entry.path.endswith(ALL):
        found |= ALL_PAGES
    if entry.route.startswith(("GET", "DELETE")):
        found |= ONE if entry.route.rstrip("/").endswith("}") else MANY
    if _BULK.search(entry.path.rpartition(".")[2]):
        found |= BULK
    if says(_UNSETTLED, _UNSETTLED_WORDS, f"{entry.path} {entry.route}"):
        found |= UNSETTLED
    return found


def says(pattern: re.Pattern[str], words: Iterable[str], text: str) -> bool:
    lowered = text.lower()
    return any(map(lowered.__contains__, words)) and pattern.search(text) is not None

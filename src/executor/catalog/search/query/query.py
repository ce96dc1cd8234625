"""A query taken apart: what it asks about, what it wants done, and which source it names."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from executor.catalog.search.index.entry import MAX_QUERY
from executor.catalog.search.query import actions
from executor.catalog.search.query.apps import LONGEST
from executor.catalog.search.query.intent import wishes
from executor.catalog.search.query.thesaurus import PART, thesaurus
from executor.catalog.search.query.tokenizer import STOP, split, split_spaced, stem
from executor.dataclass import dataclass

MAX_WORDS = 80
TYPO = 0.8
FAINT = 0.35
CHATTY = 5  # words; a shorter query has no words around what it wants
TERSE = 5  # words that tell something
SPOKEN = frozenset(
    split_spaced("i im id ive me my mine we our us you your he she they them his her their it its this that the a")
)
ASKING = frozenset(split_spaced("which what who whose whats whos where is are was were does did am has have any"))
ASKING_TWO = frozenset({"how many", "how much", "how is", "how are", "how busy", "tell me", "show me"})
BEFORE_SOURCE = frozenset(split_spaced("in on from to using via with at of by through my our the"))
# Verbs that nearly every API has: what they are done to tells more.
GENERIC = frozenset(
    stem(word)
    for word in split_spaced(
        "get list show create add make update edit change delete remove read fetch retrieve find search view set new "
        "put see give check look take start open display obtain modify insert tell"
    )
)
# What people say around what they want.
CHATTER = frozenset(
    stem(word)
    for word in split_spaced(
        "help looking provide know tell recommend suggest would like also information interested currently "
        "planning trying additionally furthermore moreover example assist share curious wondering possible good great "
        "best work working make sure including include along well going friend friends family company project really "
        "thinking love kindly ask question based following available thing things"
    )
)


@dataclass(frozen=True, slots=True)
class Slot:
    """One thing that was said, with every term that would answer it and how well."""

    said: str
    shares: Mapping[str, float]
    verb: bool = False
    weight: float = 1.0
    is_source: bool = False


@dataclass(frozen=True, slots=True)
class Query:
    """`sources` by number: how surely each was meant, and by which terms.

    `many` is 1 when several things are asked for, -1 for one, 0 when the query does not tell. `is_terse`: put as an
    agent would, verb and object, in words that are probably the API's own. `rest`: the text without the sources' names.
    """

    slots: tuple[Slot, ...]
    actions: int
    sources: Mapping[int, tuple[float, tuple[str, ...]]]
    many: int
    wishes: Mapping[str, float]
    is_terse: bool = False
    rest: str = ""


class Reading:
    """Goes through the words once, from the left. A phrase that the thesaurus knows is taken as one."""

    def __init__(
        self,
        text: str,
        spoken: Mapping[str, tuple[int, ...]],
        knows: Callable[[str], bool],
        corrected: Callable[[str], list[str]],
    ) -> None:
        self.said = split(text[:MAX_QUERY])[:MAX_WORDS]
        self._stems = [stem(word) for word in self.said]
        self._spoken, self._knows, self._corrected = spoken, knows, corrected
        self.slots: list[Slot] = []
        self.sources: dict[int, tuple[float, tuple[str, ...]]] = {}
        self.actions = 0
        self.rest: list[str] = []
        at = 0
        while at < len(self.said):
            size = self._source(at)
            if not size:
                size = self._slot(at)
                self.rest.extend(self.said[at : at + size])
            at += size

    def _source(self, at: int) -> int:
        for size in range(min(LONGEST, len(self.said) - at), 0, -1):
            if numbers := self._spoken.get(name := "".join(self.said[at : at + size])):
                outright = at == 0 or self.said[at - 1] in BEFORE_SOURCE
                whole = stem(name)
                terms = (whole,) if self._knows(whole) else tuple(self._stems[at : at + size])
                for number in numbers:
                    self.sources[number] = (1.0 if outright else 0.6, terms)
                self.slots.append(Slot("_".join(terms), dict.fromkeys(terms, 1.0), is_source=True))
                return size
        return 0

    def _slot(self, at: int) -> int:
        size, meanings = self._phrase(at)
        words, stems = self.said[at : at + size], self._stems[at : at + size]
        if size == 1 and words[0] in STOP and not meanings:
            self._glue(at)
            return 1
        shares = self._shares(at, words, meanings)
        found = self._actions(stems, meanings)
        self.actions = self.actions or found
        faint = size == 1 and (words[0] in STOP or (stems[0] in CHATTER and len(self.said) > CHATTY))
        verb = bool(found) and (size > 1 or stems[0] in GENERIC)
        said = "_".join(one for word, one in zip(words, stems, strict=True) if word not in STOP) or "_".join(stems)
        self.slots.append(Slot(said, shares, verb, FAINT if faint else 1.0))
        return size

    def _glue(self, at: int) -> None:
        """`on calls` may be what a tool calls `oncalls`."""
        if len(self.said[at]) > 1 and at + 1 < len(self.said):
            glued = stem(self.said[at] + self.said[at + 1])
            if self._knows(glued):
                self.slots.append(Slot(glued, {glued: 1.0}))

    def _phrase(self, at: int) -> tuple[int, Mapping[str, float]]:
        known = thesaurus()
        for size in range(min(known.longest, len(self.said) - at), 0, -1):
            whole = "_".join(self._stems[at : at + size])
            meanings = known.meanings.get(whole, {})
            if self._in_front and size == 1:
                meanings = {**meanings, **known.doing.get(whole, {})}
            if meanings:
                return size, meanings
        return 1, {}

    def _shares(self, at: int, words: list[str], meanings: Mapping[str, float]) -> dict[str, float]:
        shares = dict(meanings)
        kept = [stem(word) for word in words if word not in STOP]
        if len(words) > 1:
            shares |= {word: max(shares.get(word, 0.0), PART) for word in kept}
        elif at + 1 < len(self.said) and self._knows(glued := stem(words[0] + self.said[at + 1])):
            shares[glued] = 1.0
        if len(kept) == 1 and not meanings and not self._knows(kept[0]):
            shares |= self._misspelt(words[-1], kept[0])
        if kept:
            shares["_".join(kept)] = 1.0
        return shares

    def _misspelt(self, word: str, stemmed: str) -> dict[str, float]:
        shares: dict[str, float] = {}
        for other in self._corrected(stemmed) or self._corrected(word):
            shares[other] = TYPO
            for meaning, share in thesaurus().meanings.get(other, {}).items():
                shares.setdefault(meaning, TYPO * share)
        return shares

    @property
    def _in_front(self) -> bool:
        return all(slot.is_source for slot in self.slots)

    def _actions(self, stems: list[str], meanings: Mapping[str, float]) -> int:
        """A word in front is a verb even if it may be a noun; later on only clear verbs are."""
        whole, found = "_".join(stems), 0
        if len(stems) == 1:
            if self._in_front or whole in GENERIC or whole in actions.CLEAR:
                found = actions.actions_of(whole)
            if self._in_front and not found and whole in thesaurus().doing:
                found = actions.BITS["create"] | actions.BITS["attach"] | actions.BITS["send"]
        if not found and (len(stems) > 1 or self._in_front):
            for word in list(meanings)[:2]:
                found |= actions.actions_of(word) if word in GENERIC or word in actions.CLEAR else 0
        return found


def parse_query(
    text: str,
    spoken: Mapping[str, tuple[int, ...]],
    knows: Callable[[str], bool],
    corrected: Callable[[str], list[str]],
) -> Query:
    """`spoken`: numbers of sources by their names' words run together; `knows`: whether any tool has a term."""
    reading = Reading(text, spoken, knows, corrected)
    said = reading.said[1:] if reading.said and reading.said[0] in spoken else reading.said
    asks = bool(said) and (said[0] in ASKING or " ".join(said[:2]) in ASKING_TWO)
    wanted = actions.READS if asks else reading.actions
    return Query(
        tuple(reading.slots),
        wanted,
        reading.sources,
        many(said),
        wishes(said, reading.actions),
        is_terse(reading),
        " ".join(reading.rest),
    )


def is_terse(reading: Reading) -> bool:
    own = [slot for slot in reading.slots if not slot.is_source]
    begins = bool(own) and (own[0].said in GENERIC or own[0].said in actions.CLEAR)
    return begins and len(own) <= TERSE and not SPOKEN.intersection(reading.said)


def many(said: list[str]) -> int:
    if any(word in ("all", "every", "list", "which", "any") for word in said):
        return 1
    for word in said:
        if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")) and word not in STOP:
            return 1
    return -1 if {"a", "an", "the", "this", "that", "one"} & set(said) else 0

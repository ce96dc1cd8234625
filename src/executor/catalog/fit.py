"""Whether what a search found answers the question, and what to say if it does not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from executor.catalog.absent import how_to_connect
from executor.catalog.search.entry import MAX_QUERY

if TYPE_CHECKING:
    from executor.catalog.search.index import Index
    from executor.catalog.search.ranking import Found

# Of the best hit. Over the shared sets of queries, what agents ask scores higher when it is found; half of what is
# missed scores lower. See docs/discovery.md.
WEAK_SCORE = 9.0
MAX_NAMES = 20
ASK = "ask for app + verb + object in the API's own words, or give a namespace alone to look around"


@dataclass(frozen=True, slots=True)
class Fit:
    """`reason` is empty where nothing needs to be said; without a fit, the best hit is no answer."""

    reason: str = ""
    is_fit: bool = True


def judge(query: str, found: Found, names: Sequence[str]) -> Fit:
    """`names` are the namespaces that may be named."""
    cut = f"only the first {MAX_QUERY} characters of the query were read" if len(query) > MAX_QUERY else ""
    if not found.hits or not found.is_fit:
        return Fit("; ".join(filter(None, (cut, f"nothing here fits: {ASK}", list_connected(names)))), is_fit=False)
    if cut:
        return Fit(cut)
    return Fit(f"weak match: {ASK}") if found.strength < WEAK_SCORE else Fit()


def miss(app: str, names: Sequence[str]) -> Fit:
    return Fit(f"{app} is not connected; {list_connected(names)}{how_to_connect(app)}", is_fit=False)


def list_connected(names: Sequence[str]) -> str:
    if not names:
        return "nothing is connected: a person can do that with `executor sources add`"
    more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return f"connected: {', '.join(names[:MAX_NAMES])}{more}"


def is_foreign(index: Index, word: str, verb: str) -> bool:
    """Whether no tool is about a word in front of a verb, and no source was meant by it."""
    from executor.catalog.search.actions import CLEAR
    from executor.catalog.search.segment import GROUP, NAME, ROUTE, SOURCE, SUMMARY
    from executor.catalog.search.thesaurus import thesaurus
    from executor.catalog.search.words import STOP, stem

    first, known = stem(word), thesaurus()
    if word in STOP or first in CLEAR or first in known.meanings or first in known.doing or stem(verb) not in CLEAR:
        return False

    def occurs_in(term: str, fields: int) -> bool:
        found = index.postings(term)
        return found is not None and bool((found.masks & fields).any())

    misspelt = any(occurs_in(one, SOURCE) for one in index.nearest_words(first))
    return not misspelt and not occurs_in(first, NAME | GROUP | SOURCE | SUMMARY | ROUTE)

"""Whether what a search found fits the query, and what to say if it does not."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from executor.catalog.search.index.entry import MAX_QUERY
from executor.dataclass import dataclass
from executor.sources import templates

if TYPE_CHECKING:
    from executor.catalog.search.arrays import Array
    from executor.catalog.search.index.index import Index
    from executor.catalog.search.ranking import Found


# The paths someone probably meant: by their words, then by how few letters differ.
CANDIDATES = 60
MAX_PATH = 300


def nearest(index: Index, path: str, limit: int, allowed: Array | None = None) -> list[str]:
    """Only of those that are `allowed`."""
    from executor.catalog.search.arrays import np
    from executor.catalog.search.ranking import best

    scores = np.zeros(index.total, np.float32)
    for term, share in score_paths(index, path[:MAX_PATH]):
        if (found := index.postings(term)) is not None:
            scores[found.docs] += np.float32(share * index.rarity(len(found.docs))) * found.impacts
    if allowed is not None:
        scores[~allowed] = 0.0
    return rank_by_letters(path[:MAX_PATH], (index.paths[doc] for doc in best(scores, CANDIDATES)), limit)


def score_paths(index: Index, path: str) -> Iterable[tuple[str, float]]:
    from executor.catalog.search.query.tokenizer import split, stem

    for word in dict.fromkeys(split(path)):
        term = stem(word)
        yield term, 1.0
        if not index.knows(term):
            yield from ((other, 0.7) for other in index.nearest_words(term) or index.nearest_words(word))


def rank_by_letters(path: str, others: Iterable[str], limit: int) -> list[str]:
    likely = sorted(((likeness(path, other), other) for other in others), key=lambda one: (-one[0], one[1]))
    return [other for like, other in likely if like > 0.4][:limit]


def likeness(wanted: str, path: str) -> float:
    """Of the whole, or of the last name alone when someone got the group or the namespace wrong."""
    whole = difflib.SequenceMatcher(None, plain(wanted), plain(path)).ratio()
    last = difflib.SequenceMatcher(None, plain(wanted.rpartition(".")[2]), plain(path.rpartition(".")[2])).ratio()
    return 0.7 * whole + 0.3 * last


def plain(path: str) -> str:
    return re.sub(r"[^a-z0-9.]", "", path.lower())


# Apps that a query names and that are not connected: the best tool for another app is no answer to that.
# A name that is also a common word, or said of people, counts only where an app is named: first, or after these.
_BEFORE_AN_APP = frozenset({"in", "on", "to", "from", "via", "with", "using", "at"})
_COMMON = frozenset({"box", "linear"})
# Well-known and not among the templates.
_OTHERS = frozenset(
    {
        "airtable", "bitbucket", "clickup", "confluence", "datadog", "docusign", "dropbox", "evernote", "freshdesk",
        "gmail", "hubspot", "intercom", "jenkins", "mailchimp", "mixpanel", "onedrive", "paypal", "quickbooks",
        "salesforce", "sendgrid", "sharepoint", "shopify", "snowflake", "spotify", "todoist", "trello", "twitter",
        "typeform", "whatsapp", "wordpress", "xero", "youtube", "zapier", "zendesk",
    }
)  # fmt: skip
_WORD = re.compile(r"[a-z0-9]+")
_APP = re.compile(r"[a-z][a-z0-9]{2,}")
WORDS_OF_A_REQUEST = 3  # app + verb + object


def absent(query: str, names: Sequence[str], is_foreign: Callable[[str, str], bool] | None = None) -> str:
    """The first app of the query that none of the sources' names has, or nothing.

    A query that is put as app + verb + object may name any app: `is_foreign` says of its first two words whether they
    can only be one that no tool knows, and a verb.
    """
    words: list[str] = _WORD.findall(query[:MAX_QUERY].lower())
    for at, word in enumerate(words):
        if word not in _OTHERS and word not in templates.read_templates():
            continue
        is_named = word not in _COMMON | _OTHERS or at == 0 or words[at - 1] in _BEFORE_AN_APP
        if is_named and not is_connected(word, names):
            return word
    if is_foreign is None or len(words) < WORDS_OF_A_REQUEST or not _APP.fullmatch(words[0]):
        return ""
    return words[0] if is_foreign(words[0], words[1]) and not is_connected(words[0], names) else ""


def is_connected(app: str, names: Sequence[str]) -> bool:
    return any(app in "".join(_WORD.findall(name.lower())) for name in names)


def how_to_connect(app: str) -> str:
    return f"; a person can connect it: `executor sources add {app}`" if app in templates.read_templates() else ""


MAX_NAMES = 20
ASK = "search for app + verb + object in the API's own words, or pass only a namespace to browse it"


@dataclass(frozen=True, slots=True)
class Fit:
    """`reason` is empty where nothing needs to be said; without a fit, the best hit is no answer."""

    reason: str = ""
    is_fit: bool = True


def judge(query: str, found: Found, names: Sequence[str]) -> Fit:
    """`names` are the namespaces that may be named."""
    cut = f"only the first {MAX_QUERY} characters of the query were used" if len(query) > MAX_QUERY else ""
    if not found.hits or not found.is_fit:
        return Fit("; ".join(filter(None, (cut, f"no match: {ASK}", list_connected(names)))), is_fit=False)
    if cut:
        return Fit(cut)
    return Fit(f"weak match: {ASK}") if found.is_weak else Fit()


def miss(app: str, names: Sequence[str]) -> Fit:
    return Fit(f"{app} is not connected; {list_connected(names)}{how_to_connect(app)}", is_fit=False)


def list_connected(names: Sequence[str]) -> str:
    if not names:
        return "nothing is connected yet; a person can add a source with `executor sources add`"
    more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return f"connected: {', '.join(names[:MAX_NAMES])}{more}"


def is_foreign(index: Index, visible: Array | None, word: str, verb: str) -> bool:
    """Whether no visible tool is about a word in front of a verb, and no source was meant by it."""
    from executor.catalog.search.index.segment import GROUP, NAME, ROUTE, SOURCE, SUMMARY
    from executor.catalog.search.query.actions import CLEAR
    from executor.catalog.search.query.thesaurus import thesaurus
    from executor.catalog.search.query.tokenizer import STOP, stem

    first, known = stem(word), thesaurus()
    if word in STOP or first in CLEAR or first in known.meanings or first in known.doing or stem(verb) not in CLEAR:
        return False

    def occurs_in(term: str, fields: int) -> bool:
        found = index.postings(term)
        if found is None:
            return False
        masks = found.masks if visible is None else found.masks[visible[found.docs]]
        return bool((masks & fields).any())

    misspelt = any(occurs_in(one, SOURCE) for one in index.nearest_words(first))
    return not misspelt and not occurs_in(first, NAME | GROUP | SOURCE | SUMMARY | ROUTE)

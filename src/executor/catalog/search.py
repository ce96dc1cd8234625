"""Search by intent over paths, descriptions and tags: BM25 with field weights, then what a name and a verb tell."""

from __future__ import annotations

import heapq
import math
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from executor.storage.tools import Head

STOP = frozenset(
    {
        "the", "of", "in", "on", "to", "for", "with", "and", "or", "by", "from", "at", "is", "are", "be", "it", "its",
        "this", "that", "as", "my", "me", "all", "an", "into", "i", "want", "please", "how", "do", "can", "you", "we",
        "a", "which", "what", "our", "your", "some", "any",
    }
)  # fmt: skip
SYNONYMS = {
    "remove": ("delete",), "erase": ("delete",), "drop": ("delete",), "destroy": ("delete",), "delete": ("remove",),
    "fetch": ("get",), "show": ("get",), "read": ("get",), "retrieve": ("get",), "view": ("get",), "lookup": ("get",),
    "get": ("retrieve", "read"), "find": ("search", "list"), "search": ("find", "list"), "query": ("search",),
    "browse": ("list",), "enumerate": ("list",), "list": ("get",), "add": ("create",), "make": ("create",),
    "new": ("create",), "open": ("create",), "insert": ("create",), "create": ("add", "new"),
    "post": ("create", "send"),
    "edit": ("update",), "change": ("update",), "modify": ("update",), "rename": ("update",), "set": ("update",),
    "update": ("edit", "set"), "upload": ("create",), "send": ("create", "post"),
    "email": ("mail",), "mail": ("email",),
    "pr": ("pull",), "pull": ("pr",), "repo": ("repository",), "repository": ("repo",), "org": ("organization",),
    "organization": ("org",), "organisation": ("organization",), "ticket": ("issue",), "bug": ("issue",),
    "user": ("member", "account"), "customer": ("client",), "client": ("customer",), "payment": ("charge",),
    "charge": ("payment",), "message": ("chat",), "dm": ("message",), "picture": ("image",), "photo": ("image",),
    "cancel": ("delete",), "refund": ("reversal",), "bill": ("invoice",), "invoice": ("bill",),
}  # fmt: skip
READ_VERBS = frozenset({"get", "list", "fetch", "show", "read", "retrieve", "view", "find", "search", "browse"})
WRITE_VERBS = frozenset({"create", "add", "make", "new", "update", "edit", "change", "set", "send", "post", "insert"})
DELETE_VERBS = frozenset({"delete", "remove", "erase", "drop", "destroy"})
WEIGHTS = {"name": 4.0, "group": 2.5, "namespace": 2.0, "tags": 1.0, "summary": 2.0, "rest": 0.6}
SYNONYM_WEIGHT = 0.5
MAX_QUERY = 1_000
MAX_TERMS = 32
CANDIDATES = 300
K1 = 1.2
B = 0.4
_WORD = re.compile(r"[A-Z]{2,}s(?![a-z])|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class Hit:
    head: Head
    score: float


def terms(text: str) -> list[str]:
    return [term for raw in _WORD.findall(text) if (term := term_of(raw))]


@lru_cache(100_000)
def term_of(raw: str) -> str:
    """Empty for a word that tells nothing. The same words come again and again, in every description."""
    word = singular(raw).lower()
    return "" if word in STOP else stem(word)


def singular(word: str) -> str:
    """Acronyms have their plural in a small letter: `PRs`."""
    return word[:-1] if len(word) > 2 and word[-1] == "s" and word[:-1].isupper() else word


def stem(word: str) -> str:
    """Light on purpose: plurals and the commonest verb endings, nothing that would join unrelated words."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("sses", "shes", "ches", "xes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    if len(word) > 5 and word.endswith("ing"):
        return word[:-3]
    return word


@dataclass(frozen=True, slots=True)
class Question:
    """A query taken apart: its words, the words that mean the same, and what it names outright."""

    text: str
    terms: tuple[str, ...]
    known: frozenset[str]
    namespaces: frozenset[str]


class Index:
    """Built once per state of a catalog, then only read."""

    def __init__(self, heads: Sequence[Head]) -> None:
        self.heads = list(heads)
        self._structures = [frozenset(terms(head.path)) for head in self.heads]
        self._openings = [next(iter(terms(head.description[:80])), "") for head in self.heads]
        self._namespaces = frozenset(head.path.partition(".")[0] for head in self.heads)
        self._postings: dict[str, list[tuple[int, float]]] = defaultdict(list)
        self._lengths: list[float] = []
        for number, head in enumerate(self.heads):
            self._add(number, head)
        self._average = sum(self._lengths) / len(self._lengths) if self._lengths else 1.0

    def search(self, query: str, *, namespace: str | None = None, limit: int = 10) -> tuple[list[Hit], int]:
        """The best matches, best first, and how many there are. Equal scores come in the order of their paths."""
        question = self._question(query)
        scores: dict[int, float] = defaultdict(float)
        matched: dict[int, int] = defaultdict(int)
        for term in question.terms:
            for number, score in self._term_scores(term).items():
                scores[number] += score
                matched[number] += 1
        if namespace is not None:
            scores = {n: score for n, score in scores.items() if self.heads[n].path.startswith(f"{namespace}.")}
        candidates = heapq.nlargest(max(CANDIDATES, limit), scores, key=lambda number: scores[number])
        hits = [
            Hit(self.heads[number], round(scores[number] * self._fit(number, question, matched[number]), 4))
            for number in candidates
        ]
        return sorted(hits, key=lambda hit: (-hit.score, hit.head.path))[:limit], len(scores)

    def _question(self, query: str) -> Question:
        wanted = tuple(dict.fromkeys(terms(query[:MAX_QUERY])))[:MAX_TERMS]
        known = frozenset(stem(word) for term in wanted for word in (term, *SYNONYMS.get(term, ())))
        spoken = frozenset(re.findall(r"\w+", query[:MAX_QUERY].lower()))
        return Question(query.strip().lower(), wanted, known, self._namespaces & spoken)

    def _add(self, number: int, head: Head) -> None:
        namespace, _, rest = head.path.partition(".")
        group, _, name = rest.rpartition(".")
        summary, _, more = head.description.partition("\n\n")
        fields = {"name": name, "group": group, "namespace": namespace, "summary": summary, "rest": more[:600]}
        weights: dict[str, float] = defaultdict(float)
        length = 0.0
        for field, text in (*fields.items(), ("tags", " ".join(head.tags))):
            found = terms(text)
            length += len(found) * min(1.0, WEIGHTS[field])
            for term in found:
                weights[term] = min(weights[term] + WEIGHTS[field], 3 * WEIGHTS[field])
        for term, weight in weights.items():
            self._postings[term].append((number, weight))
        self._lengths.append(length)

    def _term_scores(self, term: str) -> dict[int, float]:
        found: dict[int, float] = {}
        for word, share in ((term, 1.0), *((stem(other), SYNONYM_WEIGHT) for other in SYNONYMS.get(term, ()))):
            postings = self._postings.get(word, ())
            rarity = math.log(1 + (len(self.heads) - len(postings) + 0.5) / (len(postings) + 0.5))
            for number, weight in postings:
                norm = K1 * (1 - B + B * self._lengths[number] / self._average)
                score = share * rarity * weight * (K1 + 1) / (weight + norm)
                if score > found.get(number, 0.0):
                    found[number] = score
        return found

    def _fit(self, number: int, question: Question, matched: int) -> float:
        """How well query and path cover each other: `issues.create` answers "create issue", `createForIssue` less."""
        head, structure = self.heads[number], self._structures[number]
        covered = len(structure & question.known) / max(1, len(structure))
        fit = (0.4 + 0.6 * matched / len(question.terms)) * (0.3 + 1.2 * covered)
        if self._openings[number] == question.terms[0]:
            fit *= 1.15
        if f".{head.path.lower()}".endswith(f".{question.text}"):
            fit *= 4
        if question.namespaces and head.path.partition(".")[0] not in question.namespaces:
            fit *= 0.3
        return fit * verb_fit(question.terms, head) * (0.8 if head.deprecated else 1.0)


def verb_fit(wanted: Sequence[str], head: Head) -> float:
    """A query that asks to delete means a destructive tool, one that asks to list a read."""
    for verbs, effect in ((DELETE_VERBS, "destructive"), (WRITE_VERBS, "write"), (READ_VERBS, "read")):
        if not verbs.isdisjoint(wanted):
            return 1.15 if head.effect == effect else 0.75
    return 1.0

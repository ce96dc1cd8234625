"""Where a program names tools: `tools.a.b(…)`, `tools["a"].b`, `const {a} = tools`, and names given to parts of it."""

from __future__ import annotations

import ast
import re
from dataclasses import field
from functools import cached_property

from executor.checking.diagnostics import ROOT
from executor.checking.source.lexer import Language, Token, partners, tokens
from executor.dataclass import dataclass

_DECLARING = ("const", "let", "var")


@dataclass(frozen=True, slots=True)
class Chain:
    """`a.b.c` as written: its tokens, and the arguments if it is called."""

    first: int
    last: int
    names: tuple[str, ...]
    places: tuple[int, ...]
    opening: int | None = None

    @property
    def is_call(self) -> bool:
        return self.opening is not None


@dataclass
class Outline:
    code: str
    language: Language
    tokens: list[Token] = field(init=False)

    def __post_init__(self) -> None:
        self.tokens = tokens(self.code, self.language)

    @cached_property
    def partners(self) -> dict[int, int]:
        return partners(self.tokens)

    @cached_property
    def _openings(self) -> dict[int, int]:
        return {closing: opening for opening, closing in self.partners.items()}

    @cached_property
    def chains(self) -> list[Chain]:
        """Every chain that begins with `tools` or with a name bound to a part of it."""
        return [chain for chain in self._all if chain.names[0] == ROOT or chain.names[0] in self.aliases]

    @cached_property
    def aliases(self) -> dict[str, str]:
        """Names that are given once to `tools` or a part of it, and what they stand for."""
        found: dict[str, list[str]] = {}
        for chain in self._all:
            if chain.names[0] == ROOT and not chain.is_call:
                for name, rest in self._given_to(chain.first):
                    found.setdefault(name, []).append(".".join([*chain.names[1:], *rest]))
        return {name: paths[0] for name, paths in found.items() if len(paths) == 1 and name != ROOT}

    def path(self, chain: Chain) -> str:
        head = "" if chain.names[0] == ROOT else self.aliases[chain.names[0]]
        return ".".join([*filter(None, [head]), *chain.names[1:]])

    def chain_at(self, start: int, end: int) -> Chain | None:
        """The chain that a finding points into; the shortest one if several are nested there."""
        here = [one for one in self.chains if self._start(one) <= start < self.tokens[one.last].end or start == end]
        here = [one for one in here if self._start(one) <= start <= self.tokens[one.last].end]
        return min(here, key=lambda one: one.last - one.first, default=None)

    def call_at(self, offset: int) -> Chain | None:
        """The innermost call of a tool whose parentheses hold the offset; calls of anything else in between count."""
        best: tuple[int, Chain | None] | None = None
        called = {chain.opening: chain for chain in self.chains if chain.opening is not None}
        for opening, closing in self.partners.items():
            token = self.tokens[opening]
            if token.text != "(" or not token.start < offset <= self.tokens[closing].start:
                continue
            if opening not in called and not self._is_callee(opening):
                continue
            if best is None or token.start > best[0]:
                best = (token.start, called.get(opening))
        return best[1] if best else None

    def call_named(self, start: int) -> Chain | None:
        """The call of which a finding marks the callee: too few or too many arguments are reported there."""
        here = [one for one in self.chains if one.is_call and self._start(one) <= start < self.tokens[one.last].end]
        return here[0] if len(here) == 1 else None

    def arguments(self, chain: Chain) -> list[Token]:
        if chain.opening is None or chain.opening not in self.partners:
            return []
        return self.tokens[chain.opening + 1 : self.partners[chain.opening]]

    @property
    def rebinds_root(self) -> bool:
        """Whether the program may mean something else by `tools` somewhere."""
        return any(self._binds(index) for index, token in enumerate(self.tokens) if token.text == ROOT)

    def _binds(self, index: int) -> bool:
        before = self.tokens[index - 1].text if index else ""
        after = self.tokens[index + 1].text if index + 1 < len(self.tokens) else ""
        if before in (*_DECLARING, "function", "class", "import", "as", "def", "for") or after in ("=>", ":=", "as"):
            return True
        return after == "=" and before not in (".", "?.") and not self._is_comparison(index + 1)

    def _is_comparison(self, index: int) -> bool:
        following = self.tokens[index + 1] if index + 1 < len(self.tokens) else None
        return following is not None and following.text == "=" and following.start == self.tokens[index].end

    def _is_callee(self, opening: int) -> bool:
        if opening == 0:
            return False
        before = self.tokens[opening - 1]
        if before.kind == "name":
            return before.text not in (
                "if",
                "for",
                "while",
                "switch",
                "catch",
                "return",
                "await",
                "in",
                "of",
                "and",
                "or",
            )
        return before.text in (")", "]")

    def _start(self, chain: Chain) -> int:
        return self.tokens[chain.first].start

    @cached_property
    def _all(self) -> list[Chain]:
        return [
            self._chain(index)
            for index, token in enumerate(self.tokens)
            if token.kind == "name" and (index == 0 or self.tokens[index - 1].text not in (".", "?."))
        ]

    def _chain(self, first: int) -> Chain:
        names, places, last = [self.tokens[first].text], [self.tokens[first].start], first
        while (step := self._step(last + 1)) is not None:
            name, place, last = step
            names.append(name)
            places.append(place)
        opening = last + 1
        if self._text(opening) == "?." and self._text(opening + 1) == "(":
            opening += 1
        is_call = self._text(opening) == "("
        return Chain(first, last, tuple(names), tuple(places), opening if is_call else None)

    def _step(self, index: int) -> tuple[str, int, int] | None:
        if self._text(index) in (".", "?.") and index + 1 < len(self.tokens):
            following = self.tokens[index + 1]
            if following.kind == "name":
                return following.text, following.start, index + 1
            index += 1 if self._text(index) == "?." else 0
        if (
            self._text(index) == "["
            and self.partners.get(index) == index + 2
            and self.tokens[index + 1].kind == "string"
        ):
            text = string_value(self.tokens[index + 1].text, self.language)
            if text is not None:
                return text, self.tokens[index + 1].start, index + 2
        return None

    def _text(self, index: int) -> str:
        return self.tokens[index].text if index < len(self.tokens) and self.tokens[index].kind == "mark" else ""

    def _given_to(self, first: int) -> list[tuple[str, list[str]]]:
        """For `NAME = tools.a` and `{b, c: d} = tools.a`: each name, and what is to be added to the path."""
        if first < 2 or self._text(first - 1) != "=" or self.tokens[first - 2].text in ("=", "!", "<", ">", "+"):
            return []
        before = self.tokens[first - 2]
        if before.kind == "name":
            return [(before.text, [])]
        if before.text == "}" and self.language == "typescript":
            return self._pattern(first - 2)
        return []

    def _pattern(self, closing: int) -> list[tuple[str, list[str]]]:
        opening = self._openings.get(closing)
        inside = self.tokens[opening + 1 : closing] if opening is not None else []
        text = " ".join(token.text for token in inside)
        if not re.fullmatch(r"\w+( : \w+)?( , \w+( : \w+)?)*( ,)?", text):
            return []
        pairs = [part.split(" : ") for part in text.removesuffix(" ,").split(" , ")]
        return [(pair[-1], [pair[0]]) for pair in pairs]


def string_value(text: str, language: Language) -> str | None:
    """What a string literal means; None if that takes more than reading it."""
    if text[:1] == "`":
        return text[1:-1] if text.endswith("`") and "\\" not in text else None
    if len(text) > 100_000:
        return None
    if language == "typescript" and "\\" in text:
        text = re.sub(r"\\/", "/", text)
        if re.search(r"\\(?![\\'\"nrtbfv]|x[\da-fA-F]{2}|u[\da-fA-F]{4})", text) or re.search(
            r"\\u[dD][89a-fA-F]", text
        ):
            return None
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    return value if isinstance(value, str) else None

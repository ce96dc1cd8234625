"""Whether the code itself deals with the failure of a call: then failing may be what it is written for."""

from __future__ import annotations

import re

from executor.checking.source.tool_calls import Chain, Outline

SETTLING = {"python": "return_exceptions", "typescript": "allSettled"}


def is_caught(outline: Outline, chain: Chain) -> bool:
    if _is_settled(outline, chain):
        return True
    at = outline.tokens[chain.first].start
    if outline.language == "python":
        return any(start < at < end for start, end in _python_tries(outline))
    return _has_catch(outline, chain) or any(start < at < end for start, end in _typescript_tries(outline))


def _is_settled(outline: Outline, chain: Chain) -> bool:
    """One of several calls that are awaited together, in a program that takes failures of such calls as values."""
    is_awaited = chain.first > 0 and outline.tokens[chain.first - 1].text == "await"
    word = SETTLING[outline.language]
    return not is_awaited and any(token.text == word and token.kind == "name" for token in outline.tokens)


def _has_catch(outline: Outline, chain: Chain) -> bool:
    """`tools.a.b(…).catch(…)`, also after `.then(…)`."""
    at = outline.partners.get(chain.opening) if chain.opening is not None else None
    while at is not None and at + 3 < len(outline.tokens) and outline.tokens[at + 1].text in (".", "?."):
        if outline.tokens[at + 2].text == "catch":
            return True
        at = outline.partners.get(at + 3)
    return False


def _typescript_tries(outline: Outline) -> list[tuple[int, int]]:
    found = []
    for index, token in enumerate(outline.tokens[:-1]):
        closing = outline.partners.get(index + 1) if token.kind == "name" and token.text == "try" else None
        if closing is not None and closing + 1 < len(outline.tokens) and outline.tokens[closing + 1].text == "catch":
            found.append((token.start, outline.tokens[closing].start))
    return found


def _python_tries(outline: Outline) -> list[tuple[int, int]]:
    found, open_tries, code = [], list[tuple[int, int, bool]](), outline.code
    for line in re.finditer(r"^([ \t]*+)([^\s#][^\n]*)$", code, re.MULTILINE):
        indent, text = len(line[1].expandtabs()), line[2]
        while open_tries and open_tries[-1][0] >= indent:
            started, start, is_suppressing = open_tries.pop()
            if is_suppressing or (started == indent and re.match(r"except\b", text)):
                found.append((start, line.start()))
        is_suppressing = re.match(r"with\b.*\bsuppress\(", text) is not None
        if is_suppressing or re.match(r"try\s*:", text):
            open_tries.append((indent, line.start(), is_suppressing))
    return found + [(start, len(code)) for _, start, is_suppressing in open_tries if is_suppressing]

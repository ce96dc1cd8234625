"""Whether the code itself deals with the failure of a call: then failing may be what it is written for."""

from __future__ import annotations

import re

from executor.checking.source.tool_calls import Chain, Outline


def is_caught(outline: Outline, chain: Chain) -> bool:
    at = outline.tokens[chain.first].start
    if outline.language == "python":
        return any(start < at < end for start, end in _python_tries(outline))
    return _has_catch(outline, chain) or any(start < at < end for start, end in _typescript_tries(outline))


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
    found, open_tries, code = [], list[tuple[int, int]](), outline.code
    for line in re.finditer(r"^([ \t]*+)([^\s#][^\n]*)$", code, re.MULTILINE):
        indent, text = len(line[1].expandtabs()), line[2]
        while open_tries and open_tries[-1][0] >= indent:
            started, start = open_tries.pop()
            if started == indent and re.match(r"except\b", text):
                found.append((start, line.start()))
        if re.match(r"try\s*:", text):
            open_tries.append((indent, line.start()))
    return found

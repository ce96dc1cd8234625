"""Code that is JavaScript already needs no types blanked: the engine itself finds out, by compiling it.

Only code that means the same in both languages, and says itself what it returns, may be tried this way. Of what is
JavaScript, TypeScript reads only `f<T>(x)` differently: type arguments, where JavaScript compares. Whatever could be
either goes to the parser.
"""

from __future__ import annotations

import re

from executor.runtime.worker.frames import Source
from executor.runtime.worker.submitted_code import without_fence

OPEN = b'(async function(){"use strict";'
RETURN = b"return("
OPEN_EXPRESSION = OPEN + RETURN
_TYPE_ARGUMENTS = re.compile(rb"(?<!=)>")  # closing ones; no type ends with `=`, as the `>` of an arrow does
_EVIDENT = re.compile(  # types, almost surely: compiling would be tried in vain
    rb":\s*(?:string|number|boolean|any|unknown|void|never)\b|:\s*[A-Z][\w<>, ]{0,40}(?:\[\])? ?[=)]"
    rb"|\bas\s+[a-zA-Z]{1,40}\s?[;,)\]}.]|^[ \t]*(?:export )?(?:interface|type|declare|abstract|enum) +\w|\w!\.",
    re.MULTILINE,
)
_GLANCE = 2000
_BEFORE = re.compile(rb"(?:\s+|//[^\n\r\xe2]*|/\*.*?\*/)*", re.DOTALL)
_STATEMENT = re.compile(rb"(?:const|let|var|if|for|while|do|switch|try|throw|return|class)\b(?!\$)|\{")
_FUNCTION = re.compile(rb"(?:async|function)\b(?!\$)")
_RETURNS = re.compile(  # brackets, a `return` that a condition guards, and one that none does
    rb"[{}]|\b(?:if|else|while|for)\b[^\n;{}]{0,200}\n?[ \t]*\breturn\b|(?<!\))(?<!\) )\breturn\b"
)


def plain(submitted: bytes) -> Source | None:
    """What to compile if this is JavaScript; None if it takes a parser to say what it means."""
    code = without_fence(submitted)
    opened = code.find(b"<")
    if b"import" in code or (opened >= 0 and _TYPE_ARGUMENTS.search(code, opened)):
        return None
    if _EVIDENT.search(code, 0, _GLANCE):
        return None
    before = _BEFORE.match(code)
    start = before.end() if before is not None else 0
    if _STATEMENT.match(code, start):
        return Source(OPEN + code + b"\n})", len(OPEN), callable=False) if _returns(code) else None
    return None if _needs_shape(code, start) else _expression(code)


def _returns(code: bytes) -> bool:
    """Whether it ends with a `return` that no condition guards. If not, its last expression may be the result."""
    depth = 0
    for found in _RETURNS.finditer(code):
        token = found.group()
        depth += (token == b"{") - (token == b"}")
        if depth == 0 and token == b"return":
            return True
    return False


def _needs_shape(code: bytes, start: int) -> bool:
    """A function may be declared here and followed by more; one that takes `tools` is rewritten."""
    if b"function" in code:
        return _FUNCTION.match(code, start) is not None or b"tools" in code
    head, arrow, _ = code.partition(b"=>")
    return arrow != b"" and b"tools" in head


def _expression(code: bytes) -> Source:
    """Compiled as a statement too, so that `1) + (2` is no expression. Only the first of the two is run."""
    bare = code.rstrip(b"; \t\r\n")
    head = b"[" + OPEN_EXPRESSION
    both = head + bare + b"\n)})," + OPEN + bare + b"\n})][0]"
    return Source(both, len(head), callable=True)

"""The text that TypeScript's checker reads: the submitted code as the body of a function, every column where it was.

The first line is ours, so nothing in the code can be a directive of the file (`@ts-nocheck`, `/// <reference>`).
"""

from __future__ import annotations

import re

from executor.checking.source.lexer import TooLong, partners, tokens
from executor.runtime.worker.submitted_code import without_fence

HEAD = "export {};async function main(): Promise<any> {\n"
LOOSE_HEAD = (
    "export {};type ExecutorTools = typeof tools;"
    "async function main(tools: ExecutorLoose<ExecutorTools>): Promise<any> {\n"
)
TAIL = "\n}"
HEAD_LINES = 1
# A program may be a function that takes `tools`: the sandbox calls it with nothing, and it means the global.
# Possessive throughout: nothing here is tried twice, however much white space there is.
_PARAMETER = re.compile(
    r"""\A(?:\s++|//[^\n]*+|/\*(?:[^*]|\*(?!/))*+\*/)*+
    \(?\s*+(?:export\s++default\s++)?\(?\s*+
    (?:async\b\s*+)?(?:function\b\s*+\*?\s*+[\w$]*+\s*+)?
    \(\s*+(?P<tools>\{?\s*+tools\s*+\}?)\s*+\)""",
    re.VERBOSE,
)
_SINGLE = re.compile(r"\A(?:\s++|//[^\n]*+|/\*(?:[^*]|\*(?!/))*+\*/)*+(?:async\s++)?(?P<tools>tools)\s*+=>")
_EXPORT = re.compile(r"^(?P<word>export\s++default|export)(?=\s++[\w$({\[])", re.MULTILINE)
_DECLARES = re.compile(r"\s+(?:(?:async\s+)?function\s*\*?\s*[\w$]|class\s+[\w$]|abstract\s|interface\s)")
_DECLARED = re.compile(r"(?<!default )\bfunction\s*\*?\s*\w")
_EXPRESSION = "void "


def wrap(code: str, *, loose: bool = False) -> str:
    """`loose` lets every result be anything: what is then still wrong is wrong in the code itself."""
    text = remove_fence(code)
    if (function := _PARAMETER.match(text) or _SINGLE.match(text)) and _is_program(function, text):
        text = _without_parameter(function) + text[function.end() :]
    text = _EXPORT.sub(_without_export, text)
    return (LOOSE_HEAD if loose else HEAD) + text + TAIL


def remove_fence(code: str) -> str:
    """Without the fence of Markdown that the sandbox takes away too."""
    return without_fence(code.encode("utf-8", "replace")).decode("utf-8", "replace") if "```" in code else code


def _is_program(function: re.Match[str], text: str) -> bool:
    """A function that is declared and followed by more is not the program."""
    if not _DECLARED.search(function.group()):
        return True
    try:
        found = tokens(text, "typescript")
    except TooLong:
        return False
    while found and found[-1].text == ";":
        found.pop()
    pairs = partners(found)
    body = next((at for at, one in enumerate(found) if one.start >= function.end() and one.text == "{"), None)
    return body is not None and pairs.get(body) == len(found) - 1


def _without_parameter(match: re.Match[str]) -> str:
    whole, (start, end) = match.group(), match.span("tools")
    blank = re.sub(r"[^\n]", " ", whole[start:end])
    return whole[:start] + ("()   " if match.re is _SINGLE else blank) + whole[end:]


def _without_export(match: re.Match[str]) -> str:
    """A default that is no declaration becomes an expression; the words of the rest are blanked."""
    word = match.group("word")
    is_expression = word.endswith("default") and not _DECLARES.match(match.string, match.end())
    blank = re.sub(r"[^\n]", " ", word)
    return _EXPRESSION + blank[len(_EXPRESSION) :] if is_expression else blank

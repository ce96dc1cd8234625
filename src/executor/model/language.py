"""The languages that code is submitted in."""

from __future__ import annotations

import re
from typing import Literal

Language = Literal["typescript", "python"]
LANGUAGES: tuple[Language, ...] = ("typescript", "python")
_GLANCE = 2000
# No valid TypeScript has one of these outside of texts and comments.
_PYTHON = re.compile(
    r"""
    ^[ \t]*(?:
        import[ ][A-Za-z_][\w., ]*[ \t]*(?:\#.*)?$ | from[ ][A-Za-z_.][\w.]*[ ]import[ (]
      | (?:async[ ])?def[ ]\w+[ ]?\( | class[ ]\w+(?:\([^()\n]*\))?: | @\w[\w.]*(?:\(.*\))?[ \t]*$
      | (?:(?:async[ ])?(?:for|with)|if|elif|while|except)[ (][^\n{]*:[ \t]*(?:\#.*)?$
      | (?:try|else|finally):[ \t]*(?:\#.*)?$
      | (?:if|elif|for|while)[ ][^\n({:]{1,200}:[ ]\w
      | pass[ \t]*$ | \#[ !]
    )
    | (?<![.\w$"'])(?:print|len|sorted|range|enumerate|isinstance|sum|any|all|zip)\(
    | (?<![\w"'.$])(?:None|True|False)(?![\w"':])
    | (?:^|(?<=[\s(,=\[{+:]))[fr]b?["'] | (?<!["'])\basyncio\.\w
    | [ ]for[ ]\w+(?:,[ ]\w+)*[ ]in[ ][^"'\n]{1,80}[\])}]
    | \btools(?:\.\w+)+\(\s*(?:\*\*\w|[A-Za-z_]\w*[ ]?=[ ]?[^=>\s])
    """,
    re.MULTILINE | re.VERBOSE,
)
_TYPESCRIPT = re.compile(
    r"""
    (?:^|[;{}(]|\s)(?:const|let|var)[ ]+[\w$\[{] | => | [!=]==
    | \bfunction\b[ *]*[\w$]*[ ]*\( | (?<![\w"'])new[ ]+[A-Z]\w*[(<]
    | ^[ \t]*(?://|/\*|\}|interface[ ]\w|type[ ]\w+[ ]?=)
    | && | \|\| | \?\.\w | \?\?
    | \((?:\s*\{)\s*[A-Za-z_$][\w$]*\s*[:,}] | `
    | (?<![\w"'.$])(?:null|undefined|true|false|console\.\w+)\b(?!["'])
    """,
    re.MULTILINE | re.VERBOSE,
)


def language_of(language: str) -> Language:
    """What signatures are written in for code of any language: for one without its own, in TypeScript."""
    return "python" if language == "python" else "typescript"


def has_signs(code: str, language: str) -> bool:
    """Whether the beginning of the code has something that only this language has."""
    return (_PYTHON if language == "python" else _TYPESCRIPT).search(code, 0, _GLANCE) is not None


def is_python(code: str) -> bool:
    """Whether the beginning of the code leaves no doubt. Signs of TypeScript come early: they are looked for first."""
    return not has_signs(code, "typescript") and has_signs(code, "python")


def is_typescript(code: str) -> bool:
    return not has_signs(code, "python") and has_signs(code, "typescript")

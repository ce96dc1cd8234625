"""A signature in fewer tokens: lines that are only there for the eye are joined, and what is still said means the same.

A line break and its indent inside JSON cost about as much as the word after them.
"""

from __future__ import annotations

import re

_WORD = re.compile(r"[A-Za-z_]\w*")
_DECLARED = re.compile(r"(?:type |class )?([A-Za-z_]\w*)(?:\(TypedDict\)| =)")


def flatten(signature: str) -> str:
    """One line a declaration; Python stays valid Python. Lines with notes stay: a note goes to the end of its line."""
    if signature.startswith("# await "):
        return re.sub(r"\(\n    \*,\n(.*?)\n\) ->", _parameters, _bodies(signature), count=1, flags=re.DOTALL)
    call, mark, more = signature.partition("\n// more types: ")
    return re.sub(r"\n(?:\s+|(?=\}))", " ", call) + mark + more if " // " not in call else signature


def without_result(signature: str) -> str:
    """A flat signature with the types of its arguments alone."""
    lines = signature.split("\n")
    start = next((at for at, line in enumerate(lines) if _DECLARED.match(line)), len(lines))
    call = "\n".join(lines[:start])
    arguments = re.split(r"\): Promise<|\) -> ", call)[0]
    declared = {match[1]: line for line in lines[start:] if (match := _DECLARED.match(line))}
    named, waiting = dict[str, str](), [*_WORD.findall(arguments)]
    for name in waiting:
        if name in declared and name not in named:
            named[name] = declared[name]
            waiting += _WORD.findall(declared[name])
    return "\n".join([call, *named.values()])


def _bodies(signature: str) -> str:
    """`class A(TypedDict): a: int; b: str`"""

    def join(match: re.Match[str]) -> str:
        fields = match[2].strip().split("\n")
        return f"{match[1]} {'; '.join(field.strip() for field in fields)}"

    return re.sub(r"^(class \w+\(TypedDict\):)((?:\n    [^#\n]+)+)$", join, signature, flags=re.MULTILINE)


def _parameters(match: re.Match[str]) -> str:
    *lines, last = [line.strip() for line in match[1].split("\n")]
    if any("#" in line for line in lines) or "#" in last[1:]:
        return match[0]
    if last.startswith("#"):  # how many there are more: the line can't continue after it
        return f"(*, {' '.join(lines)} {last}\n) ->"
    return f"(*, {' '.join([*lines, last]).rstrip(',')}) ->"

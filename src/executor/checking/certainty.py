"""Whether a checker's complaint about a type is certain: read off its message, and in doubt it is not."""

from __future__ import annotations

import re

from executor.checking.diagnostics import Finding

_TYPESCRIPT = re.compile(
    r"(?:Argument of type|Type) '(?P<found>[^']*)' is not assignable to (?:parameter of )?type '(?P<wanted>[^\n]*)'\."
)
_MISSING = re.compile(r"(?:^|\n\s*)(?:Property '[^']*' is missing in type|Type .* is missing the following properties)")
_PYTHON = re.compile(r"Expected `(?P<wanted>[^\n]*)`, found `(?P<found>[^`\n]*)`")
MISSING = ("TS2739", "TS2740", "TS2741")


def impossible(finding: Finding) -> bool:
    """Whether no value of the type found could be one of the type wanted. A wider type might hold the right value."""
    if finding.code in ("TS2739", "TS2740", "TS2741") or (
        finding.code == "TS2345" and _MISSING.search(finding.message)
    ):
        return True
    match = _TYPESCRIPT.search(finding.message) or _PYTHON.search(finding.message)
    if match is None:
        return False
    found, wanted = kinds(match["found"]), kinds(match["wanted"])
    if found is None or wanted is None or len(found) != 1:
        return False
    if finding.code == "invalid-argument-type" and not match["found"].startswith("Literal["):
        return False  # it may come from what a service says of its results
    (one,) = found
    if one.startswith("="):
        return one not in wanted and one[1:].partition(":")[0] not in wanted
    return not any(other == one or other.startswith(f"={one}:") for other in wanted)


_KINDS = {
    "string": "string", "number": "number", "boolean": "boolean", "null": "null", "undefined": "undefined",
    "true": "=boolean:true", "false": "=boolean:false", "Date": "object", "object": "object", "str": "string",
    "int": "number", "float": "number", "bool": "boolean", "None": "null",
}  # fmt: skip


def kinds(written: str) -> set[str] | None:
    """The kinds of value a written type has, literals as `=kind:value`; None if it says more than can be read here."""
    text = written.strip()
    if text.startswith("Literal[") and text.endswith("]"):
        text = " | ".join(text[8:-1].split(", "))
    found: set[str] = set()
    for part in text.split(" | "):
        part = part.strip()
        if part in _KINDS:
            found.add(_KINDS[part])
        elif re.fullmatch(r'"[^"|]*"', part):
            found.add(f"=string:{part[1:-1]}")
        elif re.fullmatch(r"-?\d+(\.\d+)?", part):
            found.add(f"=number:{part}")
        elif re.fullmatch(r"[^|{}<>]*\[\]|(?:readonly )?(?:ReadonlyArray|Array)<[\w. ]*>", part):
            found.add("array")
        else:
            return None
    return found

"""Which of ty's findings say nothing about code that runs in the sandbox: read off the message."""

from __future__ import annotations

import re

_TOOL = r"Argument to bound method `tools_\w+\.__call__` is incorrect: "
_FIELDS = "code|status|message|details|retryable|hint"
_SEVERAL = r"[^`]* \| "  # one of several types

_SANDBOX = (
    # `return`, `await`, `async for` and `async with` work at the top
    r"`return` statement outside of a function",
    r".* outside of an asynchronous function",
    # any error may be a ToolError
    rf"Object of type `\w*(?:Exception|Error)` has no attribute `(?:{_FIELDS})`",
    # which packages there are is settled when Executor is built
    r"Cannot resolve imported module `",
    # dates, enums, dataclasses, sets and more are written as JSON
    rf"{_TOOL}Expected .*, found `(?!Literal\[|(?:str|int|float|bool|None|list|dict|Call)\b)",
)
# What may be None usually isn't. Of the values in one list or dict, each is used as what it is; a finding is then about
# another one of their types. Sometimes it names only that one.
_UNTYPED = (
    rf".*[Oo]bjects? of type `(?:None\b|{_SEVERAL})",
    rf".* and `(?:None\b|{_SEVERAL})",
    rf"`{_SEVERAL}[^`]*` is not awaitable",
    r"Operator `(?:[-+*/%@&|^]|//|\*\*|<<|>>)=`",
    r"Operator .*(?:Literal\[[^]]*, |`None`)",
    r"(?!.*`(?:Call\[|tools_|Tools`))Object of type .* (?:is not|may not be) (?:iterable|callable)",
    r"(?!.*`Call\[)Cannot (?:subscript|delete|assign)",
    r"Method `__getitem__` (?!.*on object of type `(?:dict|list)\[.*\bAny\b)",
    r"Invalid subscript assignment",
    r".* bound method `(?:list|dict|set|str|bytes|deque|defaultdict|Counter)\.",
    rf"(?!{_TOOL})Argument to .* is incorrect: Expected .*, found `[^`]*(?: \| |, )",
    r"Argument to .* is incorrect: Expected .*, found `[^`]*\bUnknown\b",
    # of the library's functions with many forms, the wrong one is often meant
    r"No overload of ",
)
_ATTRIBUTES = (  # which objects take beyond those of their class
    r"Unresolved attribute `",
    r"Function `[^`]*` has no attribute `",
    r"Object of type .* is not assignable to attribute `",
)
_RUNS = re.compile("|".join((*_SANDBOX, *_UNTYPED, *_ATTRIBUTES)))


def runs_anyway(message: str) -> bool:
    return _RUNS.match(message) is not None

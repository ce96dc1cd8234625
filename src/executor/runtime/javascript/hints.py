"""What to write instead, for errors that the engine itself throws. Data: each entry is tried by the tests."""

from __future__ import annotations

import re
from typing import Final, NamedTuple


class Hint(NamedTuple):
    """`pattern` is looked for in the error as the engine shows it; `lacking` brings it about."""

    pattern: str
    advice: str
    lacking: str


_OUTSIDE = "use tools.* for everything outside; tools.discover({query}) finds what is connected"
_NODE = "process|__dirname|__filename|Deno|Bun|global|module|exports"
_BROWSER = "window|document|navigator|localStorage|sessionStorage|location|alert"
_REQUESTS = "Blob|File|FormData|Headers|Request|Response|ReadableStream|axios|got"
_PACKAGES = "_|lodash|moment|dayjs|luxon|DateTime|dateFns|z|R|uuid|uuidv4|Papa|cheerio|math"

HINTS: Final[tuple[Hint, ...]] = (
    Hint("Buffer is not defined", "use btoa(text), atob(base64), TextEncoder and TextDecoder", "Buffer.from('a')"),
    Hint(
        "Temporal is not defined",
        "use Date: `new Date(Date.now() + 86400000).toISOString()`",
        "Temporal.Now.instant()",
    ),
    Hint(f"(?:{_NODE}) is not defined", f"there is no Node.js here: {_OUTSIDE}", "process.env"),
    Hint(f"(?:{_BROWSER}) is not defined", f"there is no browser here: {_OUTSIDE}", "document.title"),
    Hint(f"(?:{_REQUESTS}) is not defined", f"there are no requests here: {_OUTSIDE}", "new FormData()"),
    Hint(
        rf": '?(?:{_PACKAGES})'? is not defined",
        "there are no packages here: write it in plain JavaScript, such as Object.groupBy(list, (item) => item.key)",
        "_.groupBy([], 'a')",
    ),
    Hint(
        "(?:sleep|delay|wait) is not defined",
        "write `await new Promise((resolve) => setTimeout(resolve, 1000))`",
        "await sleep(10)",
    ),
    Hint(
        "(?:print|None|True|False|len) is not defined",
        'write console.log, null, true, false, list.length; or send Python with language "python"',
        "print(1)",
    ),
    Hint(
        "is not defined",
        "declare it with const or let, or check its spelling; a connected app is called as tools.namespace.name({...})",
        "missing + 1",
    ),
    Hint(
        "(?:cannot|Cannot) read propert.*(?:undefined|null)",
        "the value before the dot is missing: print it with console.log(JSON.stringify(value)), or use `?.`",
        "undefined.x",
    ),
    Hint(
        "not a function",
        "there is no such method: check the name, and print the value with console.log",
        "[].first()",
    ),
    Hint(
        "not iterable|Symbol.iterator",
        "it is not a list: print it with console.log; results often have their list in a field such as items",
        "[...{}]",
    ),
    Hint("read-only|Assignment to constant", "declare it with let", "(() => { const x = 1; x = 2 })()"),
    Hint(
        "in JSON|JSON input|not valid JSON",
        "the text is not JSON: print its beginning with console.log(text.slice(0, 200))",
        "JSON.parse('{x')",
    ),
    Hint(
        "Date value is NaN|Invalid time value",
        "the date could not be parsed: check the text it was created from",
        "new Date('x').toISOString()",
    ),
    Hint("BigInt", "use BigInt only with BigInt: `10n * BigInt(n)`; Number(value) converts it to a number", "1n + 1"),
    Hint(
        "circular",
        "leave out the field that refers back, or copy the fields you need",
        "(() => { const o = {}; o.o = o; return JSON.stringify(o) })()",
    ),
    Hint(
        "is not initialized|before initialization",
        "move its declaration up: const and let can't be used before their line",
        "(() => { x; let x = 1 })()",
    ),
    Hint("not a constructor", "call it without new, or check the name", "new (() => {})()"),
    Hint("call stack", "recurse less deeply, or write a loop", "(function f() { f() })()"),
)
_COMPILED: Final = tuple((re.compile(hint.pattern), hint.advice) for hint in HINTS)


def advice(message: str) -> str:
    """For an error as it is shown, `TypeError: not a function`. Empty if nothing is known, or if the code made it."""
    if message.startswith("Error: "):
        return ""
    return next((text for pattern, text in _COMPILED if pattern.search(message[:500])), "")

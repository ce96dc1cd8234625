"""What the interpreter lacks, and the nearest form that it has.

Data: each entry is tried by the tests, the lacking form as well as the one that is advised.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple


class Hint(NamedTuple):
    """`pattern` is looked for in the error as Python shows it; `lacking` brings it about, `instead` must run."""

    pattern: str
    advice: str
    lacking: str
    instead: str


_ANY_MODULE = "there are asyncio, base64, bisect, collections, copy, csv, dataclasses, datetime, decimal, functools, "
_ANY_MODULE += "hashlib, itertools, json, math, random, re, time, typing, unicodedata; use tools.* for everything else"

HINTS: Final[tuple[Hint, ...]] = (
    Hint(
        "class inheritance",
        "write classes without a base and share code through functions; "
        'to fail, raise a built-in error such as ValueError("...")',
        "class Stop(Exception):\n    pass\n",
        'try:\n    raise ValueError("stop")\nexcept ValueError as error:\n    print(error)\n',
    ),
    Hint(
        "method decorators",
        "write a plain method, or a function outside of the class: `def area(shape): ...`",
        "class A:\n    @property\n    def x(self):\n        return 1\n",
        "class A:\n    def x(self):\n        return 1\nA().x()\n",
    ),
    Hint(
        "yield expressions",
        "return a list, or write a generator expression: `(f(x) for x in xs)`",
        "def g():\n    yield 1\nlist(g())\n",
        "def g():\n    return [1]\nlist(x + 1 for x in g())\n",
    ),
    Hint(
        "'del' statement",
        "use `mapping.pop(key)` or `items.pop(index)`; a name can be set to None",
        "d = {'a': 1}\ndel d['a']\n",
        "d = {'a': 1}\nd.pop('a')\n",
    ),
    Hint(
        "async context managers|async with",
        "await the calls themselves; for several at once `await asyncio.gather(first(), second())`",
        "import asyncio\nasync with asyncio.TaskGroup() as group:\n    pass\n",
        "import asyncio\nasync def f():\n    return 1\nawait asyncio.gather(f(), f())\n",
    ),
    Hint(
        r"exception groups",
        "use `except`; one call that fails in a gather raises its own error",
        "try:\n    pass\nexcept* ValueError:\n    pass\n",
        "try:\n    raise ValueError('x')\nexcept ValueError:\n    pass\n",
    ),
    Hint(
        r"gather\(\) does not yet support keyword",
        "wrap each call in a function that catches its error: "
        "`async def attempt(call): try: return await call except ToolError as error: return str(error)`",
        "import asyncio\nawait asyncio.gather(return_exceptions=True)\n",
        "import asyncio\nasync def attempt(call):\n    try:\n        return await call\n"
        "    except ToolError as error:\n        return str(error)\n"
        "async def f():\n    return 1\nawait asyncio.gather(attempt(f()))\n",
    ),
    Hint(
        r"'asyncio' has no attribute|cannot import name '\w+' from 'asyncio'",
        "for several at once use `await asyncio.gather(first(), second())`; a call starts when it is written, "
        "so `first = tools.a.b(); second = tools.c.d(); await first` also runs both",
        "import asyncio\nasync def f():\n    return 1\nasyncio.create_task(f())\n",
        "import asyncio\nasync def f():\n    return 1\nawait asyncio.gather(f(), f())\n",
    ),
    Hint(
        "exceptions can only be called with zero or one string argument",
        "raise it with one text: `raise ValueError(f'{a}: {b}')`",
        "raise ValueError('a', 1)\n",
        "try:\n    raise ValueError(f'{1}: {2}')\nexcept ValueError:\n    pass\n",
    ),
    Hint(
        r"No module named '(?:uuid|secrets)'",
        "create an ID with `\"%032x\" % random.getrandbits(128)`; the numbers are the same when "
"the execution runs again",
        "import uuid\n",
        'import random\n"%032x" % random.getrandbits(128)\n',
    ),
    Hint(
        "No module named 'statistics'",
        "write it out: `sum(xs) / len(xs)`, `sorted(xs)[len(xs) // 2]`",
        "import statistics\n",
        "xs = [1, 2, 3]\n(sum(xs) / len(xs), sorted(xs)[len(xs) // 2])\n",
    ),
    Hint(
        "No module named 'urllib",
        "tools encode their own arguments; to quote a text: "
        '`"".join(c if c.isalnum() else "".join(f"%{b:02X}" for b in c.encode()) for c in text)`',
        "import urllib.parse\n",
        'text = "a b"\n"".join(c if c.isalnum() else "".join(f"%{b:02X}" for b in c.encode()) for c in text)\n',
    ),
    Hint(
        "No module named '(?:requests|httpx|aiohttp|socket|http)",
        "there is no network here: call a connected tool; "
        '`await tools.discover(query="...")` finds one',
        "import requests\n",
        "tools.discover\n",
    ),
    Hint(
        "No module named 'io'",
        "collect lines in a list and join them; csv reads a list of lines: `csv.reader(text.splitlines())`",
        "import io\n",
        'import csv\nlist(csv.reader("a,b\\nc,d".splitlines()))\n',
    ),
    Hint(
        "No module named 'heapq'",
        "sort instead: `sorted(xs)[:n]`",
        "import heapq\n",
        "sorted([3, 1, 2])[:2]\n",
    ),
    Hint(
        "No module named 'textwrap'",
        'cut a text with `text[:n]`; indent with `"\\n".join("  " + line for line in text.splitlines())`',
        "import textwrap\n",
        'text = "a\\nb"\n"\\n".join("  " + line for line in text.splitlines())\n',
    ),
    Hint(
        "No module named 'html'",
        'escape with `text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")`',
        "import html\n",
        '"<a>".replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")\n',
    ),
    Hint(
        "No module named 'enum'|No module named 'types'",
        "use a dict or module-level constants",
        "import enum\n",
        "RED = 'red'\nCOLOURS = {'red': 1}\nCOLOURS[RED]\n",
    ),
    Hint(
        "No module named 'string'",
        'write the letters out: `"abcdefghijklmnopqrstuvwxyz"`, or ask `c.isalpha()`',
        "import string\n",
        '[c for c in "a1" if c.isalpha()]\n',
    ),
    Hint(
        "No module named 'operator'",
        "use a lambda: `sorted(rows, key=lambda row: row['name'])`",
        "import operator\n",
        "sorted([{'name': 'b'}, {'name': 'a'}], key=lambda row: row['name'])\n",
    ),
    Hint(
        "No module named '(?:logging|pprint)'",
        "print it: `print(...)` is returned as the log, `json.dumps(value, indent=2)` shows a structure",
        "import logging\n",
        "import json\nprint(json.dumps({'a': 1}, indent=2))\n",
    ),
    Hint(
        "No module named '(?:zoneinfo|pytz|dateutil)",
        "time zones are not available: use UTC, or an offset that you know: `timezone(timedelta(hours=2))`",
        "from zoneinfo import ZoneInfo\n",
        "from datetime import datetime, timedelta, timezone\ndatetime.now(timezone(timedelta(hours=2))).isoformat()\n",
    ),
    Hint("No module named", _ANY_MODULE, "import numpy\n", "import json\njson.dumps([1])\n"),
    Hint(
        "cannot import name '(?:OrderedDict|ChainMap)' from 'collections'",
        "a dict keeps the order of its keys",
        "from collections import OrderedDict\n",
        "{'b': 1, 'a': 2}\n",
    ),
    Hint(
        "cannot import name '\\w+' from 'typing'",
        "leave the annotation out, or write `dict` and `list`",
        "from typing import TypedDict\n",
        "def f(row: dict) -> list:\n    return [row]\nf({})\n",
    ),
    Hint(
        "cannot import name '\\w+' from 'dataclasses'|'dataclasses' has no attribute",
        "write the dict out: `{'name': row.name}`",
        "from dataclasses import asdict\n",
        "from dataclasses import dataclass\n@dataclass\nclass Row:\n    name: str\n{'name': Row('a').name}\n",
    ),
    Hint(
        "name '(?:null|undefined)' is not defined",
        "this is Python: write None",
        "x = null\n",
        "x = None\n",
    ),
    Hint(
        "name '(?:true|false)' is not defined",
        "this is Python: write True and False",
        "x = true\n",
        "x = [True, False]\n",
    ),
    Hint(
        "name 'console' is not defined|name 'JSON' is not defined",
        "this is Python: `print(...)`, `json.dumps(...)` after `import json`",
        "console.log('a')\n",
        "import json\nprint(json.dumps('a'))\n",
    ),
    Hint(
        "name '(?:input|dir|vars|globals|locals|breakpoint|__import__|compile)' is not defined",
        "it is not available; use tools.* and the code itself for input",
        "input()\n",
        "tools.discover\n",
    ),
    Hint(
        "Permission denied|is not supported in this environment",
        "there are no files and no environment here: pass data through tools.* and return it",
        "open('/etc/passwd')\n",
        "[1]\n",
    ),
    Hint(
        "has no attribute '(?:with_traceback|add_note|__cause__|errno|filename)'",
        "errors have only their text, `str(error)`; a ToolError also has error.code, .message, "
".status, .details, .retryable, .hint",
        "try:\n    raise ValueError('x')\nexcept ValueError as error:\n    error.add_note('y')\n",
        "try:\n    raise ValueError('x')\nexcept ValueError as error:\n    str(error)\n",
    ),
    Hint(
        "object has no attribute '__(?:class|dict|bases|subclasses|globals|mro)__'",
        "use type(value), isinstance(value, kind), and attributes by name",
        "().__class__\n",
        "type(()).__name__\n",
    ),
    Hint(
        "'dict' object has no attribute",
        'results are dicts: write value["name"], or value.get("name") where it may be absent',
        "x = {'a': 1}\nx.a\n",
        "x = {'a': 1}\n[x['a'], x.get('b')]\n",
    ),
    Hint(
        "'Tool' object is not subscriptable",
        'write the path with dots, `tools.namespace.name(...)`, or as text, `tools("namespace.name", ...)`',
        "tools['discover']\n",
        "tools.discover\n",
    ),
    Hint(
        "object is not an iterator",
        "a generator expression is a list here: take its first item with `[x for x in xs if x > 1][0]`, "
        "with a default `([x for x in xs if x > 1] or [None])[0]`; step through a list with `it = iter(xs)`",
        "next(x for x in [1, 2] if x > 1)\n",
        "xs = [1, 2]\n[[x for x in xs if x > 1][0], ([x for x in xs if x > 5] or [None])[0], next(iter([7]))]\n",
    ),
    Hint(
        r"callable replacement is not yet supported in re\.sub",
        "replace piece by piece: `out, at = [], 0`, then `for m in re.finditer(pattern, text): "
        "out += [text[at:m.start()], change(m)]; at = m.end()`, then `''.join(out) + text[at:]`",
        "import re\nre.sub('a', lambda m: 'b', 'a')\n",
        "import re\ntext = 'a1b2'\nout, at = [], 0\nfor m in re.finditer('[0-9]', text):\n"
        "    out += [text[at:m.start()], str(int(m.group()) + 1)]; at = m.end()\n''.join(out) + text[at:]\n",
    ),
    Hint(
        "has no attribute 'utcnow'",
        "write `datetime.now(timezone.utc)` after `from datetime import datetime, timezone`",
        "from datetime import datetime\ndatetime.utcnow()\n",
        "from datetime import datetime, timezone\ndatetime.now(timezone.utc).isoformat()\n",
    ),
    Hint(
        "has no attribute '(?:utc)?fromtimestamp'",
        "write `datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(seconds=value)`",
        "from datetime import datetime\ndatetime.fromtimestamp(0)\n",
        "from datetime import datetime, timedelta, timezone\n"
        "(datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(seconds=5)).isoformat()\n",
    ),
    Hint(
        "module 'sys' has no attribute|name '(?:exit|quit)' is not defined",
        "to end early, write `return value`",
        "import sys\nsys.exit(0)\n",
        "return 1\n",
    ),
    Hint(
        "JSONDecodeError",
        "the text is not JSON: print its beginning with print(text[:200])",
        "import json\njson.loads('{x')\n",
        "print('{x'[:200])\n",
    ),
    Hint(
        "'NoneType' object",
        "the value is None: print it with print(value), and test `if value is not None`",
        "None['a']\n",
        "value = None\nvalue['a'] if value is not None else 0\n",
    ),
    Hint(
        "^KeyError",
        "there is no such key: print the keys with print(list(value)), or use value.get(key)",
        "{'a': 1}['b']\n",
        "{'a': 1}.get('b')\n",
    ),
    Hint(
        "^IndexError",
        "the list is too short: check its length with len(value)",
        "[1][5]\n",
        "xs = [1]\nxs[5] if len(xs) > 5 else None\n",
    ),
    Hint(
        "can only concatenate|unsupported operand|must be str, not",
        "convert one of them: str(value), int(value) or float(value); in a text, f'{value}' does it",
        "'a' + 1\n",
        "'a' + str(1) + f'{1}'\n",
    ),
    Hint(
        "invalid literal for int|could not convert string to float",
        "the text is not a number: clean it first, such as text.strip().replace(',', '')",
        "int('1,000')\n",
        "int(' 1,000 '.strip().replace(',', ''))\n",
    ),
    Hint(
        "unexpected keyword argument",
        "leave out that argument; json.dumps takes no default: convert values first, such as value.isoformat()",
        "import json\njson.dumps({}, default=str)\n",
        "import json\nfrom datetime import date\njson.dumps({'day': date(2026, 1, 2).isoformat()})\n",
    ),
    Hint(
        "takes keyword arguments or one dict",
        "name each argument: `tools.namespace.name(id=1)`",
        "await tools.a.b(1)\n",
        "tools.a.b\n",
    ),
    Hint(
        "which JSON can't carry",
        "convert the value as the message says, then pass it",
        "await tools.a.b(x={1})\n",
        "sorted({1})\n",
    ),
    Hint(
        "Simple statements must be separated",
        'check the line; TypeScript is sent with language "typescript"',
        "const x = 1\n",
        "x = 1\n",
    ),
    Hint(
        "name '\\w+' is not defined",
        "define it first, or check its spelling; a few built-in functions of Python are not available",
        "missing + 1\n",
        "found = 1\nfound + 1\n",
    ),
    Hint(
        "has no attribute",
        "there is no such method or field: check the name, and the type with print(type(value))",
        "[1].first()\n",
        "[1][0]\n",
    ),
    Hint(
        "does not yet support|not yet supported",
        "write it with functions, loops, dicts and lists",
        "x: int\nawait x\ntype A = int\n",
        "x = 1\n",
    ),
)  # fmt: skip

_COMPILED: Final = tuple((re.compile(hint.pattern), hint.advice) for hint in HINTS)


def advice(shown: str) -> str:
    """For an error as Python shows it, `NameError: name 'x' is not defined`; empty if nothing is known."""
    return next((text for pattern, text in _COMPILED if pattern.search(shown)), "")

"""What is not there, or easily got wrong, and what to write instead.

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


HINTS: Final[tuple[Hint, ...]] = (
    Hint(
        "No module named '(?:requests|httpx|aiohttp|urllib3|websockets|boto3|botocore|openai|anthropic|github|slack|"
        "slack_sdk|google|googleapiclient|stripe|twilio|psycopg2?|pymysql|pymongo|redis|paramiko|selenium|playwright|_ssl)\\b",
        "there is no network here: call a connected tool; `await tools.discover(query=\"...\")` finds one",
        "import requests\n",
        "tools.discover\n1\n",
    ),
    Hint(
        "No module named 'nest_asyncio'",
        "leave it out: asyncio.run works here inside a running loop, and so does await at the top level",
        "import nest_asyncio\nnest_asyncio.apply()\n",
        "import asyncio\nasyncio.run(asyncio.sleep(0))\n",
    ),
    Hint(
        "No module named '(?:uvloop|anyio|trio|curio|gevent|eventlet)",
        "use asyncio: gather, TaskGroup, Semaphore, Queue and timeout are all there",
        "import trio\n",
        "import asyncio\nasync with asyncio.TaskGroup() as group:\n    group.create_task(asyncio.sleep(0))\n",
    ),
    Hint(
        "No module named '(?:multiprocessing|_multiprocessing|_posixsubprocess|joblib|ray|dask)",
        "there are no other processes here: `await asyncio.gather(first(), second())` runs calls at the same time, "
        "and a loop does the rest",
        "import multiprocessing\n",
        "[n * n for n in range(3)]\n",
    ),
    Hint(
        "No module named '(?:_bz2|_lzma|_zstd|zstandard|brotli|lz4|snappy)",
        "of the ways to compress there are gzip, zlib and zipfile",
        "import bz2\n",
        "import gzip\ngzip.decompress(gzip.compress(b'a')).decode()\n",
    ),
    Hint(
        "No module named '(?:arrow|pendulum|moment|maya)",
        "use datetime, zoneinfo and dateutil: `from dateutil.relativedelta import relativedelta`",
        "import pendulum\n",
        "from datetime import date\nfrom dateutil.relativedelta import relativedelta\n"
        "date(2026, 1, 31) + relativedelta(months=1)\n",
    ),
    Hint(
        "No module named '(?:orjson|ujson|simplejson|rapidjson)",
        "use json of the standard library",
        "import orjson\n",
        "import json\njson.dumps({'a': 1})\n",
    ),
    Hint(
        "No module named '(?:toml|tomli|pytoml)'",
        "use tomllib of the standard library: `tomllib.loads(text)`",
        "import toml\n",
        "import tomllib\ntomllib.loads('a = 1')\n",
    ),
    Hint(
        "No module named '(?:lxml|xmltodict|defusedxml|html5lib|feedparser)",
        "use xml.etree.ElementTree, or bs4 with 'html.parser'",
        "import xmltodict\n",
        "import xml.etree.ElementTree as ET\nET.fromstring('<a>1</a>').text\n",
    ),
    Hint(
        "No module named '(?:pydantic|attrs?|marshmallow|msgspec|cattrs)",
        "use dataclasses or typing.NamedTuple: `from dataclasses import dataclass`",
        "from pydantic import BaseModel\n",
        "from dataclasses import dataclass\n@dataclass\nclass User:\n    name: str\nUser('Ada')\n",
    ),
    Hint(
        "No module named '(?:tqdm|rich|colorama|termcolor|prettytable|click|typer)",
        "leave it out: print what matters, and use tabulate for tables",
        "from tqdm import tqdm\n",
        "from tabulate import tabulate\nprint(tabulate([[1, 2]]))\n",
    ),
    Hint(
        "No module named '(?:_?ctypes|_?curses|termios|tty|pty|fcntl|mmap|resource|readline|pwd|grp|syslog|_?tkinter|"
        "turtle|turtledemo|msvcrt|winreg|winsound|_winapi|_interpreters|_dbm|_gdbm|venv|ensurepip|pip|idlelib|psutil)\\b",
        "there is no operating system here, only Python: leave it out, or do it through tools.*",
        "import resource\n",
        "sorted([2, 1])\n",
    ),
    Hint(
        "No module named '(?:numpy|pandas|polars|scipy|matplotlib|seaborn|plotly|sklearn|networkx|sympy|PIL|sqlalchemy|"
        "openpyxl|xlsxwriter)",
        "that package is not here: use the standard library (statistics, collections, csv, itertools, json), "
        "or compute it through tools.*",
        "import pandas as pd\n",
        "import statistics\nstatistics.mean([1, 2])\n",
    ),
    Hint(
        "No module named 'tools'",
        "tools is there already: write `await tools.namespace.name(...)` without an import",
        "import tools\n",
        "tools.discover\n1\n",
    ),
    Hint(
        "No module named 'pytz'",
        "use zoneinfo: `from zoneinfo import ZoneInfo`, then `datetime.now(ZoneInfo('Europe/Berlin'))`",
        "import pytz\n",
        "from datetime import datetime\nfrom zoneinfo import ZoneInfo\ndatetime.now(ZoneInfo('Europe/Berlin'))\n",
    ),
    Hint(
        "No module named",
        "there are the standard library, bs4, dateutil, jinja2, markdown, more_itertools, tabulate and yaml; "
        "everything else is reached through tools.*",
        "import some_package\n",
        "import yaml\nyaml.safe_load('a: 1')\n",
    ),
    Hint(
        "FileNotFoundError|No usable temporary directory|PermissionError|IsADirectoryError|NotADirectoryError",
        "there are no files here: pass data through tools.* and return it; "
        "io.StringIO and io.BytesIO are files in memory",
        "open('x.txt').read()\n",
        "import io\nio.StringIO('a').read()\n",
    ),
    Hint(
        "can't start new thread",
        "there are no threads: `await asyncio.gather(first(), second())` runs calls at the same time",
        "import threading\nthreading.Thread(target=print).start()\n",
        "import asyncio\nasync def f():\n    return 1\nawait asyncio.gather(f(), f())\n",
    ),
    Hint(
        "does not support processes|no processes here|"
        "module 'os' has no attribute '(?:fork|kill|system|popen|exec\\w+|spawn\\w+)'",
        "there are no other programs here: do it in Python, or through tools.*",
        "import subprocess\nsubprocess.run(['ls'])\n",
        "sorted(['b', 'a'])\n",
    ),
    Hint(
        "URLError|gaierror|socket|Connection\\w*Error|no network|module 'http.client'|asked the operating system",
        "there is no network here: call a connected tool; `await tools.discover(query=\"...\")` finds one",
        "import urllib.request\nurllib.request.urlopen('http://x.example')\n",
        "tools.discover\n1\n",
    ),
    Hint(
        "unable to open database file",
        "there are no files here: `sqlite3.connect(':memory:')` keeps the database in memory",
        "import sqlite3\nsqlite3.connect('data.db').execute('select 1')\n",
        "import sqlite3\nsqlite3.connect(':memory:').execute('select 1').fetchall()\n",
    ),
    Hint(
        "no signals here|module 'signal' has no attribute",
        "there are no signals here: `async with asyncio.timeout(seconds):` ends what takes too long",
        "import signal\nsignal.alarm(1)\n",
        "import asyncio\nasync with asyncio.timeout(5):\n    await asyncio.sleep(0)\n",
    ),
    Hint(
        "No username set|No home directory|Could not determine home",
        "there is no user and no home here: write what you need into the code",
        "import getpass\ngetpass.getuser()\n",
        "name = 'Ada'\nname\n",
    ),
    Hint(
        "the loop ends when the program has its result",
        "await what you need: `await main()`, or `asyncio.run(main())`",
        "import asyncio\nasyncio.get_event_loop().run_forever()\n",
        "import asyncio\nasyncio.run(asyncio.sleep(0))\n",
    ),
    Hint(
        "too large to convert to C|cannot fit 'int' into an index|Stop argument for islice",
        "lengths and indexes are at most 2**31 - 1 here; leave the bound out, or use a smaller one",
        "len(range(3_000_000_000))\n",
        "r = range(3_000_000_000)\nr.stop - r.start\n",
    ),
    Hint(
        "has no attribute '__annotations__'",
        "ask the class: type(self).__annotations__, or typing.get_type_hints(type(self))",
        "class A:\n    x: int\nA().__annotations__\n",
        "class A:\n    x: int\nlist(type(A()).__annotations__)\n",
    ),
    Hint(
        "^RecursionError",
        "recurse less deeply: keep what is left to do in a list, and loop until it is empty",
        "def f(n):\n    return f(n + 1)\nf(0)\n",
        "waiting, seen = [3], []\nwhile waiting:\n    n = waiting.pop()\n    seen.append(n)\n"
        "    waiting += [n - 1] if n else []\nseen\n",
    ),
    Hint(
        "^TimeoutError",
        "it took longer than the code allows: allow more time, or catch TimeoutError",
        "import asyncio\nawait asyncio.wait_for(asyncio.sleep(60), 1)\n",
        "import asyncio\nawait asyncio.wait_for(asyncio.sleep(0), 1)\n",
    ),
    Hint(
        "^StopIteration|raised StopIteration$",
        "there was nothing left: give next() a second argument, such as next(found, None), and check it",
        "next(x for x in [1, 2] if x > 5)\n",
        "next((x for x in [1, 2] if x > 5), None)\n",
    ),
    Hint(
        "EOFError",
        "there is no one to answer: write the value into the code, or get it through tools.*",
        "input('?')\n",
        "name = 'Ada'\nname\n",
    ),
    Hint(
        "^KeyError: '(?:HOME|PATH|USER|\\w*(?:KEY|TOKEN|SECRET|URL)\\w*)'",
        "there is no environment here, and no credentials are needed: tools.* has them",
        "import os\nos.environ['API_TOKEN']\n",
        "import os\nos.environ.get('API_TOKEN')\n",
    ),
    Hint(
        "'Call' object is not (?:subscriptable|iterable)|'Call' object has no attribute|object Call|type Call",
        "await the call first: `result = await tools.namespace.name(...)`, then use result",
        "r = tools.a.b(id=1)\nr['id']\n",
        "async def f():\n    return {'id': 1}\n(await f())['id']\n",
    ),
    Hint(
        "'coroutine' object (?:is not|has no)",
        "await it first: `result = await name(...)`",
        "async def f():\n    return [1]\nf()[0]\n",
        "async def f():\n    return [1]\n(await f())[0]\n",
    ),
    Hint(
        "'await' outside async function",
        "make the function asynchronous, `async def name():`, and await where you call it",
        "def f():\n    return await tools.a.b()\n",
        "async def f():\n    return 1\nawait f()\n",
    ),
    Hint(
        "waits for something that never comes",
        "something is awaited that nothing sets: look for an Event, Queue or Future that is never filled",
        "import asyncio\nawait asyncio.Event().wait()\n",
        "import asyncio\ne = asyncio.Event()\ne.set()\nawait e.wait()\n",
    ),
    Hint("name '(?:null|undefined)' is not defined", "this is Python: write None", "x = null\n", "x = None\n"),
    Hint("name '(?:true|false)' is not defined", "this is Python: write True and False", "x = true\n", "x = True\n"),
    Hint(
        "name '(?:console|JSON)' is not defined",
        "this is Python: `print(...)`, `json.dumps(...)` after `import json`",
        "console.log('a')\n",
        "import json\nprint(json.dumps('a'))\n",
    ),
    Hint(
        "name '(?:json|re|math|asyncio|datetime|time|random|itertools|collections|statistics)' is not defined",
        "import it first: `import json`",
        "json.dumps(1)\n",
        "import json\njson.dumps(1)\n",
    ),
    Hint(
        "'dict' object has no attribute",
        'results are dicts: write value["name"], or value.get("name") where it may be absent',
        "x = {'a': 1}\nx.a\n",
        "x = {'a': 1}\n[x['a'], x.get('b')]\n",
    ),
    Hint(
        "JSONDecodeError",
        "the text is no JSON: look at its beginning with print(text[:200])",
        "import json\njson.loads('{x')\n",
        "print('{x'[:200])\n",
    ),
    Hint(
        "is not JSON serializable",
        "give json.dumps a default: `json.dumps(value, default=str)`; a result is converted for you",
        "import json, datetime\njson.dumps(datetime.date(2026, 1, 1))\n",
        "import json, datetime\njson.dumps(datetime.date(2026, 1, 1), default=str)\n",
    ),
    Hint(
        "'NoneType' object",
        "the value is None: look at what came back with print(value), and test `if value is not None`",
        "None['a']\n",
        "value = None\nvalue['a'] if value is not None else 0\n",
    ),
    Hint(
        "^KeyError",
        "that key is not there: look at the keys with print(list(value)), or use value.get(key)",
        "{'a': 1}['b']\n",
        "{'a': 1}.get('b')\n",
    ),
    Hint(
        "^IndexError",
        "the list is shorter: test its length with len(value)",
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
        "the text is no number: clean it first, such as text.strip().replace(',', '')",
        "int('1,000')\n",
        "int(' 1,000 '.strip().replace(',', ''))\n",
    ),
    Hint(
        "offset-naive and offset-aware",
        "give both a time zone: `datetime.now(timezone.utc)`, `value.replace(tzinfo=timezone.utc)`",
        "from datetime import datetime, timezone\ndatetime(2026, 1, 1) < datetime.now(timezone.utc)\n",
        "from datetime import datetime, timezone\n"
        "datetime(2026, 1, 1, tzinfo=timezone.utc) < datetime.now(timezone.utc)\n",
    ),
    Hint(
        "takes keyword arguments or one dict",
        "name each argument: `tools.namespace.name(id=1)`",
        "await tools.a.b(1)\n",
        "tools.a.b\n1\n",
    ),
    Hint(
        "which JSON can't carry",
        "convert the value as the message says, then pass it",
        "await tools.a.b(x=float('nan'))\n",
        "sorted({1})\n",
    ),
    Hint(
        "SyntaxError: (?:invalid syntax|unterminated|invalid character|expected|Missing|cannot|'\\W')",
        'check the line; TypeScript is sent with language "typescript"',
        "const x = 1\n",
        "x = 1\n",
    ),
    Hint(
        "name '\\w+' is not defined",
        "define it first, or check its spelling",
        "missing + 1\n",
        "found = 1\nfound + 1\n",
    ),
    Hint(
        "has no attribute",
        "there is no such method or field here: check the name, and with print(type(value)) what it is",
        "[1].first()\n",
        "[1][0]\n",
    ),
)  # fmt: skip

_COMPILED: Final = tuple((re.compile(hint.pattern), hint.advice) for hint in HINTS)


def advice(shown: str) -> str:
    """For an error as Python shows it, `NameError: name 'x' is not defined`; empty if nothing is known."""
    return next((text for pattern, text in _COMPILED if pattern.search(shown)), "")

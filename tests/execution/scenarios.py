"""The same programs in each language. A runtime is held to the programs of the language that it runs."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final

# id of a runtime → the language of the programs it is tried with. Another runtime joins by one more entry.
RUNTIMES: Final[dict[str, str]] = {"typescript": "typescript", "python": "python"}
if find_spec("deno") is not None:
    RUNTIMES["deno"] = "typescript"

PROGRAMS: Final[dict[str, dict[str, str]]] = {
    "value": {
        "typescript": 'return {list: [1, 2.5, "é\\n", null, true], nested: {deep: {er: []}}}',
        "python": 'return {"list": [1, 2.5, "é\\n", None, True], "nested": {"deep": {"er": []}}}',
    },
    "read": {
        "typescript": 'return (await tools.ledger.entries.listEntries({key: "k"})).key',
        "python": 'return (await tools.ledger.entries.listEntries(key="k"))["key"]',
    },
    "write and read": {
        "typescript": """
            const made = await tools.ledger.entries.addEntry({key: "new", amount: 3});
            const read = await tools.ledger.entries.listEntries({key: made.key});
            return [made, read.key]
        """,
        "python": """\
made = await tools.ledger.entries.addEntry({"key": "new", "amount": 3})
read = await tools.ledger.entries.listEntries(key=made["key"])
[made, read["key"]]
""",
    },
    "failing call": {
        "typescript": """
            try { await tools.ledger.fail.fail({status: 404}) }
            catch (e) { return [e instanceof ToolError, e.code, e.status, e.retryable, e.details, e.message !== ""] }
        """,
        "python": """\
try:
    await tools.ledger.fail.fail(status=404)
except ToolError as e:
    r = [isinstance(e, ToolError), e.code, e.status, e.retryable, e.details, len(e.message) > 0]
r
""",
    },
    "uncaught failing call": {
        "typescript": "const x = 1;\nawait tools.ledger.fail.fail({status: 404});",
        "python": "x = 1\nawait tools.ledger.fail.fail(status=404)",
    },
    "wrong argument": {
        "typescript": 'try { await tools.ledger.slow.wait({ms: "soon"}) } catch (e) { return e.code }',
        "python": 'try:\n    await tools.ledger.slow.wait(ms="soon")\nexcept ToolError as e:\n    r = e.code\nr',
    },
    "unknown tool": {
        "typescript": "try { await tools.ledger.entries.lst({}) } catch (e) { return [e.code, e.hint.length > 0] }",
        "python": """\
try:
    await tools.ledger.entries.lst()
except ToolError as e:
    return [e.code, e.hint != ""]
""",
    },
    "uncaught error": {
        "typescript": 'const a = 1;\n\nthrow new Error("stop")',
        "python": 'a = 1\n\nraise ValueError("stop")',
    },
    "syntax error": {"typescript": "const a = 1;\nconst b = (2;", "python": "a = 1\nb = 2 +"},
    "parallel": {
        "typescript": """
            const keys = ["a", "b", "c", "d", "e"];
            return (await Promise.all(keys.map((key) => tools.ledger.entries.listEntries({key})))).map((e) => e.key)
        """,
        "python": """\
import asyncio
keys = ["a", "b", "c", "d", "e"]
found = await asyncio.gather(*[tools.ledger.entries.listEntries(key=key) for key in keys])
[entry["key"] for entry in found]
""",
    },
    "branches": {
        "typescript": """
            const order = [];
            const branch = async (n) => {
              const one = await tools.ledger.entries.listEntries({key: n + ".1"});
              order.push(one.key);
              const two = await tools.ledger.entries.listEntries({key: n + ".2"});
              order.push(two.key);
              return [one.key, two.key];
            };
            const all = await Promise.all(["x", "y", "z"].map(branch));
            await tools.ledger.transfers.transfer({key: JSON.stringify(order)});
            return {all, order};
        """,
        "python": """\
import asyncio, json
order = []
async def branch(n):
    one = await tools.ledger.entries.listEntries(key=n + ".1")
    order.append(one["key"])
    two = await tools.ledger.entries.listEntries(key=n + ".2")
    order.append(two["key"])
    return [one["key"], two["key"]]
all = await asyncio.gather(branch("x"), branch("y"), branch("z"))
await tools.ledger.transfers.transfer(key=json.dumps(order))
{"all": all, "order": order}
""",
    },
    "approval": {
        "typescript": 'return (await tools.ledger.transfers.transfer({key: "asked"})).key',
        "python": '(await tools.ledger.transfers.transfer(key="asked"))["key"]',
    },
    "handled denial": {
        "typescript": """
            try { await tools.ledger.transfers.transfer({key: "no"}) }
            catch (e) { return [e.code, e.message.includes("too much")] }
        """,
        "python": """\
try:
    await tools.ledger.transfers.transfer(key="no")
except ToolError as e:
    r = [e.code, "too much" in e.message]
r
""",
    },
    "pause": {
        "typescript": """
            const first = await tools.ledger.entries.addEntry({key: "before"});
            console.log("asking");
            const second = await tools.ledger.transfers.transfer({key: "asked"});
            const third = await tools.ledger.entries.addEntry({key: "after"});
            return [first.key, second.key, third.key];
        """,
        "python": """\
first = await tools.ledger.entries.addEntry(key="before")
print("asking")
second = await tools.ledger.transfers.transfer(key="asked")
third = await tools.ledger.entries.addEntry(key="after")
[first["key"], second["key"], third["key"]]
""",
    },
    "time and chance": {
        "typescript": """
            const seen = [Date.now(), Math.random(), new Date().toISOString()];
            await tools.ledger.entries.listEntries({key: String(seen[1])});
            const later = [Date.now(), Math.random()];
            console.log(JSON.stringify([seen, later]));
            await tools.ledger.transfers.transfer({key: JSON.stringify([seen, later])});
            return [seen, later];
        """,
        "python": """\
import datetime, json, os, random, time
seen = [time.time(), random.random(), datetime.datetime.now().isoformat(), os.urandom(4).hex()]
await tools.ledger.entries.listEntries(key=str(seen[1]))
later = [time.time(), random.random(), random.Random().random(), random.sample(range(9), 5), str(datetime.date.today())]
print(json.dumps([seen, later]))
await tools.ledger.transfers.transfer(key=json.dumps([seen, later]))
[seen, later]
""",
    },
    "chance": {
        "typescript": "return [Math.random(), Math.random()]",
        "python": "import random\n[random.random(), random.random()]",
    },
    "timer": {
        "typescript": """
            const before = Date.now();
            await new Promise((resolve) => setTimeout(resolve, 30));
            return Date.now() - before >= 30
        """,
        "python": """\
import asyncio, time
before = time.time()
await asyncio.sleep(0.03)
round((time.time() - before) * 1000) >= 30
""",
    },
    "console": {
        "typescript": 'console.log("one", 2); console.error("bad"); console.log("two\\nlines"); return null',
        "python": 'import sys\nprint("one", 2)\nprint("bad", file=sys.stderr)\nprint("two\\nlines")\n',
    },
    "endless loop": {"typescript": "while (true) {}", "python": "while True:\n    pass"},
    "memory": {
        "typescript": 'const all = []; while (true) all.push("x".repeat(1000) + all.length)',
        "python": 'all = []\nwhile True:\n    all.append("x" * 1000 + str(len(all)))',
    },
    "long wait": {
        "typescript": "await tools.ledger.slow.wait({ms: 5000})",
        "python": "await tools.ledger.slow.wait(ms=5000)",
    },
    "many calls": {
        "typescript": 'for (let i = 0; i < 50; i++) await tools.ledger.entries.listEntries({key: "k"})',
        "python": 'for i in range(50):\n    await tools.ledger.entries.listEntries(key="k")',
    },
    "large output": {"typescript": 'return "x".repeat(9000000)', "python": '"x" * 9000000'},
    "output within": {"typescript": 'return "x".repeat(3000000)', "python": '"x" * 3000000'},
    "much log": {
        "typescript": 'for (let i = 0; i < 100; i++) console.log("x".repeat(1000)); return 1',
        "python": 'for i in range(100):\n    print("x" * 1000)\n1',
    },
    "recursion": {
        "typescript": "const f = (n) => f(n + 1) + 1; return f(0)",
        "python": "def f(n):\n    return f(n + 1) + 1\nf(0)",
    },
    "caught recursion": {
        "typescript": 'const f = (n) => f(n + 1) + 1; try { f(0) } catch { return "caught" }',
        "python": 'def f(n):\n    return f(n + 1) + 1\ntry:\n    f(0)\nexcept RecursionError:\n    r = "caught"\nr',
    },
    "large result": {
        "typescript": "return (await tools.ledger.big.big({bytes: 2000000})).data.length",
        "python": 'len((await tools.ledger.big.big(bytes=2000000))["data"])',
    },
    "no value": {"typescript": "const a = 1", "python": "a = 1"},
    "not JSON": {"typescript": "return {a: [() => 1]}", "python": 'return {"a": [lambda: 1]}'},
    "deep value": {
        "typescript": "let x = []; for (let i = 0; i < 100000; i++) x = [x]; return x",
        "python": "x = []\nfor i in range(100000):\n    x = [x]\nx",
    },
    "leave something behind": {
        "typescript": "globalThis.left = 1; Array.prototype.left = 2; return 1",
        "python": "import json, random\nleft = 1\nrandom.seed(1)\ntools.left = 2\n1",
    },
    "look for it": {
        "typescript": "return [typeof left, typeof [].left]",
        "python": "try:\n    r = left\nexcept NameError:\n    r = 'undefined'\n[r, 'undefined']",
    },
    "not awaited": {
        "typescript": 'tools.ledger.entries.addEntry({key: "never"}); return 1',
        "python": 'tools.ledger.entries.addEntry(key="never")\n1',
    },
    "slow pair": {
        "typescript": """
            const first = await tools.ledger.entries.addEntry({key: "one"});
            const slow = await tools.ledger.slow.wait({ms: 700});
            const last = await tools.ledger.entries.addEntry({key: "two"});
            return [first.key, last.key]
        """,
        "python": """\
first = await tools.ledger.entries.addEntry(key="one")
slow = await tools.ledger.slow.wait(ms=700)
last = await tools.ledger.entries.addEntry(key="two")
[first["key"], last["key"]]
""",
    },
}  # fmt: skip

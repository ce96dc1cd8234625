"""Which language code is written in, told from its beginning."""

from __future__ import annotations

import pytest

from executor.model.language import is_python, is_typescript

PYTHON = [
    "import json\njson.dumps([1])",
    "from datetime import datetime, timedelta\ndatetime.now().isoformat()",
    'found = await tools.discover(query="shop refund", limit=3)\nfound["bestPath"]',
    'return await tools.discover(query="shop refund")',
    "await tools.a.b(**arguments)",
    "print('hello')",
    "rows = await tools.a.list()\n[row['id'] for row in rows]",
    "{k: v for k, v in rows.items()}",
    "async def main():\n    return 1\nawait main()",
    "rows = await tools.a.list()\nfor row in rows:\n    row['n'] = 1\nrows",
    "try:\n    await tools.a.b()\nexcept ToolError as error:\n    error.code",
    "x = None",
    "name = 'a'\nf'{name}!'",
    "# how many?\nn = await tools.a.count()\nn",
    "len(await tools.a.list())",
    "class Row:\n    pass",
    "x = 1\nif x: x = 2\nx",
]
TYPESCRIPT = [
    'return await tools.discover({query: "import x"})',
    "const x = 1; x",
    "const text = `\nimport os\nprint(1)\n`; return text",
    "interface A { a: string }\nreturn 1",
    "export default async function main() { return 1 }",
    "// for x in y:\nreturn 1",
    "switch (await f()) {\n  case 1:\n    return 'a'\n  default:\n    return 'b'\n}",
    "return [1, 2].map((x) => x * 2)",
    "if (a) {\n  b()\n} else {\n  c()\n}",
    "return (await tools.a.list({page: 1})).all?.()",
    "function sum(a: number, b: number) { return a + b }\nsum(1, 2)",
    "throw new Error('not found')",
    "return x === null",
]
EITHER = ["1 + 1", "return 1 + 1", "await tools.a.b()", 'await tools.a.b({"mode": "None", "for": "a for x in y"})', "x"]


@pytest.mark.parametrize("code", PYTHON)
def test_python_is_recognised(code: str) -> None:
    assert is_python(code)
    assert not is_typescript(code)


@pytest.mark.parametrize("code", [*TYPESCRIPT, *EITHER])
def test_what_may_be_typescript_is_not_taken_for_python(code: str) -> None:
    assert not is_python(code)


@pytest.mark.parametrize("code", [*PYTHON, *EITHER])
def test_what_may_be_python_is_not_taken_for_typescript(code: str) -> None:
    assert not is_typescript(code)

"""What a result of 5 MB costs: the tokens that reach a model, and the time until the answer is there.

The client is the official one, and the tokens are those of the text, which is all that a model gets.
"""

from __future__ import annotations

import asyncio
from typing import Any

from benchmarks import processes
from benchmarks.describe import count
from benchmarks.measures import Rows
from benchmarks.official import connected
from benchmarks.series import Series
from benchmarks.subject import Subject
from benchmarks.wire import WireError

ITEMS = 31_000
ROWS = (
    f"Array.from({{length: {ITEMS}}}, (_, i) => ({{id: i, name: `customer ${{i}}`, note: 'lorem ipsum '.repeat(10)}}))"
)
PAGE = "return (await tools.executor.artifacts.read({{id: '{}', offset: 15000, limit: 20}})).value"
FIND = "return await tools.executor.artifacts.search({{id: '{}', query: 'customer 30999'}})"


def measure(subject: Subject, amount: int) -> Rows:
    return asyncio.run(_measure(subject, amount))


async def _measure(subject: Subject, amount: int) -> Rows:
    rows = [{"id": i, "name": f"customer {i}", "note": "lorem ipsum " * 10} for i in range(ITEMS)]
    async with connected(subject, subject.home) as client:
        told = await execute(client, f"return {ROWS}")
        kept = told.meta["executor/execution"]["artifact"]
        answers = {
            "tokens of the answer to a result of 5 MB": told,
            "tokens of the answer, a page of 20 rows of it": await execute(client, PAGE.format(kept["id"])),
            "tokens of the answer, a search in it": await execute(client, FIND.format(kept["id"])),
        }
        found = {label: Series("tokens", [seen(answer)]) for label, answer in answers.items()}
        timed = {
            "execute that returns 5 MB": f"return {ROWS}",
            "execute that makes 5 MB and returns a number": f"return {ROWS}.length",
            "execute that reads a page of 5 MB": PAGE.format(kept["id"]),
        }
        whole = {"tokens of the result itself": Series("tokens", [count(rows)])}
        return whole | found | {label: await times(subject, client, code, amount) for label, code in timed.items()}


async def execute(client: Any, code: str) -> Any:
    answer = await client.call_tool("execute", {"code": code})
    if answer.is_error:
        raise WireError(f"`{code[:80]}` gave {str(answer)[:1000]}")
    return answer


def seen(answer: Any) -> float:
    return count("".join(block.text for block in answer.content))


async def times(subject: Subject, client: Any, code: str, amount: int) -> Series:
    loop, samples = asyncio.get_running_loop(), []
    before = processes.cpu_seconds(subject.pid)
    for _ in range(amount):
        start = loop.time()
        await execute(client, code)
        samples.append((loop.time() - start) * 1000)
    return Series("ms", samples, (processes.cpu_seconds(subject.pid) - before) * 1000)

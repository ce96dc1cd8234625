"""The same reads without any executor between: what the trivial API and the HTTP client alone cost."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

import aiohttp

from benchmarks.measures import CALLS, EXPECTED, Rows
from benchmarks.series import Series


async def sequential(read: Callable[[int], Awaitable[int]]) -> int:
    return sum([await read(number) for number in range(CALLS)])


async def parallel(read: Callable[[int], Awaitable[int]]) -> int:
    return sum(await asyncio.gather(*(read(number) for number in range(CALLS))))


async def measure(base_url: str, amount: int) -> Rows:
    async with aiohttp.ClientSession(base_url, connector=aiohttp.TCPConnector(limit=0)) as session:

        async def read(number: int) -> int:
            async with session.get(f"/things/{number}") as response:
                thing: dict[str, int] = await response.json()
                return thing["id"]

        rows: Rows = {}
        for label, way in (("sequential", sequential), ("parallel", parallel)):
            assert await way(read) == EXPECTED
            series = rows[f"{CALLS} direct HTTP requests, {label}"] = Series("ms", [], 0)
            for _ in range(amount):
                start, cpu = time.perf_counter(), time.process_time()
                assert await way(read) == EXPECTED
                series.extend(Series("ms", [(time.perf_counter() - start) * 1000], (time.process_time() - cpu) * 1000))
        return rows

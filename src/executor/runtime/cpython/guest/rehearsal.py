"""Programs that are run while the image is built: what they load, cache and specialize, later programs find done.

An instance shares the image's pages until it writes to them. So the less a program has to write, the less it costs.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator

import host
import program

_PROGRAMS = (
    "1 + 1",
    "x = [i * 2 for i in range(5)]\nprint('n', len(x))\n{'a': x, 'b': (1, 2.5, None, True)}",
    "return {'a': 1}",
    "r = await tools.a.b(id=1, text='x')\nr",
    "import asyncio\nfirst, second = await asyncio.gather(tools.a.b(), tools.a.c({'x': [1]}))\n[first, second]",
    "import asyncio\nasync def main():\n    await asyncio.sleep(1)\n    return 1\nasyncio.run(main())",
    "try:\n    1 / 0\nexcept ZeroDivisionError as error:\n    r = str(error)\nr",
    "def f(x):\n    return x.missing\nf(1)",
    "class A:\n    def __init__(self, x):\n        self.x = x\nA(1)",
    "x = (",
    "import json, re, datetime\nre.sub('a', 'b', json.dumps({'a': str(datetime.datetime.now())}))",
)
_ROUNDS = 12
_FILL = b"."  # not nothing: each stretch of zeros would split the image into more segments, whose number is bounded
_PAGE, _HEADER, _IN_A_ROW, _MOST = 4096, 64, 6, 200_000


class _Host:
    """Answers every proposal at once, in the place of the real one."""

    def __init__(self) -> None:
        self._seq = 0

    def step(self, output: str) -> str:
        self._seq += 1
        return f"1 {self._seq} 1\n{{}}"


def rehearse() -> None:
    real = host.wit_world
    for _ in range(_ROUNDS):
        for code in _PROGRAMS:
            host.wit_world = _Host()
            program.run(f"{'00' * 16} 0 100 1000000 100000\n{code}")
    host.wit_world = real
    sys.modules.pop("__main__", None)


def fill_gaps() -> list[object]:
    """Takes up the free places between the objects of the image, so that a program's own lie together on new pages."""
    gc.collect()
    kept: list[object] = [None] * _MOST
    free = iter(range(_MOST))
    for size in (*(1 << bits for bits in range(16, 10, -1)), *range(1008, 496, -16)):
        _fill_large(size, kept, free)
    for size in range(1, 512 - sys.getsizeof(b""), 8):
        _fill_small(size, kept, free)
    return kept


def _fill_large(size: int, kept: list[object], free: Iterator[int]) -> None:
    """Until one comes from beyond everything that was there."""
    top = id(bytes(1 << 20))
    for place in free:
        filler = _FILL * size
        if id(filler) >= top:
            break
        kept[place] = filler


def _fill_small(size: int, kept: list[object], free: Iterator[int]) -> None:
    """Until one comes from a page that held nothing."""
    last, row = 0, 0
    for place in free:
        filler = kept[place] = _FILL * size
        step, last = id(filler) - last, id(filler)
        row = row + 1 if row and 0 < step <= 512 else int(last % _PAGE < _HEADER)
        if row >= _IN_A_ROW:
            break

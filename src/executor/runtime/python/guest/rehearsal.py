"""Programs that are run while the image is built: what they load, cache and specialize, later programs find done.

An instance shares the image's pages until it writes to them. So the less a program has to write, the less it costs.
"""

from __future__ import annotations

import gc
import sys

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
_PAGE, _HEADER, _IN_A_ROW, _MOST = 4096, 64, 6, 50_000


class _Host:
    """Answers every proposal at once, in the place of the real one."""

    def __init__(self) -> None:
        self._seq = 0

    def step(self, output: str) -> str:
        if output.startswith("p"):
            return ""
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


def fill_gaps() -> list[bytes]:
    """Takes up the free places between the objects of the image, so that a program's own lie together on new pages."""
    gc.collect()
    kept: list[bytes] = []
    for size in range(1, 512 - sys.getsizeof(b""), 8):
        last, row = 0, 0
        for _ in range(_MOST):
            filler = bytes(size)
            kept.append(filler)
            step, last = id(filler) - last, id(filler)
            row = row + 1 if row and 0 < step <= 512 else int(last % _PAGE < _HEADER)
            if row >= _IN_A_ROW:
                break
    return kept

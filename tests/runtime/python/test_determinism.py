"""What a program sees of chance, time, order and addresses is the same again: elsewhere, later, and when resumed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from executor.runtime.python import image
from executor.runtime.python.runtime import PythonRuntime
from tests.runtime.program_driver import CLOCK, drive

pytestmark = pytest.mark.asyncio(loop_scope="session")

# Everything a program could see that differs between processes, machines and times elsewhere.
LOOK = """\
import asyncio, collections, datetime, gc, os, random, secrets, sys, tempfile, threading, time, uuid, weakref
class Plain: pass
def orders():
    words = {str(n) * 3 for n in range(40)} | {b"x", 1.5, None, ("a", 2), frozenset("ab")}
    plain = {Plain() for _ in range(20)}
    return [str(list(words)), str([id(one) for one in plain]), str(set(dir(os))), list(vars(Plain()))]
def addresses():
    shown = [repr(Plain()), repr(lambda: 1), str(object()), repr(Plain), id(Plain()), hash(Plain()), hash("text")]
    return shown + [hash(b"text"), hash((1, "a")), hash(2.5), id(None), sys.getsizeof([]), sys.getrefcount(None)]
def chance():
    own, system = random.Random(), random.SystemRandom()
    numbers = [random.random(), random.randint(1, 99), random.choice("abc"), random.sample(range(99), 5)]
    numbers += [random.gauss(0, 1), random.betavariate(1, 2), random.expovariate(1), random.getrandbits(70)]
    numbers += [random.choices("ab", k=4), random.triangular(), random.vonmisesvariate(0, 1), random.randbytes(3).hex()]
    mixed = list(range(9))
    random.shuffle(mixed)
    numbers += [mixed, own.random(), system.random(), system.randrange(99), random.binomialvariate(9, 0.5)]
    numbers += [secrets.token_hex(4), secrets.randbelow(99), secrets.choice("abc"), os.urandom(5).hex()]
    numbers += [str(made()) for made in (uuid.uuid1, uuid.uuid4, uuid.uuid6, uuid.uuid7, uuid.uuid8)] + [uuid.getnode()]
    return numbers + [next(tempfile._get_candidate_names())]
def clocks():
    seen = [time.time(), time.time_ns(), time.perf_counter(), time.perf_counter_ns(), time.monotonic()]
    seen += [time.process_time(), time.thread_time(), time.process_time_ns(), list(time.localtime()), time.ctime()]
    now = datetime.datetime
    seen += [str(now.now()), str(now.now(datetime.UTC)), str(now.now().astimezone()), str(datetime.date.today())]
    return seen + [time.tzset(), time.tzname, os.getpid(), threading.get_ident(), os.times()[:2], os.cpu_count()]
def collect_garbage():
    log, kept = [], []
    for n in range(3000):
        one = Plain()
        one.own = one
        kept.append(weakref.ref(one, lambda ref, n=n: log.append((n, gc.get_count()[0]))))
    return [len(log), str(log[-3:]), gc.get_stats()[0]["collections"], gc.get_count(), gc.get_threshold()]
async def turns():
    log = []
    async def one(n):
        log.append(n)
        await asyncio.sleep(n % 3 / 100)
        log.append(-n)
        return n
    done, _ = await asyncio.wait([asyncio.create_task(one(n)) for n in range(6)])
    log.append([task.result() for task in done])
    for task in asyncio.as_completed([one(n) for n in range(6)]):
        log.append(await task)
    return log + [repr(asyncio.current_task().get_name()), sorted(sys.modules)[:5]]
async def look():
    return [orders(), addresses(), chance(), clocks(), collect_garbage(), await turns()]
"""
PROGRAM = f"{LOOK}\nfirst = await look()\nawait tools.a.b(x=1)\n[first, await look()]"
OTHERS = ("import yaml, sqlite3\nx = ['a' * 1000 for _ in range(10000)]\nlen(x)", "1 / 0", "import gc\ngc.collect()")


async def seen_by(runtime: PythonRuntime) -> Any:
    last = (await drive(runtime, PROGRAM, {"a.b": lambda given: given}))[-1]
    assert last.failure is None, last.failure
    return json.loads(last.value or "")


async def test_a_program_sees_the_same_in_another_worker_and_after_other_programs(runtime: PythonRuntime) -> None:
    first = await seen_by(runtime)
    for code in OTHERS:
        await drive(runtime, code, {})
    assert await seen_by(runtime) == first
    other = PythonRuntime(workers=1, slots=1, cache_dir=image.BESIDE)
    await other.start()
    try:
        assert await seen_by(other) == first
    finally:
        await other.close()
    assert first[0][3][0] == CLOCK / 1000

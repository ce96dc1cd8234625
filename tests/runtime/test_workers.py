"""Workers come and go; what was running on them is told, and the next sandbox finds a place."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest
import pytest_asyncio

from executor.errors import Busy, SandboxLost
from executor.model.execution import Limits
from executor.runtime.protocol import Answer, BatchingSandbox
from executor.runtime.typescript import image
from executor.runtime.typescript.runtime import TypeScriptRuntime
from executor.runtime.worker import frames, pool, process, wasmtime_ffi
from executor.runtime.worker.compiled_image import digest
from executor.runtime.worker.frames import Fault, Reply
from executor.runtime.worker.steps import Reader, Violation
from tests.runtime.program_driver import CLOCK, failure_of, program, value_of
from tests.support.conditions import until


@pytest_asyncio.fixture
async def own(cache_dir: Path) -> AsyncIterator[TypeScriptRuntime]:
    """A runtime of the test's own: two workers with two places each."""
    started = TypeScriptRuntime(workers=2, slots=2, cache_dir=cache_dir)
    await started.start()
    await until(lambda: sum(len(worker.free) for worker in started._workers) == 4)
    yield started
    await started.close()


async def test_killing_a_worker_loses_its_sandboxes_and_no_others(own: TypeScriptRuntime) -> None:
    sandboxes = [await own.open() for _ in range(4)]
    for sandbox in sandboxes:
        await sandbox.start(program("return await tools.a.b({})"))
    victim = own.worker_pids[0]
    os.kill(victim, signal.SIGKILL)
    answers = [sandbox.answer(Answer(1, CLOCK, value="7")) for sandbox in sandboxes]
    outcomes = await asyncio.gather(*answers, return_exceptions=True)
    for sandbox in sandboxes:
        await sandbox.close()
    lost = [outcome for outcome in outcomes if isinstance(outcome, SandboxLost)]
    assert len(lost) == 2
    assert [outcome.value for outcome in outcomes if not isinstance(outcome, BaseException)] == ["7", "7"]


async def test_answers_that_are_given_together_are_lost_together(own: TypeScriptRuntime) -> None:
    sandbox = await own.open()
    assert isinstance(sandbox, BatchingSandbox)
    await sandbox.start(program("await Promise.all([tools.a.b({}), tools.a.b({})])"))
    for pid in own.worker_pids:
        os.kill(pid, signal.SIGKILL)
    outcomes = await sandbox.answer_all([Answer(seq, CLOCK, value="7") for seq in (1, 2)])
    await sandbox.close()
    assert [type(outcome) for outcome in outcomes] == [SandboxLost, SandboxLost]
    with pytest.raises(SandboxLost):
        await sandbox.answer_all([Answer(1, CLOCK, value="7")])


async def test_answers_that_are_given_together_leave_with_one_write(
    own: TypeScriptRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    writes: list[int] = []
    send, send_all = process.Stream.send, process.Stream.send_all
    monkeypatch.setattr(process.Stream, "send", lambda self, data: (writes.append(1), send(self, data))[1])
    monkeypatch.setattr(
        process.Stream, "send_all", lambda self, data: (writes.append(len(data)), send_all(self, data))[1]
    )
    sandbox = await own.open()
    await sandbox.start(program("return await Promise.all([1, 2, 3].map((n) => tools.a.b({n})))"))
    writes.clear()
    assert isinstance(sandbox, BatchingSandbox)
    await sandbox.answer_all([Answer(seq, CLOCK, value="1") for seq in (1, 2, 3)])
    await sandbox.close()
    assert writes[:1] == [3]


async def test_a_killed_worker_is_replaced(own: TypeScriptRuntime) -> None:
    before = set(own.worker_pids)
    for pid in before:
        os.kill(pid, signal.SIGKILL)
    await until(lambda: len(set(own.worker_pids) - before) == 2)
    assert await value_of(own, "return 1 + 1") == 2


async def test_a_step_under_way_is_lost_with_its_worker(own: TypeScriptRuntime) -> None:
    sandbox = await own.open()
    step = asyncio.create_task(sandbox.start(program("for (;;);", cpu_ms=60_000)))
    busy = [psutil.Process(pid) for pid in own.worker_pids]
    await until(lambda: any(sum(worker.cpu_times()[:2]) > 0.3 for worker in busy))
    for pid in own.worker_pids:
        os.kill(pid, signal.SIGKILL)
    with pytest.raises(SandboxLost):
        await step
    await sandbox.close()
    with pytest.raises(SandboxLost):
        await sandbox.answer(Answer(1, CLOCK, value="1"))


async def test_closing_a_sandbox_stops_its_code_and_frees_its_place(own: TypeScriptRuntime) -> None:
    pids = own.worker_pids
    for _ in range(3):
        sandboxes = [await own.open() for _ in range(4)]
        steps = [asyncio.create_task(sandbox.start(program("for (;;);", cpu_ms=60_000))) for sandbox in sandboxes]
        await asyncio.sleep(0)
        for sandbox in sandboxes:
            await sandbox.close()
        await asyncio.gather(*steps, return_exceptions=True)
    assert await value_of(own, "return 1 + 1") == 2
    assert own.worker_pids == pids


async def test_a_late_order_to_stop_does_not_hit_the_next_program(own: TypeScriptRuntime) -> None:
    for _ in range(20):
        sandbox = await own.open()
        step = asyncio.create_task(sandbox.start(program("for (let i = 0; i < 20000; i++); return 1")))
        await asyncio.sleep(0)
        await sandbox.close()
        assert await value_of(own, "for (let i = 0; i < 100000; i++); return 2") == 2
        with contextlib.suppress(SandboxLost):
            await step


def niceness(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return [int((task / "stat").read_text().rpartition(")")[2].split()[16]) for task in tasks]


@pytest.mark.skipif(sys.platform != "linux", reason="threads have a niceness of their own on Linux only")
async def test_a_hog_is_slowed_down_and_the_next_program_in_its_place_is_not(cache_dir: Path) -> None:
    runtime = TypeScriptRuntime(workers=1, slots=1, cache_dir=cache_dir)
    await runtime.start()
    (pid,) = runtime.worker_pids
    hog = asyncio.create_task(failure_of(runtime, "for (;;);", cpu_ms=1_500))
    await until(lambda: max(niceness(pid)) > os.nice(0))
    assert (await hog).code == "cpu_limit"
    assert await value_of(runtime, "return 1 + 1") == 2
    assert max(niceness(pid)) == os.nice(0)
    await runtime.close()


@pytest.mark.skipif(sys.platform != "linux", reason="whether a process runs is asked of Linux")
async def test_a_silent_worker_that_runs_has_longer_and_one_that_does_not_is_replaced(
    own: TypeScriptRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "_WATCH_SECONDS", 0.05)
    monkeypatch.setattr(pool, "_GRACE_SECONDS", -0.49)  # so that a program is overdue at the first look
    monkeypatch.setattr(pool, "_MOST_PATIENCE", 100_000)
    assert (await failure_of(own, "for (;;);", cpu_ms=250)).code == "cpu_limit"
    sandbox = await own.open()
    for pid in own.worker_pids:
        os.kill(pid, signal.SIGSTOP)
    with pytest.raises(SandboxLost, match="did not answer"):
        await sandbox.start(program("return 1", cpu_ms=250))
    await sandbox.close()
    for pid in own.worker_pids:
        os.kill(pid, signal.SIGCONT)
    assert await value_of(own, "return 1 + 1", cpu_ms=60_000) == 2


async def test_open_waits_for_a_free_place(own: TypeScriptRuntime) -> None:
    held = [await own.open() for _ in range(4)]
    fifth = asyncio.create_task(own.open())
    await asyncio.sleep(0)
    assert not fifth.done()
    await held.pop().close()
    async with asyncio.timeout(120):
        await (await fifth).close()
    for sandbox in held:
        await sandbox.close()


async def test_giving_up_waiting_loses_no_place(own: TypeScriptRuntime) -> None:
    held = [await own.open() for _ in range(4)]
    waiting = [asyncio.create_task(own.open()) for _ in range(3)]
    await asyncio.sleep(0)
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    for sandbox in held:
        await sandbox.close()
    async with asyncio.timeout(120):
        for sandbox in [await own.open() for _ in range(4)]:
            await sandbox.close()


async def test_a_cancelled_step_leaves_the_replies_in_order(own: TypeScriptRuntime) -> None:
    sandbox = await own.open()
    await sandbox.start(program("return [await tools.a.b({}), await tools.a.b({})]"))
    first = asyncio.create_task(sandbox.answer(Answer(1, CLOCK, value="1")))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    second = await sandbox.answer(Answer(2, CLOCK, value="2"))
    await sandbox.close()
    assert second.value == "[1,2]"


async def test_new_sandboxes_go_to_the_least_loaded_worker(own: TypeScriptRuntime) -> None:
    first, second = await own.open(), await own.open()
    assert first._place.worker is not second._place.worker
    await first.close()
    await second.close()


async def test_closing_the_runtime_ends_its_workers(cache_dir: Path) -> None:
    runtime = TypeScriptRuntime(workers=2, slots=1, cache_dir=cache_dir)
    await runtime.start()
    pids = runtime.worker_pids
    sandbox = await runtime.open()
    step = asyncio.create_task(sandbox.start(program("for (;;);")))
    await asyncio.sleep(0)
    await runtime.close()
    with pytest.raises(SandboxLost):
        await step
    assert not any(psutil.pid_exists(pid) for pid in pids)
    with pytest.raises(SandboxLost):
        await runtime.open()


async def test_workers_end_when_their_parent_is_gone(own: TypeScriptRuntime) -> None:
    """Seen from the worker, a parent that died is a control socket that ended."""
    worker = own._workers[0]
    watched = psutil.Process(worker.pid)
    assert worker.control.transport is not None
    worker.control.transport.abort()
    await until(lambda: not watched.is_running() or watched.status() == psutil.STATUS_ZOMBIE)


@pytest.mark.parametrize("damage", [b"no image at all", None])
def test_a_damaged_image_is_built_again(tmp_path: Path, cache_dir: Path, damage: bytes | None) -> None:
    whole = image.ensure(cache_dir)
    damaged = tmp_path / whole.name
    damaged.write_bytes(whole.read_bytes()[:-100] + bytes(100) if damage is None else damage)
    built = image.ensure(tmp_path)
    assert built.read_bytes()[:4] == whole.read_bytes()[:4]
    assert built.stat().st_mode & 0o777 == 0o600
    assert tmp_path.stat().st_mode & 0o777 == 0o700
    assert [path.name for path in tmp_path.iterdir()] == [built.name]


async def test_an_image_of_another_build_makes_the_worker_ask_for_a_new_one(tmp_path: Path) -> None:
    """Whole, named right, but nothing the engine can load."""
    content = b"\x7fELF but not ours"
    (tmp_path / f"typescript-{image.key()}-{digest(content)}.cwasm").write_bytes(content)
    runtime = TypeScriptRuntime(workers=1, slots=1, cache_dir=tmp_path)
    await runtime.start()
    assert await value_of(runtime, "return 1 + 1") == 2
    await runtime.close()


async def test_workers_that_cannot_start_are_an_error_and_no_endless_wait(
    cache_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "_CALL", "sys.exit('broken on purpose')")
    runtime = TypeScriptRuntime(workers=1, slots=1, cache_dir=cache_dir)
    await runtime.start()
    with pytest.raises(Busy, match="broken on purpose"):
        async with asyncio.timeout(120):
            await runtime.open()
    await runtime.close()


LIMITS = Limits(calls=2, output_bytes=100)


@pytest.mark.parametrize(
    "output",
    [
        b"x1\n",
        b"v1",
        b"v1\nv2\n",
        b'c2 "a"\n{}\n',
        b'c1 "a"\n',
        b"t1 0\nt2 99999999999\n",
        b"t1 5\nt1 5\n",
        b"t1 5\nt2 5\nt3 5\n",
        b"tx 5\n",
        b'l9"x"\n',
        b"\xff\xfe\n",
    ],
)
def test_a_reply_that_breaks_the_protocol_is_not_believed(output: bytes) -> None:
    with pytest.raises(Violation):
        Reader(LIMITS).read(Reply(frames.STEP, 0, None, output))


@pytest.mark.parametrize(
    "output",
    [
        b"v{\n",
        b"vNaN\n",
        b'v"\xff"\n',
        b'c1 "a"\n[]\n',
        b'c1 "a"\n{"a":\n',
        b"c1 5\n{}\n",
        b'c1 ""\n{}\n',
        b"l1[]\n",
        b"f{}\n",
        b"f[]\n",
        b'f{"code":1,"message":"","hint":"","details":{}}\n',
        b'f{"code":"a","message":"","hint":"","details":[]}\n',
        b'f{"code":"a","message":"","hint":"","details":{"line":Infinity}}\n',
    ],
)
def test_what_a_program_wrote_and_no_one_can_read_is_its_own_failure(output: bytes) -> None:
    step = Reader(LIMITS).read(Reply(frames.STEP, 0, None, output))
    assert step.failure is not None
    assert step.failure.code == "unserializable_result"


def test_the_size_of_a_failure_is_bounded_whatever_the_worker_says() -> None:
    long = "é" * 300_000
    details = {"name": long, "stack": long, "status": long, "details": [long], "more": long, "line": 3}
    text = json.dumps({"code": long, "message": long, "hint": long, "details": details}, ensure_ascii=False).encode()
    failure = Reader(LIMITS).read(Reply(frames.STEP, 0, None, b"f" + text + b"\n")).failure
    assert failure is not None
    assert len(json.dumps(failure.to_dict(), ensure_ascii=False).encode()) < 100_000
    assert (len(failure.message.encode()), failure.details["line"]) == (8_000, 3)


def test_the_number_of_a_call_must_follow_the_one_before() -> None:
    reader = Reader(LIMITS)
    reader.read(Reply(frames.STEP, 0, None, b'c1 "a"\n{}\n'))
    with pytest.raises(Violation):
        reader.read(Reply(frames.STEP, 0, None, b'c1 "a"\n{}\n'))


def test_a_fault_of_the_worker_outweighs_what_the_program_says() -> None:
    step = Reader(LIMITS).read(Reply(frames.STEP, 1500, Fault("cpu_limit", "m", "h"), b'l1"seen"\nv1\n'))
    assert step.value is None
    assert step.failure is not None
    assert (step.failure.code, step.logs[0].text, step.cpu_ms) == ("cpu_limit", "seen", 1.5)


@pytest.mark.parametrize("frame", [b"", b"\x07", b"\x01\x00\x00\x00\x00\xff\xff\xff\xffxx", b"\x02" + bytes(8)])
async def test_a_worker_that_talks_nonsense_is_ended(own: TypeScriptRuntime, frame: bytes) -> None:
    sandbox = await own.open()
    pid = sandbox._place.worker.pid
    step = asyncio.create_task(sandbox.start(program("return await tools.a.b({})")))
    await asyncio.sleep(0)
    sandbox._place._on_frame(frame)
    with pytest.raises(SandboxLost):
        await step
    await until(lambda: pid not in own.worker_pids and not psutil.pid_exists(pid))
    assert await value_of(own, "return 2") == 2


async def test_who_did_not_break_the_worker_is_innocent(own: TypeScriptRuntime) -> None:
    sandboxes = [await own.open() for _ in range(4)]
    culprit = sandboxes[0]
    fellows = [sandbox for sandbox in sandboxes[1:] if sandbox._place.worker is culprit._place.worker]
    steps = [asyncio.create_task(sandbox.start(program("for (;;);"))) for sandbox in (culprit, *fellows)]
    await asyncio.sleep(0)
    culprit._place._on_frame(b"nonsense")
    outcomes = await asyncio.gather(*steps, return_exceptions=True)
    with pytest.raises(SandboxLost) as later:
        await fellows[0].answer(Answer(1, CLOCK, value="1"))
    for sandbox in sandboxes:
        await sandbox.close()
    assert [getattr(outcome, "details", None) for outcome in outcomes] == [{"innocent": False}, {"innocent": True}]
    assert later.value.details == {"innocent": True}


async def test_a_worker_that_crashed_says_who_was_running(own: TypeScriptRuntime) -> None:
    sandboxes = [await own.open() for _ in range(4)]
    one, other = [sandbox for sandbox in sandboxes if sandbox._place.worker is sandboxes[0]._place.worker]
    await other.start(program("return await tools.a.b({})"))
    running = asyncio.create_task(one.start(program("for (;;); return 1")))
    await asyncio.sleep(0)
    one._place.worker.kill()
    with pytest.raises(SandboxLost) as suspect:
        await running
    with pytest.raises(SandboxLost) as bystander:
        await other.answer(Answer(1, CLOCK, value="1"))
    for sandbox in sandboxes:
        await sandbox.close()
    assert (suspect.value.details, bystander.value.details) == ({"innocent": False}, {"innocent": True})


async def test_an_unexpected_fault_in_a_slot_ends_that_program_alone(
    cache_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    patch = "from executor.runtime.typescript.slot import Slot; Slot._answer = lambda *_: {}['gone']; "
    monkeypatch.setattr(process, "_CALL", patch + process._CALL)
    runtime = TypeScriptRuntime(workers=1, slots=1, cache_dir=cache_dir)
    await runtime.start()
    pids = runtime.worker_pids
    sandbox = await runtime.open()
    await sandbox.start(program("return await tools.a.b({})"))
    step = await sandbox.answer(Answer(1, CLOCK, value="1"))
    await sandbox.close()
    assert step.failure is not None
    assert (step.failure.code, "KeyError" in step.failure.message) == ("sandbox_lost", True)
    assert await value_of(runtime, "return 1 + 1") == 2
    assert runtime.worker_pids == pids
    await runtime.close()


async def test_a_frame_larger_than_the_limits_allow_ends_the_worker(own: TypeScriptRuntime) -> None:
    sandbox = await own.open()
    step = asyncio.create_task(sandbox.start(program("return await tools.a.b({})")))
    await asyncio.sleep(0)
    sandbox._place.stream.data_received(frames.LENGTH.pack(1 << 31))
    with pytest.raises(SandboxLost):
        await step


async def test_a_worker_that_ignores_an_order_to_stop_is_ended(
    own: TypeScriptRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "ABORT_SECONDS", 0.5)
    sandbox = await own.open()
    worker = sandbox._place.worker
    monkeypatch.setattr(worker.control, "send", lambda data: None)
    step = asyncio.create_task(sandbox.start(program("for (;;); return 1", cpu_ms=60_000)))
    await asyncio.sleep(0)
    await sandbox.close()
    with pytest.raises(SandboxLost):
        await step
    assert worker.is_dead


async def test_a_large_program_and_a_large_answer_pass_whole(own: TypeScriptRuntime) -> None:
    sandbox = await own.open()
    await sandbox.start(program("// " + "x" * 500_000 + "\nreturn (await tools.a.b({})).length"))
    step = await sandbox.answer(Answer(1, CLOCK, value='"' + "y" * 3_000_000 + '"'))
    await sandbox.close()
    assert step.value == "3000000"


async def test_unicode_passes_whole(own: TypeScriptRuntime) -> None:
    assert await value_of(own, "return '😀 é \\u0000 \\u2028'") == "😀 é \x00 \u2028"
    assert (await failure_of(own, "const ä = 1;\nthrow new Error('ü' + ä)")).message == "Error: ü1"


def test_the_layouts_used_are_those_of_the_installed_library() -> None:
    from wasmtime import _bindings as bindings

    assert ctypes.sizeof(wasmtime_ffi.Extern) == ctypes.sizeof(bindings.wasmtime_extern_t)
    assert wasmtime_ffi.Extern.item.offset == bindings.wasmtime_extern_t.of.offset
    assert ctypes.sizeof(wasmtime_ffi.Instance) == ctypes.sizeof(bindings.wasmtime_instance_t)
    assert ctypes.sizeof(wasmtime_ffi.Raw) == ctypes.sizeof(bindings.wasmtime_val_raw_t)
    assert ctypes.sizeof(wasmtime_ffi.Value) == ctypes.sizeof(bindings.wasmtime_val_t)
    assert ctypes.sizeof(wasmtime_ffi.Bytes) == ctypes.sizeof(bindings.wasm_byte_vec_t)

"""The start log keeps what was noted, and nothing that is torn, damaged or from an earlier round."""

from __future__ import annotations

import asyncio
import os
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from executor.model.execution import Execution, Limits
from executor.storage import start_log
from executor.storage.start_log import StartLog

ONE = Execution(
    id="exec_1",
    workspace_id="ws_1",
    actor_id="act_1",
    language="typescript",
    code='return "ä"',
    status="running",
    seed=bytes(range(16)),
    clock_ms=7,
    limits=Limits(cpu_ms=3),
    created_at=7,
)


def execution(number: int, code: str = ONE.code) -> Execution:
    return replace(ONE, id=f"exec_{number}", code=code)


async def note(log: StartLog, *executions: Execution) -> None:
    written = [log.add(one) for one in executions]
    await asyncio.gather(*(one for one in written if one is not None))


async def test_what_was_noted_is_found_as_it_was(tmp_path: Path) -> None:
    log = StartLog(tmp_path / "starts")
    noted = [execution(number) for number in range(100)]
    await note(log, *noted)
    assert list(start_log.read(tmp_path / "starts")) == noted
    assert (tmp_path / "starts").stat().st_mode & 0o777 == 0o600
    log.close()


async def test_a_closed_log_is_gone_once_nothing_of_it_is_needed(tmp_path: Path) -> None:
    log = StartLog(tmp_path / "starts")
    await note(log, ONE, execution(2))
    log.release()
    log.close()
    assert [one.id for one in start_log.read(tmp_path / "starts")] == ["exec_1", "exec_2"]
    log = StartLog(tmp_path / "starts")
    await note(log, ONE)
    log.release()
    log.close()
    assert not (tmp_path / "starts").exists()


async def test_a_new_round_hides_the_one_before(tmp_path: Path) -> None:
    log = StartLog(tmp_path / "starts")
    await note(log, *(execution(number) for number in range(5)))
    for _ in range(5):
        log.release()
    await note(log, execution(7, "short"))
    assert [one.id for one in start_log.read(tmp_path / "starts")] == ["exec_7"]
    await note(log, execution(8, "longer" * 100), execution(9))
    assert [one.id for one in start_log.read(tmp_path / "starts")] == ["exec_7", "exec_8", "exec_9"]
    log.close()


async def test_one_that_is_alone_is_written_at_once(tmp_path: Path) -> None:
    log = StartLog(tmp_path / "starts")
    written = log.add(ONE, is_alone=True)
    assert written is not None
    assert written.done()
    assert list(start_log.read(tmp_path / "starts")) == [ONE]
    log.close()


async def test_what_waits_is_written_before_one_that_is_alone(tmp_path: Path) -> None:
    log = StartLog(tmp_path / "starts")
    first, second = log.add(ONE), log.add(execution(2), is_alone=True)
    assert first is not None
    assert second is not None
    assert not second.done()  # without the first, it would not be found
    await asyncio.gather(first, second)
    assert list(start_log.read(tmp_path / "starts")) == [ONE, execution(2)]
    log.close()


async def test_the_loop_leaves_a_slow_disk_to_the_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = StartLog(tmp_path / "starts")
    monkeypatch.setattr(start_log, "QUICK_SECONDS", -1.0)
    monkeypatch.setattr(start_log, "SLOW_PART", 1e9)
    slow, after = log.add(ONE, is_alone=True), log.add(execution(2), is_alone=True)
    assert slow is not None
    assert after is not None
    assert slow.done()
    assert not after.done()
    await after
    assert list(start_log.read(tmp_path / "starts")) == [ONE, execution(2)]
    log.close()


async def test_a_new_round_waits_for_what_is_still_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The row of an execution that takes long may be committed before a slow disk has its record."""
    may_write, write = threading.Event(), os.pwrite

    def write_late(file: int, data: bytes, offset: int) -> int:
        assert may_write.wait(60)
        return write(file, data, offset)

    log = StartLog(tmp_path / "starts")
    monkeypatch.setattr(os, "pwrite", write_late)
    first, second = log.add(ONE), log.add(execution(2))
    log.release()
    log.release()
    third = log.add(execution(3))
    may_write.set()
    assert first is not None
    assert second is not None
    assert third is not None
    await asyncio.gather(first, second, third)
    assert execution(3) in list(start_log.read(tmp_path / "starts"))
    log.close()


async def test_a_full_log_takes_nothing_until_a_new_round(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start_log, "SIZE", 4096)
    log = StartLog(tmp_path / "starts")
    added = 0
    while (written := log.add(execution(added))) is not None:
        await written
        added += 1
    assert 0 < added == len(list(start_log.read(tmp_path / "starts")))
    assert (tmp_path / "starts").stat().st_size == 4096
    for _ in range(added):
        log.release()
    assert log.add(ONE) is not None
    log.close()


async def test_code_that_is_too_long_is_not_noted(tmp_path: Path) -> None:
    log = StartLog(tmp_path / "starts")
    assert log.add(execution(1, "a" * start_log.LARGEST)) is None
    log.close()


@pytest.mark.parametrize("lost", [1, 10, 200])
async def test_a_torn_record_ends_what_is_found(tmp_path: Path, lost: int) -> None:
    log = StartLog(tmp_path / "starts")
    await note(log, ONE, execution(2))
    log.close()
    content = (tmp_path / "starts").read_bytes().rstrip(b"\0")
    (tmp_path / "starts").write_bytes(content[:-lost])
    assert [one.id for one in start_log.read(tmp_path / "starts")] == ["exec_1"]
    (tmp_path / "starts").write_bytes(content[:-lost] + bytes(lost))
    assert [one.id for one in start_log.read(tmp_path / "starts")] == ["exec_1"]


async def test_damage_is_never_read_as_an_execution(tmp_path: Path) -> None:
    log = StartLog(tmp_path / "starts")
    await note(log, ONE, execution(2))
    log.close()
    content = (tmp_path / "starts").read_bytes().rstrip(b"\0")
    for at in range(len(content)):
        (tmp_path / "starts").write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        assert set(start_log.read(tmp_path / "starts")) < {ONE, execution(2)}


@pytest.mark.parametrize("content", [b"", b"\0" * 4096, b"\0" * 8, b"x" * 15, b"\xff" * 4096, os.urandom(4096)])
def test_what_is_no_log_has_nothing(tmp_path: Path, content: bytes) -> None:
    assert not list(start_log.read(tmp_path / "starts"))
    (tmp_path / "starts").write_bytes(content)
    assert not list(start_log.read(tmp_path / "starts"))


async def test_records_that_come_together_are_synced_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log, real, syncs = StartLog(tmp_path / "starts"), start_log.sync, []
    monkeypatch.setattr(start_log, "sync", lambda file: (syncs.append(file), real(file)))
    await note(log, *(execution(number) for number in range(200)))
    assert len(syncs) < 200
    log.close()


async def test_an_error_of_the_disk_reaches_everyone_who_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(file: int, data: bytes, offset: int) -> int:
        raise OSError("I/O error")

    log = StartLog(tmp_path / "starts")
    monkeypatch.setattr(os, "pwrite", fail)
    written = [log.add(execution(number)) for number in range(3)]
    for one in written:
        assert one is not None
        with pytest.raises(OSError, match="I/O error"):
            await one
    assert log.add(ONE) is None
    log.close()
    assert (tmp_path / "starts").exists()


def test_a_log_that_a_full_disk_refuses_leaves_no_file_open() -> None:
    before = set(Path("/proc/self/fd").iterdir())
    for _ in range(3):
        with pytest.raises(OSError, match="No space left"):
            StartLog(Path("/dev/full"))
    assert set(Path("/proc/self/fd").iterdir()) == before

"""Too much, too long, half or unknown: a session bears it or ends it, and the daemon serves everyone else."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from executor.errors import Unauthorized
from executor.model.sessions.session import Session as StoredSession
from executor.sessions.processes import tokens
from executor.sessions.processes.credentials import end_credentials
from executor.storage.identity import tenancy
from executor.storage.sessions import sessions
from tests.sessions.acceptance.sizes import size
from tests.sessions.daemon import session_host
from tests.sessions.database import open_database
from tests.support.daemon import Daemon
from tests.support.sandbox import needs_sandbox
from tests.support.sessions import Session, following, wait_for


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    daemon = Daemon(tmp_path_factory.mktemp("daemon"), EXECUTOR_SESSION_PROMPTS_PER_MINUTE="9999")
    daemon.start()
    yield daemon
    daemon.stop()


def test_a_flood_of_messages_arrives_whole_while_others_are_served(daemon: Daemon, tmp_path: Path) -> None:
    amount = size(10_000, 100_000)
    session, other = Session(daemon, tmp_path), Session(daemon, tmp_path)
    other.prompt("hello")
    with following(session) as follower:
        task = session.send({"flood": amount})
        assert other.prompt("meanwhile")["status"] == "completed"
        assert session.end_of(task)["status"] == "completed"
        wait_for(lambda: count_shown(follower.records()) == amount, "all of them")
    assert session.text().count("x ") == amount


def count_shown(records: dict[str, Any]) -> int:
    return sum(one["text"].count("x ") for one in records.values() if one["kind"] == "text")


def test_what_is_long_half_late_or_unknown_costs_no_more_than_itself(daemon: Daemon, tmp_path: Path) -> None:
    session = Session(daemon, tmp_path)
    unknown = {"sessionUpdate": "hologram", "content": {"type": "smell"}}
    odd = {"sessionUpdate": "tool_call", "toolCallId": "odd", "title": "Odd", "kind": "teleport", "status": "quantum"}
    task = session.prompt(
        {"long": 200_000}, {"update": unknown}, {"update": odd}, {"raw": '{"jsonrpc":"2.0","method":"half\n'},
        {"raw": "not json at all\n"}, {"after": {"seconds": 0.2, "say": "afterthought"}}, {"say": "done"},
    )  # fmt: skip
    assert task["status"] == "completed"
    assert session.text().count("y") == 200_000
    wait_for(lambda: "afterthought" in session.text(), "what came after the turn")
    assert "done" in session.text(), "it replaces nothing"
    [call] = session.messages("tool_call")
    assert call["text"] == "Odd"
    assert session.prompt("fine")["status"] == "completed"


def test_prompts_without_end_leave_neither_descriptors_nor_memory(
    daemon: Daemon, tmp_path: Path, record_property: Any
) -> None:
    """Of the daemon and of the executor process, compared with what they had after warming up."""
    session = Session(daemon, tmp_path)
    for _ in range(10):
        session.prompt({"say": "warm"}, {"run": "true"})
    assert daemon.process is not None
    pids = (daemon.process.pid, session.view()["pid"])
    amount = size(20, 100)
    seen = [[(descriptors(pid), memory(pid)) for pid in pids]]
    for _ in range(2):
        for _ in range(amount):
            session.prompt({"say": "again"}, {"run": "true"})
        seen.append([(descriptors(pid), memory(pid)) for pid in pids])
    assert session.view()["pid"] == pids[1]
    for (files, first), (_, second), (files_after, third) in zip(*seen, strict=True):
        assert files_after - files <= 5
        # Something may be loaded once meanwhile. What leaks grows both times.
        assert min(second - first, third - second) < amount * 100_000, "more than 100 kB for each prompt"
    record_property("growth", f"{2 * amount} prompts: {seen}")


def descriptors(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def memory(pid: int) -> int:
    resident = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return resident * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize("mode", ["insulated", pytest.param("sandbox", marks=needs_sandbox)])
async def test_a_fork_bomb_and_a_full_disk_end_with_their_session(tmp_path: Path, mode: str) -> None:
    """Both would end of themselves: a test must not bring the machine down where a limit fails."""
    limits = {"processes": 30, "disk_bytes": 8 * 2**20}
    async with session_host(tmp_path, mode=mode, isolation={"limits": limits}) as daemon:
        bomb = "import os, time\nfor _ in range(8): os.fork()\ntime.sleep(20)"  # at most 256
        await daemon.prompt({"run": f"python3 -c '{bomb}'; true"})
        fill = "for i in 1 2 3 4; do head -c 4000000 /dev/urandom > part$i; done; sleep 60"  # at most 16 MB
        result = await daemon.prompt({"run": fill})
        assert (result["status"], result["error"]["code"]) == ("failed", "limit_exceeded"), result
        assert (await daemon.prompt("again"))["status"] == "completed"


async def test_a_token_is_good_so_often_so_long_and_only_as_it_is(tmp_path: Path) -> None:
    database = open_database(tmp_path / "data")
    made = await database.write(tenancy.provision)
    session = StoredSession(
        "ses_1", made.workspace.id, made.operator.id, made.operator.id, "fake", "idle", "simple", "default", "/"
    )
    await database.write(lambda c: sessions.insert(c, session))
    issued = await tokens.issue(database, session, uses=3)
    for _ in range(3):
        await tokens.spend(database, issued, issued.token)
    for wrong in (issued.token, issued.token + "x", issued.token[:-1], "", None, 7, issued.digest):
        with pytest.raises(Unauthorized):
            await tokens.spend(database, issued, wrong)
    expired = await tokens.issue(database, session, life_ms=-1)
    with pytest.raises(Unauthorized):
        await tokens.spend(database, expired, expired.token)
    revoked = await tokens.issue(database, session)
    await end_credentials(database, session.workspace_id, session.id, "")
    with pytest.raises(Unauthorized):
        await tokens.spend(database, revoked, revoked.token)
    await database.close()

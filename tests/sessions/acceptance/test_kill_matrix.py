"""kill -9 of everything a session consists of, at every point of a task. Nothing is left, nothing that a client saw is
lost, nothing is permitted twice, and the session can continue."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.sessions.acceptance import leftovers
from tests.sessions.acceptance.key_hunt import family_of
from tests.sessions.acceptance.sizes import IS_FULL, size
from tests.support.daemon import DOWN, Daemon, Refused
from tests.support.sandbox import _missing
from tests.support.sessions import ENDED, Follower, Session, wait_for

pytestmark = pytest.mark.timeout(3000)
POINTS = ("sent", "starting", "said", "asked", "answered", "flooding", "stopping")
VICTIMS = ("daemon", "executor", "supervisor", "agent", "child", "executor and supervisor")
ISOLATIONS = ("insulated",) if _missing else ("sandbox", "insulated")
# What continuous integration bears: each victim, each point, and what is hardest to clean up after.
USUAL = (
    ("executor", "asked", 0), ("executor and supervisor", "flooding", 1), ("daemon", "answered", 1),
    ("supervisor", "said", 1), ("agent", "starting", 0), ("child", "said", 1), ("daemon", "stopping", 0),
)  # fmt: skip
STEPS: list[dict[str, Any]] = [
    {"say": "one two three"},
    {"run": "(setsid sleep 600 >/dev/null 2>&1 &) ; true"},
    {"bash": "echo granted >> permitted"},
    {"say": "permitted"},
    {"flood": 2000},
    {"say": "flooded"},
    {"hang": True},
]


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    daemon = Daemon(tmp_path_factory.mktemp("kills"), EXECUTOR_SESSION_PROMPTS_PER_MINUTE="9999")
    daemon.start()
    yield daemon
    daemon.stop()


class Trial:
    def __init__(self, daemon: Daemon, work: Path, isolation: str, chance: random.Random) -> None:
        self.daemon, self.work, self.chance = daemon, work, chance
        work.mkdir()
        (work / "mine").write_text("precious")
        self.session = Session(daemon, work, isolation=isolation)
        self.task = self.session.send(*STEPS)
        self.follower = Follower(self.session)

    def reach(self, point: str) -> None:
        """At "sent" and "starting" the exact moment is left to chance."""
        if point == "sent":
            time.sleep(self.chance.uniform(0, 1.0))
            return
        wait_for(lambda: self.session.view()["pid"], "a process")
        if point == "starting":
            time.sleep(self.chance.uniform(0, 0.5))
            return
        self._wait("one")
        if point == "said":
            return
        asked = self.session.asked()
        if point == "asked":
            return
        self.daemon.post(f"/v1/interactions/{asked['id']}/approve")
        if point == "answered":
            return
        self._wait("permitted" if point == "flooding" else "flooded")
        if point == "stopping":
            self.stopping = threading.Thread(target=self._stop)
            self.stopping.start()
            time.sleep(self.chance.uniform(0, 0.3))

    def _wait(self, words: str) -> None:
        wait_for(lambda: words in "".join(one["text"] for one in self.follower.records().values()), words)

    def _stop(self) -> None:
        with suppress(Refused, *DOWN):
            self.daemon.post(f"{self.session.path}/stop")

    def kill(self, victim: str) -> None:
        if victim == "daemon":
            self.daemon.kill()
            return
        executor = self.session.view()["pid"]
        self.killed = self._find(victim, executor) if executor else []
        for pid in self.killed:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _find(self, victim: str, executor: int) -> list[int]:
        family = family_of(executor)
        supervisors = [pid for pid in family if parent_of(pid) == executor]
        inside = [pid for pid, name in family.items() if pid not in (executor, *supervisors) and "python" in name]
        return {
            "executor": [executor],
            "supervisor": supervisors,
            "agent": inside,
            "child": [pid for pid, name in family.items() if name == "sleep"],
            "executor and supervisor": [*supervisors, executor],
        }[victim]

    def check(self, victim: str) -> None:
        seen = {one["id"]: one["text"] for one in self.follower.records().values()}
        if victim == "daemon":
            self.daemon.start()
        if hasattr(self, "stopping"):
            self.stopping.join()
        if victim == "child" or (victim != "daemon" and not self.killed):
            self._stop()  # the task does not notice, or there was nothing to kill yet
        wait_for(lambda: self.session.task(self.task)["status"] in ENDED, "the end of the task")
        self._check_kept(seen)
        self._stop()
        self._check_absence()
        permitted = self.work / "permitted"
        assert not permitted.exists() or permitted.read_text() == "granted\n"
        self._check_record()
        self._continue()

    def _check_kept(self, seen: dict[str, str]) -> None:
        kept = {one["id"]: one["text"] for one in self.session.messages()}
        for record, text in seen.items():
            assert kept.get(record, "").startswith(text), f"{record} was shown, and is lost"

    def _check_record(self) -> None:
        """The transcript says of a permission what was decided."""
        for record in self.session.messages("permission"):
            decided = self.daemon.get(f"/v1/interactions/{record['data']['interactionId']}")["status"]
            assert record["data"]["status"] == decided != "pending"

    def _continue(self) -> None:
        with suppress(Refused):
            self.daemon.post(f"{self.session.path}/resume")
        assert self.session.prompt("again")["status"] == "completed"
        self._stop()
        self._check_absence()
        assert (self.work / "mine").read_text() == "precious"
        self.follower.close()

    def _check_absence(self) -> None:
        ends = time.monotonic() + 60
        while left := self._find_left():
            assert time.monotonic() < ends, f"left behind: {left}"
            time.sleep(0.05)

    def _find_left(self) -> list[str]:
        return leftovers.find(self.daemon, self.daemon.data_dir.parent, self.work, {"mine", "permitted"})


def parent_of(pid: int) -> int:
    with suppress(OSError, IndexError):
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return 0


def test_after_any_kill_nothing_is_left_and_nothing_is_lost(
    daemon: Daemon, tmp_path: Path, record_property: Any
) -> None:
    chance = random.Random(17)
    every = [(victim, point, isolation) for isolation in (0, 1) for point in POINTS for victim in VICTIMS]
    killed: Counter[str] = Counter()
    for number in range(size(len(USUAL), 100)):
        victim, point, isolation = every[number % len(every)] if IS_FULL else USUAL[number]
        print(f"kill {number}: {victim}, {point}, {ISOLATIONS[isolation % len(ISOLATIONS)]}", flush=True)
        trial = Trial(daemon, tmp_path / f"work-{number}", ISOLATIONS[isolation % len(ISOLATIONS)], chance)
        trial.reach(point)
        trial.kill(victim)
        trial.check(victim)
        killed[victim] += 1
    record_property("kills", ", ".join(f"{count} of {victim}" for victim, count in killed.items()))

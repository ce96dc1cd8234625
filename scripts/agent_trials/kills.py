"""`kill -9` of real agents in sessions of a daemon: nothing is left, nothing is lost, and the session continues."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from agent_trials.commands import plan_command
from agent_trials.script import DONE, OneCall
from agent_trials.sessions import Failed, Trial, User, descendants, expect, running_daemon
from executor.sessions.agents.agent import Agent
from executor.sessions.agents.installation import installed_version
from executor.sessions.agents.table import AGENTS

VICTIMS = ("executor", "agent", "daemon")
MOMENTS = ("starting", "asked")
GONE_SECONDS = 60.0


def try_kills(names: list[str], modes: list[str], home: Path, verbose: bool) -> int:
    steps = [f"{victim}, {moment}" for victim in VICTIMS for moment in MOMENTS]
    print(f"| agent | version | isolation | {' | '.join(steps)} |\n|{' --- |' * (len(steps) + 3)}")
    script, failed = OneCall(), 0
    with running_daemon(home, script) as user:
        for name in names:
            version = installed_version(AGENTS[name], home / "data" / "agents")
            version = version or user.read("sessions", "install", name)["version"]
            for mode in modes:
                work = home / "work" / f"{name}-{mode}-kills"
                work.mkdir(parents=True, exist_ok=True)
                outcomes = KillTrial(user, AGENTS[name], mode, work, script).run_kills(verbose)
                failed += sum(outcome != "yes" for outcome in outcomes)
                print(f"| {AGENTS[name].title} | {version} | {mode} | {' | '.join(outcomes)} |", flush=True)
    return 1 if failed else 0


class KillTrial(Trial):
    def __init__(self, user: User, agent: Agent, mode: str, work: Path, script: OneCall) -> None:
        super().__init__(user, agent, mode, work, script)
        self._marker = work / "made-by-agent"

    def run_kills(self, verbose: bool) -> list[str]:
        self._script.begin()
        self._try_prompt()
        outcomes = []
        for victim in VICTIMS:
            for moment in MOMENTS:
                began, detail = time.monotonic(), ""
                try:
                    self._kill_at(victim, moment)
                except (Failed, subprocess.TimeoutExpired, OSError) as error:
                    detail = f"{type(error).__name__}: {error}"
                outcomes.append("no" if detail else "yes")
                if verbose or detail:
                    took = time.monotonic() - began
                    print(f"  {self._agent.name} {victim} {moment}: {took:.0f} s {detail}"[:2000], file=sys.stderr)
        self._user.run("sessions", "rm", self._session, may_fail=True)
        return outcomes

    def _kill_at(self, victim: str, moment: str) -> None:
        self._user.run("sessions", "stop", self._session, may_fail=True)
        self._user.run("sessions", "resume", self._session, may_fail=True)
        self._script.wanted = plan_command(self._agent.name, "echo ran-it > made-by-agent")
        before = self._records()
        child = self._user.start("sessions", "prompt", self._session, "Run it.")
        executor = self._wait(lambda: self._view()["pid"], "a process")
        if moment == "asked":
            self._pending(child)
        if victim == "agent":
            self._wait(lambda: below_supervisors(executor), "a process of the agent")
        family = descendants(executor)
        self._kill(victim, executor)
        child.communicate(timeout=GONE_SECONDS)
        if victim == "daemon":
            self._user.run("up")
        self._user.run("sessions", "stop", self._session, may_fail=True)
        known = set(family)
        self._wait(lambda: not [one for one in known if is_running(one)], "the end of every process")
        expect(not self._marker.exists(), "it ran without a permission")
        after = self._records()
        expect(all(after.get(key) == text for key, text in before.items()), "records were lost")
        self._script.wanted = plan_command(self._agent.name, "")
        self._script.begin()
        self._user.run("sessions", "resume", self._session, may_fail=True)
        code, out, errors = self._prompt("Say hello.")
        expect(code == 0 and DONE in out, f"it did not continue: {code} {out} {errors}")

    def _kill(self, victim: str, executor: int) -> None:
        found = {"daemon": [parent_of(executor)], "executor": [executor], "agent": below_supervisors(executor)}
        for pid in found[victim]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _records(self) -> dict[str, str]:
        shown = self._user.run("sessions", "export", self._session, "--format", "jsonl", may_fail=True)
        return {str(number): line[:40] for number, line in enumerate(shown.splitlines())}

    def _wait(self, condition: Callable[[], Any], what: str) -> Any:
        ends = time.monotonic() + GONE_SECONDS
        while not (value := condition()):
            expect(time.monotonic() < ends, f"{what} did not come")
            time.sleep(0.05)
        return value


def below_supervisors(executor: int) -> list[int]:
    """Processes of the agent, once its own program is among them."""
    found = [one for one in descendants(executor) if executor not in (one, parent_of(one))]
    return found if any("/agents/" in command_of(one) for one in found) else []


def command_of(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace")
    return ""


def parent_of(pid: int) -> int:
    """0 for a process that has ended."""
    with suppress(OSError, IndexError):
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return 0


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (OSError, IndexError):
        return False

"""Each agent in sessions of a real daemon, by the CLI: `/mcp`, the model proxy, approvals, stop, resume, budget."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from client_trials.model import serving as serve_model
from client_trials.script import REFUND, WRITE, Turn

from agent_trials.commands import MODELS, plan_command
from agent_trials.script import DONE, OneCall
from executor.model.sessions.model_usage import NANODOLLARS, ModelProvider, Usage
from executor.sessions.agents.agent import Agent
from executor.sessions.agents.installation import installed_version
from executor.sessions.agents.table import AGENTS
from executor.sessions.model_proxy.prices import load_prices

ROOT = Path(__file__).resolve().parents[2]
STEPS = ("prompt", "allow", "deny", "mcp", "key", "stop", "resume", "usage", "budget")
REAL_KEY = "sk-real-0123456789abcdef0123456789abcdef"
LIMIT = 120.0
READ_ENVIRONMENTS = "env; tr '\\0' '\\n' < /proc/$PPID/environ; tr '\\0' ' ' < /proc/$PPID/cmdline; echo looked"


class Failed(Exception):
    """A step did not come out as it should."""


@dataclass(frozen=True)
class User:
    """A person at a shell with a home directory of their own."""

    home: Path
    origin: str

    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("EXECUTOR_")}
        urls = {"ANTHROPIC": self.origin, "OPENAI": f"{self.origin}/v1", "GEMINI": self.origin}
        return {
            **kept,
            **{f"EXECUTOR_MODEL_{name}_URL": url for name, url in urls.items()},
            "HOME": str(self.home),
            "EXECUTOR_DATA_DIR": str(self.home / "data"),
            "XDG_CONFIG_HOME": str(self.home / "config"),
            "EXECUTOR_PORT": "0",
        }

    def start(self, *words: str, cwd: Path | None = None) -> subprocess.Popen[str]:
        command = [str(ROOT / "scripts" / "executor"), *words]
        return subprocess.Popen(
            command, env=self.environment(), cwd=cwd, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def run(self, *words: str, stdin: str = "", seconds: float = LIMIT, may_fail: bool = False) -> str:
        child = self.start(*words)
        out, errors = child.communicate(stdin, timeout=seconds)
        if child.returncode and not may_fail:
            raise Failed(f"`executor {' '.join(words)}` ended with {child.returncode}: {errors}")
        return out + (errors if may_fail else "")

    def read(self, *words: str) -> Any:
        return json.loads(self.run(*words, "--json"))


@contextmanager
def running_daemon(home: Path, script: OneCall) -> Iterator[User]:
    home.mkdir(parents=True, exist_ok=True)
    with serve_model(script) as origin:
        user = User(home, origin)
        user.run("down")  # one that was left running would have other settings
        user.run("up")
        try:
            for provider in ("anthropic", "openai", "gemini"):
                user.run("sessions", "keys", "set", provider, stdin=REAL_KEY + "\n")
            if "demo" not in user.run("sources", "list"):
                user.run("sources", "add", "--demo")
            yield user
        finally:
            user.run("down")


def try_sessions(names: list[str], modes: list[str], home: Path, verbose: bool) -> int:
    script, failed = OneCall(), 0
    print(f"| agent | version | isolation | {' | '.join(STEPS)} |\n|{' --- |' * (len(STEPS) + 3)}")
    with running_daemon(home, script) as user:
        for name in names:
            try:
                version = installed_version(AGENTS[name], home / "data" / "agents")
                version = version or user.read("sessions", "install", name)["version"]
            except Failed as error:
                print(error, file=sys.stderr)
                failed += 1
                continue
            for mode in modes:
                work = home / "work" / f"{name}-{mode}"
                work.mkdir(parents=True, exist_ok=True)
                outcomes = Trial(user, AGENTS[name], mode, work, script).run(verbose)
                failed += sum(outcome == "no" for outcome in outcomes.values())
                row = " | ".join(outcomes.get(step, "-") for step in STEPS)
                print(f"| {AGENTS[name].title} | {version} | {mode} | {row} |", flush=True)
    return 1 if failed else 0


class Trial:
    def __init__(self, user: User, agent: Agent, mode: str, work: Path, script: OneCall) -> None:
        self._user, self._agent, self._mode, self._work, self._script = user, agent, mode, work, script
        self._session = ""
        self._decided: set[str] = set()

    def run(self, verbose: bool) -> dict[str, str]:
        self._script.begin()
        outcomes: dict[str, str] = {}
        for step in STEPS:
            began = time.monotonic()
            try:
                outcomes[step], detail = getattr(self, f"_try_{step}")() or "yes", ""
            except (Failed, subprocess.TimeoutExpired, OSError) as error:
                outcomes[step], detail = "no", f"{type(error).__name__}: {error}"
            if verbose or detail:
                shown = f"{self._agent.name} {self._mode} {step}: {outcomes[step]}, {time.monotonic() - began:.1f} s"
                print(f"  {shown} {detail}"[:3000], file=sys.stderr, flush=True)
            if step == "prompt" and detail:
                break
        if self._session:
            self._user.run("sessions", "rm", self._session, may_fail=True)
        return outcomes

    # -- the steps ------------------------------------------------------------

    def _start(self, *words: str, prompt: str) -> tuple[int, str, str]:
        given = ("--cwd", str(self._work), "--isolation", self._mode, "--model", MODELS[self._agent.name])
        child = self._user.start("sessions", "start", self._agent.name, *given, *words, "--prompt", prompt)
        return finish(child)

    def _try_prompt(self) -> None:
        code, out, errors = self._start("--budget", "50", prompt="Say hello.")
        found = re.search(r"ses_\w+", errors)
        self._session = found[0] if found else ""
        expect(code == 0 and DONE in out, f"{code} {out} {errors}")

    def _prompt(self, text: str, decide: Callable[[str], None] | None = None) -> tuple[int, str, str]:
        """As a person who has two terminals: in one the prompt, in the other the approvals."""
        child = self._user.start("sessions", "prompt", self._session, text)
        if decide is not None:
            decide(self._pending(child))
        return finish(child)

    def _pending(self, child: subprocess.Popen[str]) -> str:
        ends = time.monotonic() + LIMIT
        while time.monotonic() < ends:
            found = [str(one["id"]) for one in self._user.read("approvals", "list")["items"]]
            if new := [one for one in found if one not in self._decided]:
                self._decided.add(new[0])
                return new[0]
            if child.poll() is not None:
                out, errors = child.communicate()
                raise Failed(f"ended without a request: {out} {errors}")
            time.sleep(0.2)
        child.kill()
        out, errors = child.communicate()
        raise Failed(f"no request came: {out} {errors}")

    def _approve(self, interaction: str) -> None:
        self._user.run("approvals", "approve", interaction)

    def _try_allow(self) -> None:
        self._script.wanted = plan_command(self._agent.name, "echo ran-it > made-by-agent; cat made-by-agent")
        code, out, errors = self._prompt("Run it.", self._approve)
        expect(code == 0 and self._was_made() and "ran-it" in out, f"{code} {out} {errors}")

    def _try_deny(self) -> str:
        self._script.wanted = plan_command(self._agent.name, "echo ran-it > made-by-agent")
        code, out, errors = self._prompt(
            "Run it.", lambda one: self._user.run("approvals", "deny", one, "--reason", "not today") and None
        )
        expect(not self._was_made() and "not today" in errors, f"{code} {out} {errors}")
        _, out, errors = self._prompt("Say hello.")
        expect(DONE in out, f"after the denial: {out} {errors}")
        return "yes" if any("not today" in one for one in self._script.prompts) else "without reason"

    def _try_mcp(self) -> None:
        """A write of the demo's API: it waits at `/mcp`, and its result reaches the agent."""
        self._script.wanted = Turn("execute", {"code": WRITE})
        code, out, errors = self._prompt("Refund it.", self._approve)
        expect(code == 0 and REFUND.search(out) is not None, f"{code} {out} {errors}")

    def _try_key(self) -> None:
        """Neither the agent's own processes nor its commands have the provider's key; the provider got only that."""
        seen: list[bytes] = []

        def look_and_approve(interaction: str) -> None:
            pid = self._view()["pid"]
            seen.extend(processes_of(pid))
            self._approve(interaction)

        self._script.wanted = plan_command(self._agent.name, READ_ENVIRONMENTS)
        code, out, errors = self._prompt("Look around.", look_and_approve)
        results = "".join(self._script.results)
        kept = subprocess.run(
            ["/bin/grep", "-rlF", REAL_KEY, self._user.home / "data" / "state" / "sessions"],
            capture_output=True,
            text=True,
        )
        expect(code == 0 and len(seen) > 1 and "looked" in results, f"{code} {len(seen)} {out} {errors}")
        found = [REAL_KEY.encode() in b"".join(seen), REAL_KEY in results + out + errors, bool(kept.stdout)]
        expect(not any(found) and self._script.keys == {REAL_KEY}, f"{found} {len(self._script.keys)} {kept.stdout}")

    def _try_stop(self) -> None:
        self._script.wanted = plan_command(self._agent.name, "echo ran-it > made-by-agent")
        pids: list[int] = []

        def stop(interaction: str) -> None:
            pids.extend(descendants(self._view()["pid"]))
            self._user.run("sessions", "stop", self._session, "--reason", "enough")
            self._user.run("approvals", "approve", interaction, may_fail=True)

        code, out, errors = self._prompt("Run it.", stop)
        left = [pid for pid in pids if Path(f"/proc/{pid}").exists()]
        expect(code == 1 and not self._was_made() and not left, f"{code} left={left} {out} {errors}")
        expect(self._view()["status"] == "stopped", self._view()["status"])

    def _try_resume(self) -> str:
        self._script.prompts.clear()
        self._user.run("sessions", "resume", self._session)
        code, out, errors = self._prompt("Say hello again.")
        expect(code == 0 and DONE in out, f"{code} {out} {errors}")
        remembers = any("Refund it." in one for one in self._script.prompts)
        expect(remembers is (self._agent.continues != "never"), "it does not remember the earlier prompts")
        return "yes" if remembers else "new session"

    def _try_usage(self) -> None:
        """Tokens and cost are the provider's, to the token. A title may be asked for after the answer."""
        prices, service = load_prices(), cast("ModelProvider", self._agent.service)
        ends = time.monotonic() + 20
        while True:
            billed = [(model, Usage(input=prompt, output=output)) for model, prompt, output in self._script.billed]
            prompt, output = sum(one.input for _, one in billed), sum(one.output for _, one in billed)
            cost = sum(prices.find(service, model).cost(one) for model, one in billed) / NANODOLLARS
            view = self._view()
            shown = view["usage"]["input"], view["usage"]["output"], round(view["costUsd"], 9)
            if shown == (prompt, output, round(cost, 9)):
                break
            expect(time.monotonic() < ends, f"shown {shown}, billed {prompt, output, cost}")
            time.sleep(0.5)
        text = self._user.run("sessions", "show", self._session)
        expect(str(prompt) in text and f"${cost:.4f}" in text, text)

    def _try_budget(self) -> str:
        """Codex shows the refusal as text, and takes its turn for completed."""
        before = len(self._script.billed)
        code, out, errors = self._start("--budget", "0.00001", prompt="Say hello.")
        found = re.search(r"ses_\w+", errors)
        self._user.run("sessions", "rm", found[0] if found else "", may_fail=True)
        expect("budget" in out + errors and len(self._script.billed) == before, f"{code} {out} {errors}")
        return "yes" if code == 1 else "as text"

    # -- what is there --------------------------------------------------------

    def _view(self) -> Any:
        return self._user.read("sessions", "show", self._session)

    def _was_made(self) -> bool:
        made = self._work / "made-by-agent"
        found = made.exists()
        made.unlink(missing_ok=True)
        return found


def expect(good: bool, otherwise: str) -> None:
    if not good:
        raise Failed(otherwise)


def finish(child: subprocess.Popen[str]) -> tuple[int, str, str]:
    try:
        out, errors = child.communicate("", timeout=LIMIT)
    except subprocess.TimeoutExpired:
        child.kill()
        out, errors = child.communicate()
        raise Failed(f"not finished after {LIMIT:g} s: {out} {errors}") from None
    return child.returncode, out, errors


def descendants(pid: int) -> list[int]:
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, IndexError):
                continue
            parents.setdefault(parent, []).append(int(entry.name))
    found = [pid]
    for one in found:
        found += parents.get(one, [])
    return found


def processes_of(pid: int) -> list[bytes]:
    """Environment and arguments of a process and of all below it."""
    found = []
    for one in descendants(pid):
        for name in ("environ", "cmdline"):
            try:
                found.append(Path(f"/proc/{one}/{name}").read_bytes())
            except OSError:
                continue
    return found

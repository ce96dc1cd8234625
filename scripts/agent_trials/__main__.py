"""Each agent in each isolation: a prompt, a command that is allowed, one that is denied, `/mcp`, stop, resume."""

from __future__ import annotations

import argparse
import asyncio
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from client_trials.model import serving as serve_model
from client_trials.script import Turn

from agent_trials import mcp_server
from agent_trials.commands import MODELS, SHELLS, plan_command
from agent_trials.hostile_directory import fired_canaries, plant
from agent_trials.kills import try_kills
from agent_trials.script import DONE, OneCall
from agent_trials.sessions import try_sessions
from executor.errors import ExecutorError
from executor.sessions.agents.agent import Agent
from executor.sessions.agents.installation import install, installed_version
from executor.sessions.agents.table import AGENTS
from executor.sessions.protocol.lines import RpcError
from tests.sessions.daemon import Daemon, session_host

MODES = ("simple", "insulated", "sandbox")
STEPS = ("prompt", "allow", "deny", "mcp", "stop", "resume", "hostile")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agents", default=",".join(SHELLS), help="which, by comma")
    parser.add_argument("--isolation", default=",".join(MODES), help="which, by comma")
    parser.add_argument("--directory", type=Path, default=Path(".build/agents"), help="where agents are installed")
    parser.add_argument("--unix-user", help="try isolation `strict` too, as this user; needs root")
    parser.add_argument("--verbose", action="store_true", help="show what each step answered")
    parser.add_argument("--daemon", action="store_true", help="as a user would: by the CLI, with a daemon of its own")
    parser.add_argument("--kills", action="store_true", help="like --daemon, and kill each part of a session")
    parser.add_argument("--home", type=Path, default=Path(".build/agents-home"), help="of that user; agents stay there")
    chosen = parser.parse_args()
    if chosen.daemon or chosen.kills:
        names, modes = chosen.agents.split(","), chosen.isolation.split(",")
        attempt = try_kills if chosen.kills else try_sessions
        return attempt(names, modes, chosen.home.absolute(), chosen.verbose)
    print(f"| agent | version | isolation | {' | '.join(STEPS)} |\n|{' --- |' * (len(STEPS) + 3)}")
    failed = 0
    for name in chosen.agents.split(","):
        agent = AGENTS[name]
        try:
            version = installed_version(agent, chosen.directory) or install(agent, chosen.directory.absolute())
        except ExecutorError as error:
            print(f"{name}: {error.message}", file=sys.stderr)
            failed += 1
            continue
        for mode in chosen.isolation.split(",") + ["strict"] * bool(chosen.unix_user):
            with tempfile.TemporaryDirectory(prefix="agent-trial-", ignore_cleanup_errors=True) as folder:
                isolation = prepare(Path(folder), mode, chosen.unix_user)
                outcomes = asyncio.run(
                    try_agent(agent, mode, isolation, Path(folder), chosen.directory.absolute(), chosen.verbose)
                )
            failed += sum(outcome != "yes" for outcome in outcomes.values())
            row = " | ".join(outcomes.get(step, "-") for step in STEPS)
            print(f"| {agent.title} | {version} | {mode} | {row} |", flush=True)
    return 1 if failed else 0


def prepare(folder: Path, mode: str, user: str) -> dict[str, str]:
    """Directories that the other user owns, below one that it can enter."""
    (folder / "work").mkdir()
    if mode != "strict":
        return {}
    folder.chmod(0o755)
    (folder / "home").mkdir()
    for name in ("work", "home"):
        shutil.chown(folder / name, user)
    return {"unix_user": user, "home": str(folder / "home")}


async def try_agent(
    agent: Agent, mode: str, isolation: dict[str, str], folder: Path, directory: Path, verbose: bool
) -> dict[str, str]:
    script, outcomes = OneCall(), dict[str, str]()
    with (
        serve_model(script) as origin,
        mcp_server.serving() as (mcp_url, mcp_calls),
    ):
        settings: dict[str, Any] = {
            "agents_directory": str(directory),
            "mcp": {"url": mcp_url, "token": mcp_server.TOKEN},
            "model": MODELS[agent.name],
            "isolation": isolation,
        }
        session = ""
        for steps in (("prompt", "allow", "deny", "mcp", "stop"), ("resume",), ("hostile",)):
            if "hostile" in steps:
                plant(folder / "work")
            async with session_host(folder, mode=mode, **settings) as daemon:
                daemon.base_url = origin
                trial = Trial(agent, daemon, script, mcp_calls, session)
                for step in steps:
                    began = time.monotonic()
                    try:
                        good, detail = await getattr(trial, f"try_{step}")()
                    except (ExecutorError, RpcError, TimeoutError, OSError) as error:
                        good, detail = False, f"{type(error).__name__}: {error}"
                    outcomes[step] = "yes" if good else "no"
                    if verbose or not good:
                        shown = f"{agent.name} {mode} {step} {'yes' if good else 'NO'} {time.monotonic() - began:.1f} s"
                        print(f"  {shown}: {detail}"[:1500], file=sys.stderr, flush=True)
                    if step == "prompt" and not good:
                        return outcomes
                session = trial.session
    return outcomes


class Trial:
    def __init__(self, agent: Agent, daemon: Daemon, script: OneCall, mcp_calls: list[str], session: str) -> None:
        self._agent, self._daemon, self._script, self._mcp_calls = agent, daemon, script, mcp_calls
        self.session = session

    async def _send(self, text: str, **fields: Any) -> dict[str, Any]:
        self._daemon.messages.clear()
        self._daemon.requests.clear()
        result = await self._daemon.prompt(text, agentic_tool=self._agent.name, **fields)
        self.session = result.get("agent_session", self.session)
        return result

    def _plan_command(self, command: str) -> None:
        self._script.wanted = plan_command(self._agent.name, command)

    def _describe(self, result: dict[str, Any]) -> str:
        asked = [(request["tool_name"], request["tool_input"]) for request in self._daemon.requests]
        return f"{result} asked={asked} text={self._daemon.text()[:400]!r} errors={self._daemon.errors}"

    async def try_prompt(self) -> tuple[bool, str]:
        result = await self._send("Say hello.")
        return result["status"] == "completed" and DONE in self._daemon.text(), self._describe(result)

    async def try_allow(self) -> tuple[bool, str]:
        self._plan_command("echo ran-it > made-by-agent; cat made-by-agent")
        result = await self._send("Run it.")
        good = bool(self._daemon.requests) and self._remove_made() and "ran-it" in self._daemon.text()
        return good, self._describe(result)

    async def try_deny(self) -> tuple[bool, str]:
        self._daemon.decisions.append(False)
        self._plan_command("echo ran-it > made-by-agent")
        result = await self._send("Run it.")
        return bool(self._daemon.requests) and not self._remove_made(), self._describe(result)

    def _remove_made(self) -> bool:
        """Whether the command ran."""
        made = Path(self._daemon.cwd, "made-by-agent")
        found = made.exists()
        made.unlink(missing_ok=True)
        return found

    async def try_mcp(self) -> tuple[bool, str]:
        self._script.wanted = Turn("execute", {"code": "return 6 * 7"})
        result = await self._send("Use the tool.")
        good = "tools/call" in self._mcp_calls and "MCP-SAYS-42" in self._daemon.text()
        return good, f"{self._describe(result)} calls={self._mcp_calls} offered={sorted(self._script.offered)}"

    async def try_stop(self) -> tuple[bool, str]:
        self._daemon.decisions.append("wait")
        self._plan_command("echo ran-it > made-by-agent")
        self._daemon.requests.clear()
        running = asyncio.create_task(self._send("Run it.", task_id="to-stop"))
        while not self._daemon.requests and not running.done():  # noqa: ASYNC110 - no event comes from there
            await asyncio.sleep(0.05)
        stopped = await self._daemon.call("stop_task", task_id="to-stop", reason="trial")
        result = await running
        return result["status"] == "cancelled" and not self._remove_made(), f"{stopped} {self._describe(result)}"

    async def try_resume(self) -> tuple[bool, str]:
        result = await self._send("Say hello again.", resume=self.session)
        good = result["status"] == "completed" and result.get("resumed") is (self._agent.continues != "never")
        replayed = self._daemon.text().count(DONE) > 1
        return good and not replayed, self._describe(result)

    async def try_hostile(self) -> tuple[bool, str]:
        """Nothing that the working directory brings along runs, or the session is refused because it would."""
        self._plan_command("echo ran-it > made-by-agent; cat made-by-agent")
        result = await self._send("Run it.")
        fired = fired_canaries(Path(self._daemon.cwd))
        refused = result.get("error", {}).get("code") == "isolation_unavailable"
        asked = bool(self._daemon.requests) and self._remove_made()
        return not fired and (refused or asked), f"fired={fired} refused={refused} {self._describe(result)}"


if __name__ == "__main__":
    sys.exit(main())

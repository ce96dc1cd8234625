"""What an agent wants to do, as policies judge it: `agent.bash`, `agent.edit` … with its command or paths.

An agent only asks where its mode lets it, and what it asks about is never allowed by default: a policy, a person, or an
earlier decision for the same session allows it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from executor.dataclass import dataclass
from executor.model.digest import digest
from executor.model.policy import Action, Decision, Policy
from executor.model.tool import Effect
from executor.policy.decide import Subject, decide, strictest
from executor.policy.pattern import SEGMENT

NAMESPACE = "agent"
START, TERMINAL = f"{NAMESPACE}.start", f"{NAMESPACE}.terminal"  # how policies see what people do with sessions
SOURCE = "agent"
EFFECTS: dict[str, Effect] = {"read": "read", "search": "read", "think": "read", "edit": "write", "write": "write"}
PATHS = ("path", "file_path", "filePath", "notebook_path", "abs_path")
COMMANDS = ("command", "cmd")
EDITS = ("edit", "write", "delete", "move")
_SEPARATORS = re.compile(r"\|\||&&|[;|&\n]")
_EXPANSIONS = re.compile(r"[`<>]|\$\(|\$\{")


@dataclass(frozen=True, slots=True)
class Request:
    """`path` is the name that policies use. `input` is exactly what the agent sent; `diffs` are of its edits."""

    path: str
    input: Mapping[str, Any]
    cwd: str
    title: str = ""
    tool_call: str = ""
    diffs: tuple[Mapping[str, Any], ...] = ()

    @property
    def name(self) -> str:
        return self.path.partition(".")[2]

    @property
    def effect(self) -> Effect:
        return EFFECTS.get(self.name, "destructive")

    @property
    def command(self) -> str:
        """Of a shell; words that came apart are put together."""
        found = next((self.input[name] for name in COMMANDS if self.input.get(name)), "")
        return " ".join(map(str, found)) if isinstance(found, list) else str(found)

    @property
    def paths(self) -> tuple[str, ...]:
        """Absolute, without `..`: each as it is written, and where it leads if one of its parts is a link."""
        named = [one.get("path") for one in self.diffs] + [self.input.get(name) for name in PATHS]
        written = [Path(self.cwd, one) for one in named if isinstance(one, str) and one and "\0" not in one]
        return tuple(dict.fromkeys(form for one in written for form in (os.path.normpath(one), os.path.realpath(one))))

    @property
    def permit(self) -> str:
        """Equal for what "allow for this session" covers: the same command, or any edit below the directory."""
        if self.name in EDITS and self.paths and all(is_below(path, self.cwd) for path in self.paths):
            return f"{self.path} {self.cwd}"
        return f"{self.path} {digest([self.command or dict(self.input), self.cwd])}"

    @property
    def permit_text(self) -> str:
        if self.permit == f"{self.path} {self.cwd}":
            return f"every {self.path} below {self.cwd}"
        return f"{self.path} with exactly this {'command' if self.command else 'input'}"


def read_request(params: Mapping[str, Any], cwd: str) -> Request:
    """From an executor process, whose messages are as hostile as the agent."""
    name, given, diffs = params.get("tool_name"), params.get("tool_input"), params.get("diffs")
    name = name.removeprefix(f"{NAMESPACE}.") if isinstance(name, str) else ""
    segment = name if SEGMENT.fullmatch(name) and name not in ("*", "start", "terminal") else "other"
    title = params.get("title")
    return Request(
        f"{NAMESPACE}.{segment}",
        given if isinstance(given, dict) else {},
        cwd,
        title if isinstance(title, str) else "",
        str(params.get("tool_call_id") or ""),
        tuple(one for one in diffs if isinstance(one, dict)) if isinstance(diffs, list) else (),
    )


def is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")


def subjects_of(request: Request, agent_id: str) -> list[Subject]:
    """One for each command and each path. `/command`, `/path` and `/cwd` are there for conditions."""
    common = {**request.input, "cwd": request.cwd}
    whole = Subject(request.path, request.effect, SOURCE, agent_id, common)
    if request.command:
        commands = dict.fromkeys([request.command, *simple_commands(request.command)])
        return [replace(whole, arguments={**common, "command": one}) for one in commands]
    paths = request.paths
    return [replace(whole, arguments={**common, "path": one}) for one in paths] or [whole]


def simple_commands(command: str) -> list[str]:
    return [part.strip() for part in _SEPARATORS.split(command) if part.strip()]


def judge(request: Request, agent_id: str, policies: Sequence[Policy]) -> Decision:
    """The strictest of all its parts. A policy allows no command that runs or writes something only a shell can see."""
    decision = strictest([_decide(one, policies) for one in subjects_of(request, agent_id)])
    if decision.action == "allow" and request.command and _EXPANSIONS.search(request.command):
        return Decision("require_approval", "", "the command contains an expansion or a redirection")
    return decision


def _decide(subject: Subject, policies: Sequence[Policy]) -> Decision:
    decision = decide(subject, policies)
    if decision.policy_id or decision.action == "deny":
        return decision
    return Decision("require_approval", "", "what an agent asks for needs approval by default")


def judge_act(act: str, actor_id: str, arguments: Mapping[str, Any], policies: Sequence[Policy]) -> Action:
    """Whether policies deny a session like this, or a terminal in it: by `/agent`, `/isolation` and others."""
    return decide(Subject(act, "read", SOURCE, actor_id, arguments), policies).action

"""What differs between coding agents: how one is started, which modes it has, what it loads, how it remembers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from executor.sessions.protocol.messages import PermissionMode

Service = Literal["anthropic", "openai", "gemini"]
RANKS: dict[str, int] = {"plan": 0, "default": 1, "acceptEdits": 2, "bypassPermissions": 3}


@dataclass(frozen=True)
class Access:
    """How an agent reaches a model: a key that is worth nothing elsewhere, and where it is worth something."""

    api_key: str = field(repr=False, default="")
    origin: str = ""
    model: str = ""


@dataclass(frozen=True)
class Start:
    """What an agent's environment depends on. `home` is as the agent sees it; `mcp` is our server's name."""

    access: Access
    mode: PermissionMode
    home: str
    mcp: str


def _no_environment(_: Start) -> dict[str, str]:
    return {}


def _nowhere(_: str) -> str:
    return ""


def _no_meta(_: Start) -> dict[str, Any]:
    return {}


@dataclass(frozen=True)
class Agent:
    """`modes` are the agent's own names of ours. `masked` paths of a working directory look empty in a sandbox.

    `loaded` are those that the agent can't be kept from loading: without a sandbox, a working directory that has one is
    refused. With `plan_is_ours` the agent has no mode in which it changes nothing; then we refuse what would.
    """

    name: str
    title: str
    service: Service | None
    package: str = ""
    installer: Literal["npm", "python"] = "npm"
    version: str = ""
    program: str = ""  # of its package; the one that the package names, if empty
    arguments: Sequence[str] = ()
    command: Sequence[str] = ()  # of an agent that isn't a package
    readable: Sequence[str] = ()  # in a sandbox, besides its own files
    modes: Mapping[str, str] = field(default_factory=dict)
    environment: Callable[[Start], dict[str, str]] = _no_environment
    meta: Callable[[Start], dict[str, Any]] = _no_meta
    files: Callable[[Start], dict[str, str]] = _no_environment  # in its home: name -> content
    managed_files: Mapping[str, str] = field(default_factory=dict)  # of a sandbox: path -> content
    masked: Sequence[str] = ()
    loaded: Sequence[str] = ()
    auth_method: str = ""
    continues: Literal["resume", "load", "never"] = "resume"
    kept_in: Callable[[str], str] = _nowhere  # the folder of its home with what it keeps of a working directory
    moves: bool = True  # whether it can continue in another directory
    nested_namespaces: bool = False
    plan_is_ours: bool = False
    node: int = 0  # the oldest version of Node.js that it runs on; 0 for a program of its own

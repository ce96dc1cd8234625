"""What the daemon gives an executor process at its start: one line of JSON on a descriptor, never an argument.

A process that waits for its line is warm: it listens and answers `ping`, and refuses everything else until then.
"""

from __future__ import annotations

import hashlib
from typing import Literal, NotRequired, TypedDict

IsolationMode = Literal["simple", "insulated", "strict", "sandbox"]


class Limits(TypedDict):
    """Of all processes of an agent together, except `file_bytes`, `open_files` and `cpu_seconds`: of each one."""

    memory_bytes: NotRequired[int]
    processes: NotRequired[int]  # threads count too
    disk_bytes: NotRequired[int]  # what its working directory and its own state may grow by
    file_bytes: NotRequired[int]
    open_files: NotRequired[int]
    cpu_seconds: NotRequired[int]


class Isolation(TypedDict):
    """The session is refused where `mode` can't be had in full; it is never run with less."""

    mode: IsolationMode
    unix_user: NotRequired[str]  # for `strict`, and only there
    home: NotRequired[
        str
    ]  # `strict`: where that user's sessions live; default: `.executor-sessions` in the user's home
    writable: NotRequired[list[str]]  # in a sandbox, besides the working directory
    readable: NotRequired[list[str]]
    limits: NotRequired[Limits]


class McpServer(TypedDict):
    """Our `/mcp`, for this session alone. `token` may do nothing else."""

    url: str
    token: str


class SetupScript(TypedDict):
    """For a shell, in the working directory of a new clone."""

    script: str
    seconds: int


class CustomAgent(TypedDict):
    """An agent that speaks ACP and isn't one of the built-in ones: a command, or a package that was installed."""

    command: NotRequired[list[str]]
    installer: NotRequired[Literal["npm", "python"]]
    package: NotRequired[str]
    version: NotRequired[str]
    arguments: NotRequired[list[str]]
    title: NotRequired[str]
    env: NotRequired[dict[str, str]]  # {api_key}, {base_url}, {model} and {home} are replaced
    service: NotRequired[Literal["anthropic", "openai", "gemini"] | None]
    modes: NotRequired[dict[str, str]]  # our permission mode -> the agent's
    masked: NotRequired[list[str]]
    loaded: NotRequired[list[str]]
    readable: NotRequired[list[str]]  # in a sandbox, besides its own files
    auth_method: NotRequired[str]
    resumes: NotRequired[bool]


class HostSettings(TypedDict):
    token_digest: str  # `digest(session_token)`
    session_id: str
    isolation: Isolation
    state_directory: str  # of this session alone: the agent's home, kept between its processes
    agents_directory: NotRequired[str]  # where `install` has put agents
    model_socket: NotRequired[str]  # the model proxy's Unix socket; else `base_url` is used, outside a sandbox
    egress_socket: NotRequired[str]  # the filtering proxy's; without it a sandbox reaches nothing else
    mcp: NotRequired[McpServer]
    mcp_socket: NotRequired[str]  # for a sandbox: a Unix socket that serves /mcp alone; outside, the URL is used
    hidden: NotRequired[list[str]]  # never reachable inside, whatever else is: the data directory
    agents: NotRequired[dict[str, CustomAgent]]
    setup: NotRequired[SetupScript]  # before the first prompt, until it has succeeded once
    model: NotRequired[str | None]  # the model to ask for; else the agent's default


def digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()

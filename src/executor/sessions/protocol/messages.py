"""The messages between daemon and executor process, in their wire form."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

PermissionMode = Literal["default", "acceptEdits", "plan", "bypassPermissions"]
SET_UP: Literal["set_up"] = "set_up"  # the progress of a task whose set-up script has succeeded
Status = Literal["completed", "failed", "cancelled"]
EventType = Literal[
    "user_message", "text", "thought", "tool_call", "plan", "usage", "mode", "commands", "options", "notice", "unknown"
]  # fmt: skip

# -- daemon to executor process ---------------------------------------------


class Pong(TypedDict):
    pong: Literal[True]
    timestamp: str


class ExecutePrompt(TypedDict):
    """`stream`: report text and thoughts as they grow, not only whole. `tools`: empty means all of the agent's."""

    session_token: str
    session_id: str
    task_id: str
    agentic_tool: str
    prompt: str
    cwd: str
    tools: NotRequired[list[str]]
    permission_mode: NotRequired[PermissionMode]
    timeout_ms: NotRequired[int]
    stream: NotRequired[bool]
    resume: NotRequired[str | None]  # the agent's own session, as `PromptResult.agent_session` named it
    denials: NotRequired[list[str]]  # why earlier requests of the agent were denied; it reads them with the prompt


class TokenUsage(TypedDict):
    """As the agent reports it. The model proxy's own count is the one that is billed."""

    input: int
    output: int
    cache_read: int
    cache_write: int


class Failure(TypedDict):
    message: str
    code: str


class PromptResult(TypedDict):
    status: Status
    message_count: int
    token_usage: NotRequired[TokenUsage]
    error: NotRequired[Failure]
    stop_reason: NotRequired[str]
    agent_session: NotRequired[str]
    resumed: NotRequired[bool]  # whether the agent itself remembers what came before


class StopTask(TypedDict):
    session_token: str
    task_id: str
    reason: NotRequired[str]


class Stopped(TypedDict):
    """`how` is the step of the ladder that was needed; `absent` that no process of the agent is left."""

    stopped: bool
    how: Literal["idle", "cancelled", "terminated", "killed"]
    absent: bool


class SpawnTerminal(TypedDict):
    session_token: str
    cwd: str
    shell: NotRequired[str]
    env: NotRequired[dict[str, str]]
    cols: NotRequired[int]
    rows: NotRequired[int]


class SpawnedTerminal(TypedDict):
    """The descriptor of the terminal comes with this answer."""

    terminal_id: str
    pty_pid: int


class TerminateTerminal(TypedDict):
    session_token: str
    terminal_id: str


class Shutdown(TypedDict):
    session_token: str
    reason: NotRequired[str]
    timeout_ms: NotRequired[int]


# -- executor process to daemon ---------------------------------------------


class GetApiKey(TypedDict):
    session_token: str
    service: Literal["anthropic", "openai", "gemini"]


class ApiKey(TypedDict):
    """A virtual key: worth nothing but at `base_url`, and there only for this session."""

    api_key: str
    base_url: str
    expires_at: str


class RequestPermission(TypedDict):
    """No timeout: it is answered, or the connection ends, and then the answer is no."""

    session_token: str
    task_id: str
    tool_name: str  # agent.bash, agent.edit, agent.read …
    tool_input: dict[str, Any]
    tool_call_id: NotRequired[str]
    title: NotRequired[str]
    cwd: NotRequired[str]
    diffs: NotRequired[list[dict[str, Any]]]


class Permission(TypedDict):
    approved: bool
    reason: NotRequired[str]
    scope: NotRequired[Literal["once", "session", "always"]]


class ReportMessage(TypedDict):
    """A notification. `event_data["id"]` is the id of what it reports: a later message with the same id replaces it."""

    session_token: str
    task_id: str
    sequence: int
    timestamp: str
    event_type: EventType
    event_data: dict[str, Any]


class ReportProgress(TypedDict):
    session_token: str
    task_id: str
    state: Literal["starting", "set_up", "running", "waiting", "stopping", "idle"]
    detail: NotRequired[str]


class ReportError(TypedDict):
    session_token: str
    task_id: NotRequired[str]
    code: str
    message: str
    hint: NotRequired[str]


class TerminalEnded(TypedDict):
    """A notification. `code` is negative for a signal, None if it is unknown."""

    session_token: str
    terminal_id: str
    code: int | None

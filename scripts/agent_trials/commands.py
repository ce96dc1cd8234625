"""How the model of each agent asks for a command, and which model that is."""

from __future__ import annotations

from client_trials.script import Turn

SHELLS = {
    "claude-code": ("Bash", "command", {"description": "a trial"}),
    "codex": ("exec_command", "cmd", {"sandbox_permissions": "require_escalated", "justification": "a trial"}),
    "gemini": ("run_shell_command", "command", {"description": "a trial"}),
    "opencode": ("bash", "command", {"description": "a trial"}),
}
MODELS = {"claude-code": "claude-sonnet-4-5", "codex": "gpt-5.1-codex", "gemini": "gemini-2.5-pro", "opencode": "fake"}


def plan_command(agent: str, command: str) -> Turn:
    tool, argument, rest = SHELLS[agent]
    return Turn(tool, {argument: command, **rest})

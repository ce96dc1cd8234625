"""The agents that are known by name. Versions are pinned: their adapters change every few days."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from executor.errors import AgentUnavailable
from executor.sessions.agents.agent import Agent, Start
from executor.sessions.protocol.host_settings import CustomAgent

_PROVIDER = "executor"


def _claude_environment(start: Start) -> dict[str, str]:
    model = start.access.model
    names = ("ANTHROPIC_MODEL", "ANTHROPIC_SMALL_FAST_MODEL", "ANTHROPIC_DEFAULT_HAIKU_MODEL") if model else ()
    return {
        "ANTHROPIC_BASE_URL": start.access.origin,
        "ANTHROPIC_API_KEY": start.access.api_key,
        "CLAUDE_CONFIG_DIR": f"{start.home}/.claude",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "ENABLE_TOOL_SEARCH": "false",
        **dict.fromkeys(names, model),
    }


def _claude_meta(start: Start) -> dict[str, Any]:
    """Nothing of the working directory is read as settings, and its own sandbox stays off inside ours."""
    options = {
        "settingSources": [],
        "strictMcpConfig": True,
        "promptSuggestions": False,
        "allowDangerouslySkipPermissions": start.mode == "bypassPermissions",
    }
    return {"claudeCode": {"options": options}}


def _claude_folder(cwd: str) -> str:
    return f".claude/projects/{re.sub('[^a-zA-Z0-9]', '-', cwd)}"


def _codex_environment(start: Start) -> dict[str, str]:
    config = {
        "model_provider": _PROVIDER,
        "model_providers": {
            _PROVIDER: {
                "name": "Executor",
                "base_url": f"{start.access.origin}/v1",
                "env_key": "CODEX_API_KEY",
                "wire_api": "responses",
                "supports_websockets": False,
            }
        },
        **({"model": start.access.model} if start.access.model else {}),
        "analytics": {"enabled": False},
        "check_for_update_on_startup": False,
        "shell_environment_policy": {"inherit": "all", "ignore_default_excludes": False},
    }
    return {
        "CODEX_HOME": f"{start.home}/.codex",
        "CODEX_API_KEY": start.access.api_key,
        "CODEX_CONFIG": json.dumps(config),
        "MODEL_PROVIDER": _PROVIDER,
        "INITIAL_AGENT_MODE": CODEX_MODES[start.mode],
    }


def _gemini_environment(start: Start) -> dict[str, str]:
    return {
        "GEMINI_API_KEY": start.access.api_key,
        "GOOGLE_GEMINI_BASE_URL": start.access.origin,
        "GEMINI_CLI_HOME": start.home,
        "GEMINI_CLI_NO_RELAUNCH": "true",
        "GEMINI_TELEMETRY_ENABLED": "false",
        "GEMINI_SANDBOX": "false",
        **({"GEMINI_MODEL": start.access.model} if start.access.model else {}),
    }


def _gemini_files(start: Start) -> dict[str, str]:
    settings = {
        "mcp": {"allowed": [start.mcp]},  # ours alone, and without asking: it asks itself
        "general": {"enableAutoUpdate": False, "disableAutoUpdate": True},
        "privacy": {"usageStatisticsEnabled": False},
        "security": {"auth": {"selectedType": "gemini-api-key"}},
    }
    return {".gemini/settings.json": json.dumps(settings)}


def _opencode_environment(start: Start) -> dict[str, str]:
    model = start.access.model or "default"
    entry = {"name": model, "tool_call": True, "limit": {"context": 200_000, "output": 32_000}}
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Executor",
        "options": {"baseURL": f"{start.access.origin}/v1", "apiKey": start.access.api_key},
        "models": {model: entry},
    }
    config = {
        "provider": {_PROVIDER: provider},
        "model": f"{_PROVIDER}/{model}",
        "small_model": f"{_PROVIDER}/{model}",
        "autoupdate": False,
        "share": "disabled",
    }
    names = ("PROJECT_CONFIG", "AUTOUPDATE", "SHARE", "CLAUDE_CODE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS")
    return {
        "OPENCODE_CONFIG_CONTENT": json.dumps(config),
        "OPENCODE_PERMISSION": json.dumps({**OPENCODE_PERMISSIONS[start.mode], f"{start.mcp}_*": "allow"}),
        "OPENCODE_PURE": "1",
        **{f"OPENCODE_DISABLE_{name}": "1" for name in names},
    }


CODEX_MODES = {
    "plan": "read-only",
    "default": "read-only",  # `agent` lets a model decide what `workspace-write` would ask a person
    "acceptEdits": "workspace-write",
    "bypassPermissions": "agent-full-access",
}
OPENCODE_PERMISSIONS: dict[str, dict[str, str]] = {
    "plan": {"*": "ask", "edit": "deny", "bash": "deny", "webfetch": "deny"},
    "default": {"*": "ask"},
    "acceptEdits": {"*": "ask", "edit": "allow"},
    "bypassPermissions": {"*": "allow"},
}
_CLAUDE_MANAGED = json.dumps({"disableAllHooks": True, "cleanupPeriodDays": 36500})

AGENTS: dict[str, Agent] = {
    agent.name: agent
    for agent in (
        Agent(
            name="claude-code",
            title="Claude Code",
            service="anthropic",
            package="@agentclientprotocol/claude-agent-acp",
            version="0.99.1",
            program="claude-agent-acp",
            modes={
                "plan": "plan",
                "default": "default",
                "acceptEdits": "acceptEdits",
                "bypassPermissions": "bypassPermissions",
            },
            environment=_claude_environment,
            meta=_claude_meta,
            managed_files={"/etc/claude-code/managed-settings.json": _CLAUDE_MANAGED},
            masked=(".claude/settings.json", ".claude/settings.local.json", ".claude/hooks/", ".mcp.json"),
            loaded=(".claude/settings.json", ".claude/settings.local.json"),
            kept_in=_claude_folder,
            node=22,
        ),
        Agent(
            name="codex",
            title="Codex",
            service="openai",
            package="@agentclientprotocol/codex-acp",
            version="2.6.0",
            program="codex-acp",
            modes=CODEX_MODES,
            environment=_codex_environment,
            files=lambda _: {".codex/.keep": ""},
            masked=(".codex/", ".agents/"),
            loaded=(".codex",),
            nested_namespaces=True,
            plan_is_ours=True,
            node=20,
        ),
        Agent(
            name="gemini",
            title="Gemini CLI",
            service="gemini",
            package="@google/gemini-cli",
            version="0.61.0",
            program="gemini",
            arguments=("--acp", "--skip-trust"),
            modes={"plan": "plan", "default": "default", "acceptEdits": "autoEdit", "bypassPermissions": "yolo"},
            environment=_gemini_environment,
            files=_gemini_files,
            masked=(".gemini/", ".env"),
            loaded=(".gemini", ".env"),
            auth_method="gemini-api-key",
            continues="never",
            node=20,
        ),
        Agent(
            name="opencode",
            title="OpenCode",
            service="openai",
            package="opencode-ai",
            version="1.18.33",
            program="opencode",
            arguments=("acp",),
            modes={"plan": "plan", "default": "build", "acceptEdits": "build", "bypassPermissions": "build"},
            environment=_opencode_environment,
            masked=("opencode.json", "opencode.jsonc", ".opencode/"),
            loaded=(".opencode",),
            continues="load",
            moves=False,
        ),
        Agent(
            name="fake",
            title="Scripted agent",
            service=None,
            command=("{python}", "-I", "-S", "-c", (Path(__file__).parent / "fake" / "agent.py").read_text()),
            modes={
                "plan": "plan",
                "default": "default",
                "acceptEdits": "acceptEdits",
                "bypassPermissions": "bypassPermissions",
            },
            environment=lambda start: {
                "FAKE_AGENT_KEY": start.access.api_key,
                "FAKE_AGENT_ORIGIN": start.access.origin,
            },
            continues="load",
        ),
    )
}


def find_agent(name: str, configured: Mapping[str, CustomAgent]) -> Agent:
    if (found := AGENTS.get(name)) is not None:
        return found
    if name in configured:
        return _custom(name, configured[name])
    raise AgentUnavailable(f"there is no agent {name!r}", hint=f"choose one of {', '.join((*AGENTS, *configured))}")


def list_agents(configured: Mapping[str, CustomAgent]) -> list[Agent]:
    return [*AGENTS.values(), *(_custom(name, entry) for name, entry in configured.items())]


def _custom(name: str, entry: CustomAgent) -> Agent:
    def environment(start: Start) -> dict[str, str]:
        access = start.access
        values = {"api_key": access.api_key, "base_url": access.origin, "model": access.model, "home": start.home}
        found = dict(entry.get("env", {}))
        for mark, value in values.items():
            found = {key: text.replace(f"{{{mark}}}", value) for key, text in found.items()}
        return found

    return Agent(
        name=name,
        title=entry.get("title", name),
        service=entry.get("service"),
        package=entry.get("package", ""),
        installer=entry.get("installer", "npm"),
        version=entry.get("version", ""),
        arguments=entry.get("arguments", ()),
        command=entry.get("command", ()),
        readable=entry.get("readable", ()),
        modes=entry.get("modes", {"default": "default"}),
        environment=environment,
        masked=entry.get("masked", ()),
        loaded=entry.get("loaded", ()),
        auth_method=entry.get("auth_method", ""),
        continues="resume" if entry.get("resumes", True) else "never",
    )

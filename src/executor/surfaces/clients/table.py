"""The clients that are known. `executor connect`, `/v1/clients`, the web UI and docs/connect.md are made from this."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any, Final, Literal

from executor.dataclass import dataclass

CALL_SECONDS: Final = 120  # an answer comes after 50 seconds at the latest

Table = dict[str, Any]
Root = Literal["home", "xdg", "application"]


@dataclass(frozen=True, slots=True)
class McpClient:
    """`key` is the member of its file that holds the servers. `settings` belong to an entry beside the server itself,
    and stay as the user has set them. `url` is what it calls the address of a server over HTTP; empty if it has none.
    """

    id: str
    name: str
    root: Root
    file: str
    key: str
    url: str = "url"
    types: tuple[str, str] | None = None
    headers: str = "headers"
    settings: Table = field(default_factory=dict)
    aliases: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    variable: str = ""  # of a directory that takes the place of the root
    variable_file: str = ""
    others: tuple[str, ...] = ()  # files that are used instead if they exist
    is_toml: bool = False
    is_one_command: bool = False
    note: str = ""

    def stdio_entry(self, command: Sequence[str]) -> Table:
        start: Table = {"command": list(command)} if self.is_one_command else _start(command)
        return {**({"type": self.types[0]} if self.types else {}), **start, **self.settings}

    def http_entry(self, url: str, headers: Table) -> Table | None:
        if not self.url:
            return None
        kind = {"type": self.types[1]} if self.types else {}
        return {**kind, self.url: url, self.headers: headers, **self.settings}

    @property
    def transport_keys(self) -> frozenset[str]:
        """What says how the server is reached; the rest of an entry may be the user's."""
        return frozenset({"type", "command", "args", self.url, self.headers} - {""})

    @property
    def place(self) -> str:
        """The usual file on Linux, as people write it."""
        return {"home": "~/", "xdg": "~/.config/", "application": "~/.config/"}[self.root] + self.file

    def find_file(self, environ: Mapping[str, str] = os.environ) -> Path:
        """The file that this client reads on this machine, or would read."""
        named = environ.get(self.variable) if self.variable else None
        usual = Path(named) / self.variable_file if named else _root(self.root, environ) / self.file
        instead = [usual.with_name(name) for name in self.others]
        return next((path for path in instead if path.exists()), usual)

    def is_present(self, environ: Mapping[str, str] = os.environ) -> bool:
        """It has left traces here, or can be started."""
        file = self.find_file(environ)
        if file.exists() or (file.parent.is_dir() and file.parent != _home(environ)):
            return True
        return any(shutil.which(program, path=environ.get("PATH")) for program in self.programs)


def _start(command: Sequence[str]) -> Table:
    return {"command": command[0], "args": list(command[1:])}


def _home(environ: Mapping[str, str]) -> Path:
    return Path(environ.get("HOME") or Path.home())


def _root(root: Root, environ: Mapping[str, str]) -> Path:
    home = _home(environ)
    if root == "home":
        return home
    if root == "application" and sys.platform == "darwin":
        return home / "Library" / "Application Support"
    return Path(environ.get("XDG_CONFIG_HOME") or home / ".config")


CLIENTS: Final = (
    McpClient(
        "claude-code", "Claude Code", "home", ".claude.json", "mcpServers",
        types=("stdio", "http"), aliases=("claude",), programs=("claude",),
        variable="CLAUDE_CONFIG_DIR", variable_file=".claude.json",
        note='Claude Code itself asks you before each call. To leave the decision to Executor, add `"mcp__executor"` '
        "to `permissions.allow` in `~/.claude/settings.json`. `executor connect claude` is the same, with an agent "
        "named `claude`.",
    ),
    McpClient(
        "codex", "Codex", "home", ".codex/config.toml", "mcp_servers",
        headers="http_headers", is_toml=True, programs=("codex",),
        settings={"tool_timeout_sec": CALL_SECONDS, "default_tools_approval_mode": "approve"},
        variable="CODEX_HOME", variable_file="config.toml",
        note="With `default_tools_approval_mode`, Codex does not ask before a call; Executor asks you where your "
        "policies require it. Without it, `codex exec` refuses calls that it can't ask about.",
    ),
    McpClient(
        "cursor", "Cursor", "home", ".cursor/mcp.json", "mcpServers", programs=("cursor",),
        note="For one project only: `--file .cursor/mcp.json`. The web UI has a link that installs it.",
    ),
    McpClient(
        "vscode", "VS Code", "application", "Code/User/mcp.json", "servers",
        types=("stdio", "http"), programs=("code",),
        note="For one workspace only: `--file .vscode/mcp.json`. The web UI has a link that installs it.",
    ),
    McpClient(
        "gemini", "Gemini CLI", "home", ".gemini/settings.json", "mcpServers",
        url="httpUrl", settings={"timeout": CALL_SECONDS * 1000, "trust": True}, programs=("gemini",),
        variable="GEMINI_CLI_HOME", variable_file=".gemini/settings.json",
        note="With `trust`, Gemini does not ask before a call; Executor asks you where your policies require it. "
        "Without it, Gemini offers no tools when it runs without a terminal.",
    ),
    McpClient(
        "opencode", "OpenCode", "xdg", "opencode/opencode.json", "mcp",
        types=("local", "remote"), settings={"enabled": True}, programs=("opencode",), is_one_command=True,
        variable="OPENCODE_CONFIG_DIR", variable_file="opencode.json", others=("opencode.jsonc",),
        note="If `opencode.jsonc` exists, that file is used.",
    ),
    McpClient(
        "zed", "Zed", "xdg", "zed/settings.json", "context_servers", programs=("zed", "zeditor"),
        note="Zed itself asks before each call, unless its settings allow them.",
    ),
    McpClient(
        "windsurf", "Windsurf", "home", ".codeium/windsurf/mcp_config.json", "mcpServers",
        url="serverUrl", programs=("windsurf",),
    ),
    McpClient(
        "claude-desktop", "Claude Desktop", "application", "Claude/claude_desktop_config.json", "mcpServers",
        url="", aliases=("desktop",),
        note="On macOS the file is in `~/Library/Application Support/Claude`. `executor connect claude-desktop "
        "--bundle FILE` creates an extension instead, which you open with Claude Desktop.",
    ),
)  # fmt: skip


def find_client(name: str) -> McpClient | None:
    """By its id or an older name of it."""
    return next((one for one in CLIENTS if name == one.id or name in one.aliases), None)

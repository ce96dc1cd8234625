"""`executor connect` finds the files of clients, changes them, checks that it works, and takes everything back."""

from __future__ import annotations

import json
import os
import re
import shlex
import stat
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from executor.surfaces.cli.client_files.edit import Entry, command_in
from executor.surfaces.clients.server_json import server_json
from executor.surfaces.clients.table import CLIENTS, McpClient
from tests.surfaces.cli.conftest import Cli
from tests.surfaces.cli.test_call import read_until, terminal

TOKEN = re.compile(r"exa_[A-Za-z0-9_-]{43}")
STUBS = {
    "claude-code": '{"numStartups": 3, "mcpServers": {"x": {"type": "stdio", "command": "y"}}, "projects": {}}',
    "codex": 'model = "m" # mine\n\n[mcp_servers.x]\ncommand = "y"\nenv = { KEY = "canary-key" }\n',
    "cursor": '{\n  "mcpServers": {}\n}\n',
    "vscode": '{\n\t// mine\n\t"servers": {\n\t\t"x": {"url": "http://x"}, // of x\n\t},\n\t"inputs": [],\n}\n',
    "gemini": '{"theme": "dark"}',
    "opencode": '{\r\n  // mine\r\n  "model": "m",\r\n}\r\n',
    "zed": '// Zed settings\n//\n{\n  // mine\n  "theme": {\n    "mode": "dark",\n  },\n}\n',
    "windsurf": "",
    "claude-desktop": "{}",
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Of someone who uses all of them."""
    for client in CLIENTS:
        path = file_of(client, tmp_path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(STUBS[client.id].encode())
    return tmp_path


def environment(home: Path) -> dict[str, str]:
    return {"HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config")}


def file_of(client: McpClient, home: Path) -> Path:
    return client.find_file({**environment(home), "PATH": ""})


def contents(home: Path) -> dict[str, bytes]:
    return {one.id: file_of(one, home).read_bytes() for one in CLIENTS}


def test_all_clients_are_connected_checked_and_put_back(shared: Cli, home: Path) -> None:
    before = contents(home)
    done = shared("connect", "--all", "--yes", "--json", **environment(home))
    assert done.code == 0, done.err
    items = {one["client"]: one for one in done.json["items"]}
    assert list(items) == [one.id for one in CLIENTS]
    for client in CLIENTS:
        one, text = items[client.id], file_of(client, home).read_text()
        assert (one["change"], one["agent"], one["transport"]) == ("added", client.id, "stdio")
        assert one["check"] == {"ok": True, "tools": ["execute", "resume"], "problem": None}
        assert Path(one["backup"]).read_bytes() == before[client.id]
        entry = Entry(client).read(text)
        assert entry is not None and command_in(entry)[-6:-4] == ["--agent", client.id]
    assert not TOKEN.search(done.out + done.err) and "canary-key" not in done.out + done.err
    written = contents(home)
    again = shared("connect", "--all", "--yes", "--json", **environment(home))
    assert [one["change"] for one in again.json["items"]] == ["none"] * len(CLIENTS)
    assert contents(home) == written
    removed = shared("connect", "--all", "--remove", "--yes", **environment(home))
    assert removed.code == 0, removed.err
    assert contents(home) == before


def test_over_http_the_token_is_in_the_file_alone_and_the_file_is_private(shared: Cli, home: Path) -> None:
    for client in [one for one in CLIENTS if one.id in ("codex", "vscode", "claude-desktop")]:
        path = file_of(client, home)
        path.chmod(0o644)
        done = shared("connect", client.id, "--http", "--yes", "--agent", "tokens", **environment(home))
        if not client.url:
            assert done.code != 0 and "stdio only" in done.err
            continue
        assert done.code == 0, done.err
        assert not TOKEN.search(done.out + done.err)
        assert TOKEN.search(path.read_text()) and stat.S_IMODE(path.stat().st_mode) == 0o600
        assert shared("connect", client.id, "--remove", "--yes", **environment(home)).code == 0
        assert path.read_bytes() == STUBS[client.id].encode() and stat.S_IMODE(path.stat().st_mode) == 0o644


def test_one_that_can_not_be_changed_does_not_stop_the_others(shared: Cli, home: Path) -> None:
    codex, gemini = (home / ".codex/config.toml"), (home / ".gemini/settings.json")
    codex.write_text("model = ")
    gemini.write_text('{"mcpServers": {"executor": {"command": "npx", "args": ["executor"]}}}')
    before = contents(home)
    done = shared("connect", "--all", "--yes", "--json", **environment(home))
    assert done.code == 1
    failed = {one["client"]: one["error"] for one in done.json["items"] if "error" in one}
    assert {name: error["code"] for name, error in failed.items()} == {"codex": "invalid_request", "gemini": "conflict"}
    assert codex.read_text() == "model = " and gemini.read_bytes() == before["gemini"]
    named = shared("connect", "gemini", "--name", "executor-2", "--yes", **environment(home))
    assert named.code == 0, named.err
    assert list(json.loads(gemini.read_text())["mcpServers"]) == ["executor", "executor-2"]


def test_without_a_terminal_nothing_is_changed_without_yes(shared: Cli, home: Path) -> None:
    before = contents(home)
    printed = shared("connect", "codex", **environment(home))
    assert printed.code == 0 and printed.out.startswith("[mcp_servers.executor]")
    assert printed.out == shared("connect", "codex", "--print", **environment(home)).out
    for words in (["--all"], ["codex", "--remove"]):
        shared("connect", "codex", "--yes", **environment(home))
        refused = shared("connect", *words, "--json", **environment(home))
        assert refused.code != 0 and "consent_required" in refused.out
        shared("connect", "codex", "--remove", "--yes", **environment(home))
    assert contents(home) == before


def test_the_agent_of_an_entry_is_kept_and_a_revoked_one_is_created_again(shared: Cli, home: Path) -> None:
    assert shared("connect", "codex", "--agent", "mine", "--yes", **environment(home)).code == 0
    again = shared("connect", "codex", "--yes", "--json", **environment(home)).json
    assert (again["agent"], again["change"]) == ("mine", "none")
    [agent] = [one for one in shared("agents", "list", "--json").json["items"] if one["name"] == "mine"]
    assert shared("agents", "revoke", agent["id"]).code == 0
    mended = shared("connect", "codex", "--yes", "--json", **environment(home)).json
    assert mended["change"] == "none" and mended["check"]["ok"]
    assert shared("call", "return 1", EXECUTOR_TOKEN=(shared.data_dir / "agents/mine.token").read_text()).code == 0


def test_a_server_that_does_not_work_is_reported_with_the_reason(shared: Cli, home: Path) -> None:
    assert shared("connect", "codex", "--yes", **environment(home)).code == 0
    path = home / ".codex/config.toml"
    path.write_text(path.read_text() + "\n[mcp_servers.executor.env]\nEXECUTOR_HTTP_LIMITS = 'no'\nPYTHONHOME = '/x'\n")
    done = shared("connect", "codex", "--yes", "--json", **environment(home))
    assert done.code == 1
    assert done.json["check"]["ok"] is False and "ended with code" in done.json["check"]["problem"]


def test_a_file_of_a_project_is_changed_instead(shared: Cli, home: Path, tmp_path: Path) -> None:
    path = tmp_path / "project" / ".vscode" / "mcp.json"
    done = shared("connect", "vscode", "--file", str(path), "--yes", **environment(home))
    assert done.code == 0, done.err
    assert json.loads(path.read_text())["servers"]["executor"]["type"] == "stdio"
    assert shared("connect", "vscode", "--file", str(path), "--remove", "--yes", **environment(home)).code == 0
    assert not (tmp_path / "project").exists()


@dataclass(frozen=True)
class At(Cli):
    """With the daemon of another, and a home for the clients."""

    clients: Path = Path()

    @property
    def environment(self) -> dict[str, str]:
        return {**super().environment, **environment(self.clients)}


@pytest.mark.parametrize(("answer", "change"), [("y", True), ("n", False), ("", False)])
def test_in_a_terminal_the_change_is_shown_and_confirmed(shared: Cli, home: Path, answer: str, change: bool) -> None:
    path = home / ".cursor/mcp.json"
    with terminal(At(shared.home, home), "connect", "cursor") as (process, screen):
        assert '+    "executor": {' in read_until(screen, "change the file? [y/N]: ")
        os.write(screen, f"{answer}\n".encode())
        read_until(screen, "checked: it starts" if change else "nothing was changed")
        assert (process.wait(60) == 0) == change == ("executor" in path.read_text())


def test_the_bundle_starts_this_installation(shared: Cli, tmp_path: Path) -> None:
    file = tmp_path / "executor.mcpb"
    done = shared("connect", "claude-desktop", "--bundle", str(file), "--json")
    assert done.code == 0, done.err
    with zipfile.ZipFile(file) as archive:
        manifest: dict[str, Any] = json.loads(archive.read("manifest.json"))
        launcher = archive.read("server/executor").decode()
        assert archive.getinfo("server/executor").external_attr >> 16 & 0o777 == 0o755
    config = manifest["server"]["mcp_config"]
    assert shlex.split(launcher.splitlines()[1])[1:] == [config["command"], *config["args"]]
    assert config["args"][:3] == ["mcp", "--agent", "claude-desktop"] and os.access(config["command"], os.X_OK)
    assert {"manifest_version", "name", "version", "description", "author", "server"} <= manifest.keys()
    assert not TOKEN.search(launcher + json.dumps(manifest))
    assert shared("connect", "codex", "--bundle", str(file)).code != 0


def test_the_entry_for_a_registry_leads_to_this_daemon_and_has_no_token(shared: Cli, tmp_path: Path) -> None:
    """`scripts/try-openapi` validates it against the published schema."""
    file = tmp_path / "server.json"
    done = shared("connect", "--server-json", str(file), "--json")
    assert done.code == 0, done.err
    entry: dict[str, Any] = json.loads(file.read_text())
    assert json.loads(done.out)["server"] == entry
    [remote] = entry["remotes"]
    http = next(one for one in json.loads(shared("connect", "--json").out)["items"] if one["id"] == "other")["http"]
    assert remote["url"] == http.splitlines()[0]
    assert remote["headers"][0]["value"].format(token="YOUR_AGENT_TOKEN") in http
    assert "packages" not in entry and not TOKEN.search(file.read_text())
    assert shared("connect", "codex", "--server-json", str(file)).code == 2
    assert shared("connect", "--server-json", str(tmp_path), "--json").code != 0


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("http://127.0.0.1:8788", "localhost/executor"),
        ("http://[::1]:8788", "localhost/executor"),
        ("https://executor.example.com", "com.example.executor/executor"),
    ],
)
def test_a_registry_knows_a_daemon_by_its_host(address: str, name: str) -> None:
    entry = server_json(address)
    assert entry["name"] == name and entry["remotes"][0]["url"] == f"{address}/mcp"
    assert len(entry["description"]) <= 100


def test_contradicting_options_are_refused(shared: Cli) -> None:
    for words in (["codex", "--all"], ["--all", "--print"], ["--remove"], ["codex", "--remove", "--print"]):
        assert shared("connect", *words).code == 2
    for words in (["codex", "--name", "a b"], ["codex", "--name", ""], ["other", "--remove", "--yes"]):
        assert shared("connect", *words, "--json").code != 0

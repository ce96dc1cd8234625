"""`executor connect` and docs/connect.md: the texts work as they are, in an environment that has nothing of ours."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import tomllib
import urllib.request
from base64 import b64decode
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from executor.surfaces.clients.snippets import snippets
from tests.surfaces.cli import connect_page
from tests.surfaces.cli.conftest import Cli
from tests.surfaces.cli.connect_page import example

PAGE = connect_page.PAGE.read_text()
CLIENTS = [one.id for one in snippets(["executor", "mcp"], "http://127.0.0.1:8788")]
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}
CALL = {"jsonrpc": "2.0", "id": 2, "method": "tools/call"} | {
    "params": {"name": "execute", "arguments": {"code": "return 1"}}
}
RECORDER = '#!/bin/sh\nprintf "%s\\n" "$@" > "$RECORD"\n'


def record_arguments(text: str, folder: Path) -> list[str]:
    """What a program named `claude` is given when a shell runs the text."""
    program = folder / "claude"
    program.write_text(RECORDER)
    program.chmod(0o755)
    environment = {"PATH": f"{folder}:{os.environ['PATH']}", "RECORD": str(folder / "record")}
    subprocess.run(["/bin/sh", "-c", text], env=environment, check=True, timeout=60)
    return (folder / "record").read_text().splitlines()


def entry_in(text: str) -> dict[str, Any]:
    """The server that a text for a config file describes."""
    found = tomllib.loads(text)["mcp_servers"] if text.startswith("[") else next(iter(json.loads(text).values()))
    entry: dict[str, Any] = found["executor"]
    return entry


def command_in(client: str, text: str, folder: Path) -> list[str]:
    if client in ("claude", "claude-code"):
        words = record_arguments(text, folder)
        assert words[:5] == ["mcp", "add", "--scope", "user", "executor"]
        return words[words.index("--") + 1 :]
    if client == "other":
        return shlex.split(text)
    entry = entry_in(text)
    return entry["command"] if isinstance(entry["command"], list) else [entry["command"], *entry["args"]]


def address_and_token(client: str, text: str, folder: Path) -> tuple[str, str]:
    if client in ("claude", "claude-code"):
        words = record_arguments(text, folder)
        return words[words.index("executor") + 1], words[words.index("--header") + 1]
    if client == "other":
        address, header = text.splitlines()
        return address, header
    entry = entry_in(text)
    headers = entry.get("headers") or entry["http_headers"]
    return next(
        entry[key] for key in ("url", "httpUrl", "serverUrl") if key in entry
    ), f"Authorization: {headers['Authorization']}"


@pytest.mark.parametrize("client", [*CLIENTS, "claude", "desktop"])
def test_the_text_starts_a_server_that_acts_as_the_clients_own_agent(shared: Cli, client: str, tmp_path: Path) -> None:
    shown = shared("connect", client)
    assert shown.code == 0, shown.err
    assert "exa_" not in shown.out
    command = command_in(client, shown.out.strip(), tmp_path)
    lines = "".join(json.dumps(one) + "\n" for one in (HELLO, CALL))
    done = subprocess.run(command, env={}, input=lines, capture_output=True, text=True, timeout=120, check=False)
    answers = {answer["id"]: answer for answer in map(json.loads, done.stdout.splitlines())}
    assert answers[1]["result"]["serverInfo"]["name"] == "executor", done.stderr
    assert answers[2]["result"]["content"][0]["text"] == "1"
    newest = shared("executions", "list", "--limit", "1", "--json").json["items"][0]
    assert (newest["actor"], newest["through"]) == (client, "mcp")


@pytest.mark.parametrize("client", [one for one in CLIENTS if one != "claude-desktop"])
def test_the_text_for_http_has_an_address_and_a_token_that_work(shared: Cli, client: str, tmp_path: Path) -> None:
    shown = shared("connect", client, "--http", "--json").json
    address, header = address_and_token(client, shown["text"], tmp_path)
    name, _, value = header.partition(": ")
    headers = {name: value, "Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    request = urllib.request.Request(address, json.dumps(HELLO).encode(), headers)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=60) as answer:
        assert json.load(answer)["result"]["serverInfo"]["name"] == "executor"
    assert shown["agent"] == client
    assert (shared.data_dir / "agents" / f"{client}.token").read_text().strip() in header


def test_the_links_that_install_it_have_the_entry_and_no_token() -> None:
    command = ["/opt/executor", "mcp", "--data-dir", "/home/a b/ü"]
    shown = {one.id: one for one in snippets(command, "http://127.0.0.1:8788", "exa_secret")}
    assert {one.id for one in shown.values() if one.install} == {"cursor", "vscode"}
    cursor, vscode = (urlsplit(shown[name].install or "") for name in ("cursor", "vscode"))
    assert (cursor.scheme, vscode.scheme, vscode.path) == ("cursor", "vscode", "mcp/install")
    assert json.loads(b64decode(parse_qs(cursor.query)["config"][0])) == shown["cursor"].stdio_entry
    assert json.loads(unquote(vscode.query)) == {"name": "executor", **(shown["vscode"].stdio_entry or {})}
    assert not [one for one in snippets(None, "http://127.0.0.1:8788") if one.install or one.stdio_entry]


def test_connecting_again_gives_the_same_agent_and_after_a_revocation_a_new_token(shared: Cli) -> None:
    first, second = (shared("connect", "cursor", "--agent", "again", "--http", "--json").json for _ in range(2))
    assert first == second
    [agent] = [one for one in shared("agents", "list", "--json").json["items"] if one["name"] == "again"]
    assert shared("agents", "revoke", agent["name"]).code == 0
    third = shared("connect", "cursor", "--agent", "again", "--http", "--json").json
    assert third["text"] != first["text"]
    assert len([one for one in shared("agents", "list", "--json").json["items"] if one["name"] == "again"]) == 1


REFUSED = {
    ("nothing",): "not_found",
    ("desktop", "--http"): "not_found",
    ("claude", "--agent", "../operator"): "invalid_request",
    ("claude", "--agent", "a b"): "invalid_request",
    ("claude", "--agent", "shown-once"): "conflict",
    ("claude", "--agent", "agent"): "conflict",
}


def test_what_can_not_be_connected_is_refused_and_makes_no_agent(shared: Cli) -> None:
    shared("agents", "create", "shown-once")
    before = shared("agents", "list", "--json").json
    for arguments, code in REFUSED.items():
        refused = shared("connect", *arguments, "--json")
        assert refused.code != 0
        assert refused.json["error"]["code"] == code
        assert refused.json["error"]["hint"]
    assert shared("agents", "list", "--json").json == before


def test_the_clients_are_listed_with_where_their_text_belongs(shared: Cli) -> None:
    shown = shared("connect")
    assert [line.split()[0] for line in shown.out.splitlines()[1:]] == CLIENTS
    assert [one["id"] for one in shared("connect", "--json").json["items"]] == CLIENTS


def test_a_checkout_is_named_by_the_script_that_was_called(shared: Cli, tmp_path: Path) -> None:
    """By its whole path, also if it was called by a relative one."""
    from executor.settings import Settings
    from executor.surfaces.clients.snippets import bridge_command

    script = tmp_path / "executor"
    script.touch(mode=0o755)
    settings = Settings.load(shared.environment)
    relative = os.path.relpath(script)
    assert bridge_command(settings, environ={"EXECUTOR_PROGRAM": relative})[0] == str(Path(relative).absolute())
    for unusable in ("executor", "", str(tmp_path / "gone")):
        assert Path(bridge_command(settings, environ={"EXECUTOR_PROGRAM": unusable})[0]).is_file()


@pytest.mark.parametrize("name", ["a b", "it's", 'a"b', "ünï", "$HOME", "a\\b"])
def test_a_path_with_any_letters_is_the_same_path_in_every_text(name: str, tmp_path: Path) -> None:
    command = ["/opt/executor", "mcp", "--data-dir", f"/home/{name}/data"]
    for one in snippets(command, "http://127.0.0.1:8788"):
        assert one.stdio is not None
        assert command_in(one.id, one.stdio, tmp_path) == command, one.id


def test_the_page_is_made_from_the_table_of_clients() -> None:
    assert connect_page.read_page() == connect_page.render(), "run python -m tests.surfaces.cli.connect_page"


def test_every_text_on_the_page_is_one_that_is_printed() -> None:
    shown = re.findall(r"^```(?:sh|toml|json)\n(.*?)\n```$", PAGE, re.DOTALL | re.MULTILINE)
    known = {example(one, "stdio") for one in CLIENTS} | {example("claude-code", "http"), example("codex", "http")}
    assert len(shown) >= len(CLIENTS)
    for text in shown:
        assert text in known or all(line.startswith("executor ") for line in text.splitlines()), text


def test_every_command_on_the_page_runs(shared: Cli, tmp_path: Path) -> None:
    """Except those that need an id, a name or an approval; the tests below run them."""
    literal = [one for one in commands_on_the_page() if "…" not in one and not re.search(r"\b[A-Z]{2,}", one)]
    assert len(literal) >= len(CLIENTS)
    for one in literal:
        words = shlex.split(one)[1:]
        if words in (["mcp"], ["agents", "revoke"], ["call"]):
            words.append("--help")
        done = shared(*words, HOME=str(tmp_path), XDG_CONFIG_HOME=str(tmp_path / ".config"))
        assert done.code == 0, (one, done.err)


def commands_on_the_page() -> list[str]:
    blocks = re.findall(r"^```(?:sh)?\n(executor .*?)\n```$", PAGE, re.DOTALL | re.MULTILINE)
    named = re.findall(r"`(executor [^`]+)`", PAGE)
    return list(dict.fromkeys([line for block in blocks for line in block.splitlines()] + named))


def test_every_command_that_takes_a_name_runs_with_one(shared: Cli) -> None:
    named = [one for one in commands_on_the_page() if re.search(r"\bNAME\b", one)]
    assert len(named) >= 2
    for at, one in enumerate(named):
        done = shared(*shlex.split(one.replace("NAME", f"named-{at}"))[1:])
        assert done.code == 0, (one, done.err)
        [made] = [agent for agent in shared("agents", "list", "--json").json["items"] if agent["name"] == f"named-{at}"]
        assert shared("agents", "revoke", made["id"]).code == 0


def test_the_code_on_the_page_runs_pauses_and_is_decided_with_the_commands_on_the_page(shared: Cli) -> None:
    assert shared("sources", "add", "--demo").code == 0
    shown = shared("connect", "other", "--agent", "loop", "--http", "--json").json
    address, header = shown["text"].splitlines()
    name, _, value = header.partition(": ")
    headers = {name: value, "Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def call_tool(tool: str, **arguments: Any) -> tuple[str, dict[str, Any]]:
        body = {**CALL, "params": {"name": tool, "arguments": arguments}}
        with opener.open(urllib.request.Request(address, json.dumps(body).encode(), headers), timeout=60) as answer:
            result = json.load(answer)["result"]
        return result["content"][0]["text"], result["_meta"]["executor/execution"]

    discover, write = re.findall(r"^```ts\n(.*?)\n```$", PAGE, re.DOTALL | re.MULTILINE)
    assert "demo.refunds.createRefund" in call_tool("execute", code=discover)[0]
    text, execution = call_tool("execute", code=write)
    [asked] = shared("approvals", "list", "--execution-id", execution["executionId"], "--json").json["items"]
    assert asked["id"] in text and asked["url"] in text
    deciding = [one for one in commands_on_the_page() if "approvals" in one]
    assert deciding[-1].startswith("executor approvals approve")
    for one in deciding:
        done = shared(*shlex.split(one.replace("int_…", asked["id"]))[1:])
        assert done.code == 0, (one, done.err)
    assert '"amount":5' in call_tool("resume", executionId=execution["executionId"])[0].replace(" ", "")
    assert shared("sources", "remove", "demo").code == 0

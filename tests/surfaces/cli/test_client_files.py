"""The files of MCP clients are edited in place: our entry changes, and not a byte of anything else."""

from __future__ import annotations

import json
import os
import threading
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from executor.errors import Conflict, ExecutorError, InvalidRequest
from executor.surfaces.cli.client_files import json_text, toml_text
from executor.surfaces.cli.client_files.change import Target
from executor.surfaces.cli.client_files.edit import Entry
from executor.surfaces.cli.client_files.file import ClientFile
from executor.surfaces.cli.client_files.text import Unusable
from executor.surfaces.clients.table import CLIENTS, McpClient, find_client

COMMAND = ["/opt/executor", "mcp", "--agent", "a", "--data-dir", "/data"]
OURS = {"command": COMMAND[0], "args": COMMAND[1:]}
PATH = ("mcpServers", "executor")
TEXTS = {
    "empty": "",
    "comment only": "// mine\n",
    "empty object": "{}\n",
    "object over lines": "{\n}\n",
    "one line": '{"a":1}',
    "one line with spaces": '{"a": 1, "mcpServers": {}}',
    "usual": '{\n  "a": 1\n}\n',
    "tabs": '{\n\t"a": {\n\t\t"b": []\n\t}\n}',
    "trailing comma": '{\n    "a": 1, // of a\n    /* last */\n}\n',
    "comment after the last": '{\n  "mcpServers": {\n    "x": {"command": "y"} // of x\n  },\n  "z": [1, 2,]\n}\n',
    "windows": '{\r\n  "a": 1,\r\n  "mcpServers": {\r\n    "x": {}\r\n  }\r\n}\r\n',
    "comments that look like members": '{\n  // "mcpServers": {},\n  "a": "// no \\" comment"\n}\n',
    "first and last": '{\n  "mcpServers": { "x": {} },\n  "b": null\n}',
}


def client(name: str) -> McpClient:
    found = find_client(name)
    assert found is not None
    return found


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_json_keeps_everything_around_the_entry(text: str) -> None:
    before = json_text.read(text)
    edited = json_text.put(text, PATH, OURS)
    assert json_text.read(edited)["mcpServers"]["executor"] == OURS
    assert json_text.put(edited, PATH, OURS) == edited
    letters = iter(edited)
    assert all(letter in letters for letter in text)  # only insertions
    assert ("\r\n" in text) == ("\r\n" in edited)
    left = json_text.remove(edited, PATH)
    expected = {**before, "mcpServers": before.get("mcpServers", {})}
    assert json_text.read(left) == expected
    if "mcpServers" in before:
        assert left == text


WRONG = ["{", '{"a" 1}', '{"a": 1} x', "[1]", '{"a": 01}', '{"a": "\n"}', "{a: 1}", '{"a": 1 "b": 2}', "[" * 3000]


@pytest.mark.parametrize("text", WRONG, ids=range(len(WRONG)))
def test_malformed_json_is_refused_with_the_place(text: str) -> None:
    with pytest.raises(Unusable):
        json_text.put(text, PATH, OURS)


def test_members_that_are_there_twice_are_refused() -> None:
    with pytest.raises(Unusable, match="two members"):
        json_text.put('{"mcpServers": {}, "mcpServers": {}}', PATH, OURS)


VALUES: Any = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 10**6) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.dictionaries(st.text(max_size=6), VALUES, max_size=4),
    st.dictionaries(st.text(max_size=6), VALUES, max_size=3),
    st.sampled_from([None, 1, 4, "\t"]),
    st.booleans(),
)
def test_any_json_keeps_its_values_and_comes_back(
    data: dict[str, Any], servers: dict[str, Any], indent: int | str | None, ascii_only: bool
) -> None:
    servers.pop("executor", None)
    text = json.dumps({**data, "mcpServers": servers}, indent=indent, ensure_ascii=ascii_only)
    edited = json_text.put(text, PATH, OURS)
    assert json.loads(edited) == {**data, "mcpServers": {**servers, "executor": OURS}}
    assert json_text.remove(edited, PATH) == text
    assert "secret" not in json_text.mask(json_text.put(text, ("t",), "secret"), PATH, frozenset())


TOML = {
    "empty": "",
    "no line end": "a = 1",
    "usual": '# mine\nmodel = "x" # of model\n\n[mcp_servers.other]\ncommand = "y"\n# last\n',
    "text that looks like ours": "a = \"\"\"\n[mcp_servers.executor]\ncommand = 1\n\"\"\"\nb = '''\n# no\n'''\n",
    "arrays over lines": 'a = [ # one\n  "]", # two\n  [1, 2],\n]\n\n[[list]]\nx = {y = "}"}\n',
    "windows": "a = 1\r\n\r\n[b]\r\nc = 2\r\n",
}


@pytest.mark.parametrize("text", TOML.values(), ids=TOML)
def test_toml_keeps_everything_around_the_table(text: str) -> None:
    edited = toml_text.put(text, ("mcp_servers", "executor"), OURS)
    assert edited.startswith(text)
    assert tomllib.loads(edited)["mcp_servers"]["executor"] == OURS
    assert toml_text.put(edited, ("mcp_servers", "executor"), OURS) == edited
    assert toml_text.remove(edited, ("mcp_servers", "executor")).rstrip("\n") == text.rstrip("\n")


def test_a_toml_table_keeps_the_keys_and_comments_of_its_user() -> None:
    text = (
        'top = 1\n[mcp_servers.executor]\n# why\ncommand = "old" # of command\nmine = [\n  1, # one\n]\n'
        'args = []\n[mcp_servers.executor.env]\nA = "b"\n\n# of next\n[next]\n'
    )
    edited = toml_text.put(text, ("mcp_servers", "executor"), {**OURS, "new": 2}, frozenset({"gone"}))
    assert edited == text.replace('"old"', '"/opt/executor"').replace(
        "args = []\n", f"args = {json.dumps(COMMAND[1:])}\nnew = 2\n"
    )
    assert toml_text.remove(edited, ("mcp_servers", "executor")) == "top = 1\n\n# of next\n[next]\n"


INLINE = [
    'mcp_servers = { other = { command = "x" } }\n',
    'mcp_servers.executor.command = "x"\n',
    '[mcp_servers]\nexecutor = { command = "x" }\n',
    "mcp_servers = 3\n",
    "a = \n",
]


@pytest.mark.parametrize("text", INLINE, ids=range(len(INLINE)))
def test_toml_that_is_written_otherwise_is_refused(text: str) -> None:
    with pytest.raises(Unusable):
        Entry(client("codex")).put(text, OURS)


def target(path: Path, name: str = "cursor", server: str = "executor") -> Target:
    return Target(Entry(client(name), server), path, path.parent / "kept")


def connect(path: Path, entry: dict[str, Any] = OURS, **options: Any) -> str:
    return target(path, **options).connect(entry, is_secret=False).word


@pytest.mark.parametrize("content", [b"", b"{}", b'\xef\xbb\xbf{\r\n "a": "\xc3\xbc" // x\r\n}', b'{"mcpServers":{ }}'])
def test_what_was_is_restored_byte_for_byte(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "mcp.json"
    path.write_bytes(content)
    path.chmod(0o640)
    assert [connect(path) for _ in range(2)] == ["added", "none"]
    assert path.stat().st_mode & 0o777 == 0o640
    assert connect(path, {**OURS, "args": [*COMMAND[1:], "--port", "1"]}) == "updated"
    assert target(path).backup is not None
    assert target(path).connect({"url": "u", "headers": {"Authorization": "Bearer exa_1"}}, is_secret=True)
    assert path.stat().st_mode & 0o777 == 0o600
    assert target(path).remove().word == "removed"
    assert path.read_bytes() == content
    assert path.stat().st_mode & 0o777 == 0o640
    assert list((tmp_path / "kept").iterdir()) == []
    assert target(path).remove().word == "none"


def test_a_file_that_was_not_there_is_removed_with_its_folders(tmp_path: Path) -> None:
    path = tmp_path / "new" / "deep" / "mcp.json"
    folder = tmp_path / "kept"
    fresh = Target(Entry(client("cursor")), path, folder)
    assert fresh.connect(OURS, is_secret=False).word == "added"
    assert path.stat().st_mode & 0o777 == 0o600
    fresh.remove()
    assert not (tmp_path / "new").exists()


def test_after_a_users_change_only_the_entry_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text('{\n  "a": 1\n}\n')
    connect(path)
    path.write_text(path.read_text().replace('"a": 1', '"a": 2 /* mine */'))
    target(path).remove()
    assert path.read_text() == '{\n  "a": 2 /* mine */\n}\n'


def test_what_the_user_set_in_the_entry_stays_and_the_other_transport_goes(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    mine = {**OURS, "trust": False, "env": {"A": "b"}, "timeout": 5}
    path.write_text(json.dumps({"mcpServers": {"executor": mine}}, indent=2))
    gemini = client("gemini")
    entry = gemini.http_entry("http://h/mcp", {"Authorization": "Bearer exa_x"})
    assert entry is not None
    change = target(path, "gemini").connect(entry, is_secret=True)
    found = json.loads(path.read_text())["mcpServers"]["executor"]
    assert found == {
        "trust": False, "env": {"A": "b"}, "timeout": 5,
        "httpUrl": "http://h/mcp", "headers": {"Authorization": "Bearer exa_x"},
    }  # fmt: skip
    assert "exa_x" not in change.diff and '"b"' not in change.diff and "httpUrl" in change.diff


REFUSED = {
    "not ours": '{"mcpServers": {"executor": {"command": "npx", "args": ["executor"]}}}',
    "malformed": '{"mcpServers": {',
    "not an object": '{"mcpServers": []}',
    "an entry that is no object": '{"mcpServers": {"executor": 1}}',
}


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_what_can_not_be_changed_safely_stays_as_it_is(tmp_path: Path, text: str) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(text)
    with pytest.raises(ExecutorError) as refused:
        connect(path)
    assert refused.value.hint
    if text == REFUSED["not an object"]:
        assert target(path).remove().word == "none"
    else:
        with pytest.raises(ExecutorError):
            target(path).remove()
    assert path.read_text() == text
    assert not (tmp_path / "kept").exists()


def test_files_that_are_no_files_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "latin").write_bytes(b'{"a": "\xff"}')
    for name in ("fifo", "folder", "loop", "latin"):
        with pytest.raises(InvalidRequest):
            connect(tmp_path / name)


def test_a_link_stays_a_link_and_its_target_is_changed(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "mcp.json"
    real.parent.mkdir()
    real.write_text("{}")
    link = tmp_path / "mcp.json"
    link.symlink_to("dotfiles/mcp.json")
    connect(link)
    assert link.is_symlink() and "executor" in real.read_text()
    target(link).remove()
    assert link.is_symlink() and real.read_text() == "{}"
    real.unlink()
    connect(link)
    assert link.is_symlink() and real.is_file()


def test_many_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text('{"a": 1}')
    names = [f"executor-{number}" for number in range(12)]
    threads = [threading.Thread(target=connect, args=(path,), kwargs={"server": name}) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert json.loads(path.read_text()) == {"a": 1, "mcpServers": dict.fromkeys(names, OURS)}
    for name in names:
        target(path, server=name).remove()
    assert path.read_text() == '{"a": 1}'


def test_a_change_by_the_client_meanwhile_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "mcp.json"
    path.write_text('{"a": 1}')
    put, changes = Entry.put, iter(['{"a": 2}', '{"a": 3}'])

    def change_first(self: Entry, text: str, entry: dict[str, Any]) -> str:
        if (content := next(changes, None)) is not None:
            path.write_text(content)
        return put(self, text, entry)

    monkeypatch.setattr(Entry, "put", change_first)
    connect(path)
    assert json.loads(path.read_text()) == {"a": 3, "mcpServers": {"executor": OURS}}
    endless = (json.dumps({"b": number}) for number in range(1000))
    monkeypatch.setattr(Entry, "put", lambda *given: (path.write_text(next(endless)), put(*given))[1])
    with pytest.raises(Conflict):
        connect(path, server="other")


def test_a_write_that_fails_leaves_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "mcp.json"
    path.write_text('{"a": 1}')

    def fail(*given: Any) -> None:
        raise OSError(28, "No space left on device")

    file = ClientFile.read(path)
    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(InvalidRequest, match="No space left"):
        file.replace(b"{}", is_secret=False)
    assert path.read_text() == '{"a": 1}' and [one.name for one in tmp_path.iterdir()] == ["mcp.json"]


def test_a_diff_shows_nothing_that_may_be_a_secret(tmp_path: Path) -> None:
    secrets = ["sk-1", "sk-2", "sk-3"]
    texts = {
        "cursor": '{"mcpServers": {"x": {"env": {"K": "sk-1"}, "args": ["sk-2"]}} /* sk-3 */}',
        "codex": '[mcp_servers.x]\nargs = ["sk-2"]\nenv = { K = "sk-1" } # sk-3\n',
    }
    for name, text in texts.items():
        path = tmp_path / name
        path.write_text(text)
        diff = target(path, name).plan_connecting(client(name).stdio_entry(COMMAND)).diff
        assert "/opt/executor" in diff
        assert not [one for one in secrets if one in diff]


def test_each_client_has_its_file_where_the_environment_says(tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path), "PATH": str(tmp_path / "bin")}
    for one in CLIENTS:
        assert one.find_file(home).is_relative_to(tmp_path)
        assert not one.is_present(home)
        if one.variable:
            elsewhere = {**home, one.variable: str(tmp_path / "elsewhere")}
            assert one.find_file(elsewhere) == tmp_path / "elsewhere" / one.variable_file
    assert client("zed").find_file({**home, "XDG_CONFIG_HOME": "/x"}) == Path("/x/zed/settings.json")
    (tmp_path / ".config/opencode").mkdir(parents=True)
    (tmp_path / ".config/opencode/opencode.jsonc").touch()
    assert client("opencode").find_file(home).name == "opencode.jsonc"
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/codex").touch(0o755)
    assert [one.id for one in CLIENTS if one.is_present(home)] == ["codex", "opencode"]

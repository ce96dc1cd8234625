"""From a sandbox, nothing of the daemon's HTTP interface can be reached but `/mcp`, however it is addressed."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.daemon import Daemon
from tests.support.sandbox import needs_sandbox
from tests.support.sessions import Session

pytestmark = needs_sandbox
PING = b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}'
REFUSED = ("400", "404", "405", "406", "415")
# Sends each request over a connection of its own, and prints everything that comes back.
SEND = """
import json, socket
from concurrent.futures import ThreadPoolExecutor
port, requests = json.load(open("requests.json"))
def send(request):
    with socket.create_connection(("127.0.0.1", port), timeout=100) as connection:
        connection.sendall(request.encode("latin-1"))
        parts = []
        while part := connection.recv(65536):
            parts.append(part.decode("latin-1"))
        return "".join(parts)
with ThreadPoolExecutor(8) as pool:
    answers = dict(zip(requests, pool.map(send, requests.values())))
json.dump(answers, open("answers.json", "w"))
"""


def requests_of(port: int, token: str) -> dict[str, bytes]:
    """The credential is the operator's: it would open everything."""
    common = f"Host: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n".encode()
    last = common + b"Connection: close\r\n"

    def get(target: str, more: bytes = b"") -> bytes:
        return f"GET {target} HTTP/1.1\r\n".encode() + last + more + b"\r\n"

    def ping(more: bytes, body: bytes = PING) -> bytes:
        json_ = b"Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
        return b"POST /mcp HTTP/1.1\r\n" + json_ + more + b"\r\n" + body

    length = b"Content-Length: %d\r\n" % len(PING)
    hidden = get("/v1/status")
    chunked = b"0\r\n\r\n" + hidden
    upgrade = b"Connection: Upgrade, close\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    upgrade += b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    plain = [
        "/v1/status", "/", "/healthz", "/v1/sessions", "/mcp/anonymous", "//mcp", "//v1/status", "/mcp/../v1/status",
        "/mcp/%2e%2e/v1/status", "/mcp%2f..%2fv1/status", "/mcp/..%2fv1/status", "/mcp;/../v1/status", "/mcp%00/v1",
        "/MCP/../v1/status", "/internal/runs", "/.well-known/oauth-protected-resource", "*",
        f"http://127.0.0.1:{port}/v1/status", "http://localhost/v1/status", "//localhost/v1/status",
        "/v1/status?/mcp", "/v1/status#/mcp", "\\v1\\status",
    ]  # fmt: skip
    return {
        **{target: get(target) for target in plain},
        "ping": ping(last + length),
        "a second request": ping(common + length) + hidden,
        "many requests": ping(common + length) * 3 + hidden,
        "two lengths": ping(common + length + b"Content-Length: 0\r\n") + hidden,
        "both framings": ping(common + length + b"Transfer-Encoding: chunked\r\n", chunked),
        "a length that is too short": ping(common + b"Content-Length: 0\r\n", hidden),
        "a body that is a request": ping(last + b"Content-Length: %d\r\n" % len(hidden), hidden),
        "another framing": ping(common + b"Transfer-Encoding: xchunked\r\n", chunked),
        "a WebSocket": b"GET /v1/sessions/x/messages/socket HTTP/1.1\r\n" + common + upgrade + b"\r\n",
        "a WebSocket of /mcp": b"GET /mcp/socket HTTP/1.1\r\n" + common + upgrade + b"\r\n" + hidden,
        "HTTP/2": get("/v1/status", b"Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n"),
        "HTTP/2 at once": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "a tunnel": f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\n".encode() + last + b"\r\n" + hidden,
        "an address in a header": get("/mcp", b"X-Original-URL: /v1/status\r\nX-Rewrite-URL: /v1/status\r\n"),
        "HTTP/1.0": b"GET /v1/status HTTP/1.0\r\n" + last + b"\r\n",
    }


def test_only_mcp_is_reached_from_a_sandbox(tmp_path: Path) -> None:
    home, cwd = tmp_path / "daemon", tmp_path / "work"
    home.mkdir()
    cwd.mkdir()
    daemon = Daemon(home)
    daemon.start()
    try:
        session = Session(daemon, cwd, isolation="sandbox")
        requests = requests_of(daemon.port, daemon.token())
        sent = {name: request.decode("latin-1") for name, request in requests.items()}
        (cwd / "requests.json").write_text(json.dumps([daemon.port, sent]))
        (cwd / "send.py").write_text(SEND)
        assert session.prompt({"run": "python3 send.py"}, {"call_mcp": json.loads(PING)})["status"] == "completed"
        answers = json.loads((cwd / "answers.json").read_text())
        assert '"result"' in session.text()
        assert answers.keys() == requests.keys()
        assert '"result"' in answers["ping"]
        known = daemon.get("/v1/status")
    finally:
        daemon.stop()
    for name, answer in answers.items():
        statuses = [part[:3] for part in answer.split("HTTP/1.1 ")[1:]]
        assert {*statuses} <= {"200", *REFUSED}, (name, answer)
        assert statuses.count("200") == answer.count('"result"'), (name, answer)
        assert str(known["version"]) not in answer, (name, answer)
    assert answers["many requests"].count('"result"') == 3
    assert not list((daemon.state_dir / "mcp").glob("*"))

"""Authorization servers and identity providers that mean harm: what they publish costs little and leads nowhere."""

from __future__ import annotations

import json
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import psutil
import pytest

from executor.connections.oauth import http
from executor.network.client import Bounds
from tests.support.loopback import Answer
from tests.support.sign_in_browser import CALLBACK, CLIENT, SECRET, Browser, settings_of
from tests.support.token_issuer import TokenIssuer, a_key, issuing
from tests.surfaces.api.daemon_server import Daemon, running_daemon
from tests.surfaces.api.identities import expect_created, operator

MOST = 300_000_000


class Inside(ThreadingHTTPServer):
    """A service that nobody outside should reach."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Quiet)
        self.visits = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Quiet(BaseHTTPRequestHandler):
    server: Any

    def do_GET(self) -> None:
        self.server.visits += 1
        self.send_error(404)

    do_POST = do_GET  # noqa: N815 - the library's name

    def log_message(self, *args: Any) -> None: ...


class Evil(Inside):
    """Answers its metadata by `about`, and its keys by `keys`."""

    def __init__(self) -> None:
        ThreadingHTTPServer.__init__(self, ("127.0.0.1", 0), Crooked)
        self.about: Callable[[Crooked], None] = lambda handler: handler.document({})
        self.keys: Callable[[Crooked], None] = lambda handler: handler.send({"keys": []})
        self.visits = 0
        self.sent = 0

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients hang up here."""


class Crooked(Quiet):
    server: Evil

    def do_GET(self) -> None:
        self.server.visits += 1
        (self.server.keys if self.path == "/jwks" else self.server.about)(self)

    def send(self, value: Any, status: int = 200, **headers: str) -> None:
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(status)
        for name, said in {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), said)
        self.end_headers()
        self.wfile.write(body)

    def document(self, changes: dict[str, Any]) -> None:
        url = self.server.url
        self.send({"issuer": url, "jwks_uri": f"{url}/jwks", "authorization_endpoint": f"{url}/authorize", **changes})

    def endless(self, part: bytes = b" " * 100_000) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
        while self.server.sent < MOST:
            self.wfile.write(part)
            self.server.sent += len(part)

    def drip(self) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
        for _ in range(6_000):
            self.wfile.write(b" ")
            time.sleep(0.01)

    def send_packed(self) -> None:
        packer = zlib.compressobj(wbits=31)
        self.send(packer.compress(b" " * 20_000_000) + packer.flush(), Content_Encoding="gzip")


@pytest.fixture(scope="module")
def inside() -> Iterator[Inside]:
    yield from serving(Inside())


@pytest.fixture(scope="module")
def evil() -> Iterator[Evil]:
    yield from serving(Evil())


def serving(server: Any) -> Iterator[Any]:
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def daemon(evil: Evil, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running_daemon(tmp_path_factory.mktemp("evil"), mcp_issuer=evil.url) as running:
        yield running


@pytest.fixture
def token(daemon: Daemon, evil: Evil) -> str:
    """Of the issuer, as far as it goes; and nothing of the issuer is known yet."""
    evil.about, evil.keys, evil.sent = lambda handler: handler.document({}), lambda handler: handler.send({}), 0
    issuer, keys = daemon.executor.issuers.mcp, daemon.executor.issuers.bearers._keys  # type: ignore[union-attr]
    issuer._found = issuer._failed = None  # type: ignore[union-attr]
    keys._keys, keys._read_at, keys._tried_at, keys._failure = (), None, None, ""
    daemon.executor.authenticator.attempts.clear()
    authority = TokenIssuer(evil.url)
    authority.ledger.resource = f"{daemon.url}/mcp"
    return authority.token()


def expect_refusal(daemon: Daemon, token: str) -> Any:
    before = psutil.Process().memory_info().rss
    answer = daemon.post("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "ping"}, role=token)
    assert answer.status in (401, 503), (answer.status, answer.body)
    assert psutil.Process().memory_info().rss - before < 150_000_000
    assert daemon.get("/v1/status").status == 200
    return answer


def test_107_the_token_would_be_good_if_its_key_were_published(daemon: Daemon, evil: Evil, token: str) -> None:
    evil.keys = lambda handler: handler.send({"keys": [a_key().as_dict(private=False)]})
    answer = daemon.post("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "ping"}, role=token)
    assert answer.status not in (401, 503), answer.body


@pytest.mark.parametrize("where", ["about", "keys"])
@pytest.mark.parametrize("how", ["endless", "packed", "drip"])
def test_107_documents_without_end(
    daemon: Daemon, evil: Evil, token: str, where: str, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Defence: `BOUNDS` of every request to an authorization server."""
    if how == "drip":
        monkeypatch.setattr(http, "BOUNDS", Bounds(seconds=1.0, size=1_000_000))
    setattr(evil, where, lambda handler: getattr(handler, how)())
    expect_refusal(daemon, token)
    assert evil.sent < MOST


CROOKED: dict[str, Callable[[str, str], dict[str, Any]]] = {
    "another issuer": lambda evil, inside: {"issuer": "https://accounts.example"},
    "the issuer with a slash": lambda evil, inside: {"issuer": f"{evil}/"},
    "keys inside": lambda evil, inside: {"jwks_uri": f"{inside}/keys"},
    "keys inside, encrypted": lambda evil, inside: {"jwks_uri": f"{inside}/keys".replace("http:", "https:")},
    "keys at an address of a file": lambda evil, inside: {"jwks_uri": "file:///etc/passwd"},
    "keys that are no address": lambda evil, inside: {"jwks_uri": ["https://a.example"]},
    "keys with a name and password": lambda evil, inside: {"jwks_uri": f"{inside}/k".replace("//", "//u:p@")},
}


@pytest.mark.parametrize("what", CROOKED)
def test_107_metadata_that_lead_inside_or_to_another(
    daemon: Daemon, evil: Evil, inside: Inside, token: str, what: str
) -> None:
    """Defence: `Issuer.address`, `Issuer._read` and `IssuerWire`, which opens only what the operator wrote."""
    evil.about = lambda handler: handler.document(CROOKED[what](evil.url, inside.url))
    expect_refusal(daemon, token)
    assert inside.visits == 0


def test_107_redirects_that_lead_inside(daemon: Daemon, evil: Evil, inside: Inside, token: str) -> None:
    for where in ("about", "keys"):
        for status in (302, 307, 308):
            setattr(evil, where, lambda handler, code=status: handler.send(b"", code, Location=f"{inside.url}/x"))
            expect_refusal(daemon, token)
    assert inside.visits == 0


KEYS: dict[str, Callable[[], Any]] = {
    "ten thousand keys": lambda: {
        "keys": [{"kty": "RSA", "kid": str(n), "n": "AQAB", "e": "AQAB"} for n in range(9_000)]
    },
    "keys of megabits": lambda: {"keys": [{"kty": "RSA", "kid": "first", "n": "A" * 900_000, "e": "AQAB"}]},
    "a shared secret": lambda: {"keys": [{"kty": "oct", "kid": "first", "k": "AAAA", "alg": "HS256"}]},
    "an exponent of one": lambda: {"keys": [{**a_key().as_dict(private=False), "e": "AQ"}]},
    "keys that are no list": lambda: {"keys": {"first": 1}},
    "keys nested deeply": lambda: b'{"keys":' + b"[" * 400_000 + b"]" * 400_000 + b"}",
    "a private key": lambda: {"keys": [a_key().as_dict(private=True)]},
}


@pytest.mark.parametrize("what", KEYS)
def test_107_keys_that_must_not_verify(daemon: Daemon, evil: Evil, token: str, what: str) -> None:
    """Defence: `jwks.parse_keys`."""
    evil.keys = lambda handler: handler.send(KEYS[what]())
    expect_refusal(daemon, token)


def test_107_unknown_keys_are_not_looked_for_with_every_token(daemon: Daemon, evil: Evil, token: str) -> None:
    """Defence: `INTERVAL_SECONDS`: whoever sends tokens can't make the daemon ask the issuer each time."""
    evil.keys = lambda handler: handler.send({"keys": [a_key().as_dict(private=False)]})
    authority = TokenIssuer(evil.url)
    authority.ledger.resource = f"{daemon.url}/mcp"
    evil.visits = 0
    for number in range(20):
        daemon.executor.authenticator.attempts.clear()
        daemon.post("/mcp", {}, role=authority.token({"kid": f"unknown-{number}"}))
    assert evil.visits <= 4


# -- signing in -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def signing() -> Iterator[tuple[Daemon, TokenIssuer]]:
    with pytest.MonkeyPatch.context() as patch, issuing() as authority:
        patch.setenv("EXECUTOR_SECRET_OIDC", SECRET)
        import tempfile
        from pathlib import Path

        with tempfile.TemporaryDirectory() as place, running_daemon(Path(place), **settings_of(authority)) as running:
            authority.register_client(CLIENT, f"{running.url}{CALLBACK}", secret=SECRET)
            expect_created(operator(running).post("/v1/invitations", {"role": "member", "email": "ann@example.org"}))
            yield running, authority


TOKENS: dict[str, Callable[[], Answer]] = {
    "a body of megabytes": lambda: (200, b'{"id_token":"' + b"x" * 3_000_000 + b'"}', {}),
    "a token of megabytes": lambda: (200, {"id_token": "a." + "x" * 500_000 + ".b"}, {}),
    "no token": lambda: (200, {}, {}),
    "a token that is none": lambda: (200, {"id_token": 7}, {}),
    "a redirect inside": lambda: (307, b"", {"Location": "http://127.0.0.1:9/"}),
    "a page": lambda: (200, b"<html>", {"Content-Type": "text/html"}),
    "an error of kilobytes": lambda: (400, {"error": "x" * 100_000, "error_description": "\x1b[2J" * 10_000}, {}),
}


@pytest.mark.parametrize("what", TOKENS)
def test_107_a_provider_that_answers_a_sign_in_with_anything(signing: tuple[Daemon, TokenIssuer], what: str) -> None:
    """Defence: `Provider.exchange` and `signed.read`; what the provider says is shown in one short line."""
    daemon, authority = signing
    daemon.executor.issuers.sign_ins.starts.clear()  # type: ignore[union-attr]
    authority.hook = lambda path, data: TOKENS[what]() if path == "/token" else None
    browser = Browser(daemon)
    answer = browser.sign_in()
    authority.hook = lambda path, data: None
    assert answer.status in (400, 401, 502, 503), (answer.status, answer.body)
    assert "executor_session" not in browser.cookies
    assert len(answer.body) < 20_000 and b"\x1b" not in answer.body


def test_107_keys_that_change_while_people_sign_in(signing: tuple[Daemon, TokenIssuer]) -> None:
    """A provider may change its keys at any time; each sign-in is verified by a key that was published, or refused."""
    daemon, authority = signing
    keys = daemon.executor.issuers.sign_ins._provider._keys  # type: ignore[union-attr]
    seen = set()
    for number in range(6):
        daemon.executor.issuers.sign_ins.starts.clear()  # type: ignore[union-attr]
        authority.key = a_key("ES256" if number % 2 else "RS256", f"turn-{number % 3}")
        authority.algorithm = "ES256" if number % 2 else "RS256"
        keys._tried_at = None  # an interval has passed
        browser = Browser(daemon)
        answer = browser.sign_in()
        seen.add(answer.status)
        assert (answer.status == 303) == ("executor_session" in browser.cookies)
    assert seen == {303}
    authority.key, authority.algorithm = a_key("RS256", "never-published"), "RS256"
    authority.published = [a_key("RS256", "turn-0").as_dict(private=False)]
    daemon.executor.issuers.sign_ins.starts.clear()  # type: ignore[union-attr]
    keys._tried_at = None
    assert Browser(daemon).sign_in().status == 401

"""What a browser, a stranger's page or a broken client can send, byte for byte."""

from __future__ import annotations

import http.client
import json
import socket

import pytest

from tests.surfaces.api.daemon_server import Daemon


def send(daemon: Daemon, head: str, body: bytes = b"") -> tuple[int, bytes]:
    """Exactly these bytes on a socket; the status and the body that came back."""
    with socket.create_connection(("127.0.0.1", daemon.port), timeout=120) as stream:
        stream.sendall(head.format(port=daemon.port, token=daemon.tokens.operator).encode("latin-1") + body)
        response = http.client.HTTPResponse(stream)
        response.begin()
        return response.status, response.read()


STATUS = "GET /v1/status HTTP/1.1\r\nAuthorization: Bearer {{token}}\r\nConnection: close\r\n{0}\r\n"


@pytest.mark.parametrize("host", ["127.0.0.1:{port}", "localhost:{port}", "[::1]:{port}", "LOCALHOST:{port}"])
def test_the_names_of_this_machine_are_accepted_as_host(daemon: Daemon, host: str) -> None:
    assert send(daemon, STATUS.format(f"Host: {host}\r\n"))[0] == 200


@pytest.mark.parametrize(
    "headers",
    [
        "Host: evil.example:{port}\r\n",
        "Host: 127.0.0.1\r\n",
        "Host: 127.0.0.1:1\r\n",
        "Host: localhost.evil.example:{port}\r\n",
        "Host: 127.0.0.1:{port}.evil.example\r\n",
        "Host: evil.example@127.0.0.1:{port}\r\n",
        "Host: \r\n",
        "Host: evil.example\r\nHost: 127.0.0.1:{port}\r\n",
        "Host: evil.example\r\nX-Forwarded-Host: 127.0.0.1:{port}\r\n",
    ],
)
def test_any_other_host_is_refused_even_with_a_token(daemon: Daemon, headers: str) -> None:
    status, answer = send(daemon, STATUS.format(headers))
    assert status in (400, 421)
    assert b"workspace" not in answer


def test_a_request_without_a_host_is_refused(daemon: Daemon) -> None:
    status, answer = send(daemon, "GET /v1/status HTTP/1.0\r\nAuthorization: Bearer {token}\r\n\r\n")
    assert status in (400, 421)
    assert b"workspace" not in answer


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "null",
        "",
        "http://127.0.0.1",
        "http://127.0.0.1:1",
        "https://127.0.0.1:{port}",
        "http://localhost.evil.example:{port}",
        "file://",
        "chrome-extension://abcdefgh",
    ],
)
@pytest.mark.parametrize("path", ["/v1/status", "/v1/events", "/mcp", "/healthz"])
def test_a_page_of_another_origin_is_refused_even_with_a_token(daemon: Daemon, origin: str, path: str) -> None:
    answer = daemon.get(path, headers={"Origin": origin.format(port=daemon.port)})
    assert (answer.status, answer.json["code"]) == (403, "origin_refused")
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "[::1]"])
def test_a_page_of_our_own_is_accepted(daemon: Daemon, name: str) -> None:
    assert daemon.get("/v1/status", headers={"Origin": f"http://{name}:{daemon.port}"}).status == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_browser_that_leaves_the_origin_out_still_betrays_another_site(daemon: Daemon, site: str) -> None:
    answer = daemon.get("/v1/events", headers={"Sec-Fetch-Site": site, "Accept": "text/event-stream"})
    assert (answer.status, answer.json["code"]) == (403, "origin_refused")


def test_a_site_named_twice_is_another_site(daemon: Daemon) -> None:
    twice = "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Site: cross-site\r\n"
    status, _ = send(daemon, STATUS.format("Host: 127.0.0.1:{port}\r\n" + twice))
    assert status == 403


@pytest.mark.parametrize("path", ["/v1/events?after=9223372036854775808", "/v1/events?after=-1"])
def test_an_event_number_that_can_not_be_is_a_bad_request(daemon: Daemon, path: str) -> None:
    assert daemon.get(path).status == 400


def test_a_link_from_another_site_may_lead_to_the_approvals_page(daemon: Daemon) -> None:
    page = daemon.get("/approvals/int_aaaaaaaaaaaaaaaaaaaaaaaaaa", role=None, headers={"Sec-Fetch-Site": "cross-site"})
    assert page.status == 200


def test_a_preflight_grants_nothing(daemon: Daemon) -> None:
    asked = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    answer = daemon.request("OPTIONS", "/v1/executions", role=None, headers=asked)
    assert answer.status == 403
    assert not [name for name in answer.headers if name.startswith("access-control")]


@pytest.mark.parametrize(
    "media_type",
    ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/jsonp", ""],
)
@pytest.mark.parametrize("path", ["/v1/executions", "/v1/policies", "/mcp"])
def test_a_body_that_is_not_declared_as_json_is_refused(daemon: Daemon, media_type: str, path: str) -> None:
    answer = daemon.post(path, b'{"code": "return 1"}', headers={"Content-Type": media_type})
    assert (answer.status, answer.json["code"]) == (415, "unsupported_media_type")


def test_a_body_without_a_media_type_is_refused(daemon: Daemon) -> None:
    status, answer = send(
        daemon,
        "POST /v1/executions HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n"
        "Content-Length: 20\r\nConnection: close\r\n\r\n",
        b'{"code": "return 1"}',
    )
    assert status == 415
    assert b"unsupported_media_type" in answer


def test_a_web_socket_is_refused(daemon: Daemon) -> None:
    status, _ = send(
        daemon,
        "GET /v1/events HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n"
        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nOrigin: https://evil.example\r\n\r\n",
    )
    assert status == 403


def test_every_answer_carries_the_headers_that_protect_a_browser(daemon: Daemon) -> None:
    answers = [
        daemon.get("/healthz", role=None),
        daemon.get("/v1/status"),
        daemon.get("/v1/status", role=None),
        daemon.get("/v1/nothing"),
        daemon.get("/approvals/int_aaaaaaaaaaaaaaaaaaaaaaaaaa", role=None),
        daemon.post("/mcp", {}),
    ]
    for answer in answers:
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cache-control"] in ("no-store", "no-cache")  # the pages hold nothing of anybody's
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy


@pytest.mark.parametrize("path", ["/v1/executions", "/v1/policies", "/v1/sources", "/mcp"])
def test_a_declared_body_that_is_too_large_is_refused_before_it_is_sent(daemon: Daemon, path: str) -> None:
    status, answer = send(
        daemon,
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{{port}}\r\nAuthorization: Bearer {{token}}\r\n"
        "Content-Type: application/json\r\nContent-Length: 100000000\r\n\r\n",
    )
    assert status == 413
    assert b"too_large" in answer


def test_a_body_that_grows_too_large_on_the_way_is_refused(daemon: Daemon) -> None:
    chunk = b"10000\r\n" + b"a" * 65536 + b"\r\n"
    status, answer = send(
        daemon,
        "POST /v1/policies HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n"
        "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
        chunk * 17 + b"0\r\n\r\n",
    )
    assert status == 413
    assert json.loads(answer)["code"] == "body_too_large"


def test_code_larger_than_allowed_is_named_as_such_at_every_size(daemon: Daemon) -> None:
    for size in (1_000_001, 2_500_000):
        answer = daemon.post("/v1/executions", {"code": "1" * size})
        assert (answer.status, answer.json["code"]) == (413, "code_too_large")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"nothing",
        b"[" * 100_000,
        b'{"code": "return 1", "code": "return 2"}',
        b'{"path": "a.b", "arguments": {"x": {"y": 1, "y": 2}}}',
        b'{"code": NaN}',
        b'{"code": "\\ud800"}',
        b'{"code": "\xff"}',
        b'\xef\xbb\xbf{"code": "return 1"}',
        b'{"code": "return 1"} trailing',
        b'"return 1"',
        b"null",
        b"[]",
    ],
)
@pytest.mark.parametrize("path", ["/v1/executions", "/v1/policies/test"])
def test_json_that_could_be_read_in_two_ways_is_refused(daemon: Daemon, body: bytes, path: str) -> None:
    answer = daemon.post(path, body)
    assert (answer.status, answer.json["code"]) == (400, "invalid_request")
    assert answer.headers["content-type"] == "application/problem+json"


def test_a_deep_value_is_refused_rather_than_recursed_into(daemon: Daemon) -> None:
    deep = b'{"path": "a.b", "arguments": ' + b'{"x":' * 900 + b"1" + b"}" * 900 + b"}"
    assert daemon.post("/v1/policies/test", deep).status in (400, 404)

from __future__ import annotations

import asyncio
import gzip
import socket
import threading
import zlib
from collections.abc import Callable
from typing import Any

import brotli
import pytest
from backports import zstd

from executor.errors import EgressRefused, SourceUnreachable
from executor.network.addresses import parse
from executor.network.client import MAX_REDIRECTS, Bounds, Egress, Outgoing
from executor.network.decompression import Inflater
from tests.sources.upstream import Got, Handler, Reply, Upstream, as_json


def origins(*servers: Upstream) -> frozenset[str]:
    return frozenset(parse(server.url).origin for server in servers)


async def get(egress: Egress, server: Upstream, path: str = "/", **options: Any) -> Any:
    options.setdefault("origins", origins(server))
    return await egress.send(Outgoing("GET", server.url + path), **options)


async def test_a_granted_private_origin_is_reached(egress: Egress, upstream: Upstream) -> None:
    upstream.routes["/"] = as_json({"ok": True})
    assert (await get(egress, upstream)).body == b'{"ok": true}'


async def test_a_private_origin_without_a_grant_is_refused_and_never_contacted(
    egress: Egress, upstream: Upstream
) -> None:
    for host in ("127.0.0.1", "localhost", "[::ffff:127.0.0.1]"):
        url = upstream.url.replace("127.0.0.1", host)
        with pytest.raises(EgressRefused):
            await egress.send(Outgoing("GET", url + "/"))
    assert upstream.connections == 0


async def test_a_grant_holds_for_exactly_one_port(egress: Egress, upstream: Upstream, elsewhere: Upstream) -> None:
    with pytest.raises(EgressRefused):
        await get(egress, elsewhere, origins=origins(upstream))
    assert elsewhere.connections == 0


async def test_a_grant_of_one_source_does_not_lend_its_connection_to_another(
    egress: Egress, upstream: Upstream
) -> None:
    upstream.routes["/"] = as_json(1)
    await get(egress, upstream)
    with pytest.raises(EgressRefused):
        await egress.send(Outgoing("GET", upstream.url + "/"))
    assert len(upstream.requests) == 1


@pytest.fixture
def name_service(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Answers of the resolver, one list of addresses for each query; the last one repeats."""

    def install(*answers: list[str]) -> None:
        left = list(answers)

        async def getaddrinfo(host: str, port: int, **_: Any) -> list[Any]:
            addresses = left.pop(0) if len(left) > 1 else left[0]
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses]

        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", getaddrinfo)

    return install


async def test_a_name_with_one_private_address_among_public_ones_is_refused(
    egress: Egress, upstream: Upstream, name_service: Callable[..., None]
) -> None:
    name_service(["93.184.216.34", "127.0.0.1"])
    with pytest.raises(EgressRefused, match="private"):
        await egress.send(Outgoing("GET", upstream.url.replace("127.0.0.1", "api.example.com") + "/"))
    assert upstream.connections == 0


async def test_the_address_that_was_checked_is_the_address_that_is_used(
    egress: Egress, name_service: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    name_service(["93.184.216.34"], ["127.0.0.1"])
    used: list[str] = []

    async def start_connection(addr_infos: Any, **_: Any) -> Any:
        used.extend(info[4][0] for info in addr_infos)
        raise OSError("no network in tests")

    monkeypatch.setattr("aiohttp.connector.aiohappyeyeballs.start_connection", start_connection)
    with pytest.raises(SourceUnreachable):
        await egress.send(Outgoing("GET", "http://api.example.com/"))
    with pytest.raises(EgressRefused):
        await egress.send(Outgoing("GET", "http://api.example.com:81/"))
    assert used == ["93.184.216.34"]


async def test_connections_are_kept_between_requests(egress: Egress, upstream: Upstream) -> None:
    upstream.routes["/"] = as_json(1)
    for _ in range(5):
        await get(egress, upstream)
    assert upstream.connections == 1


async def test_a_redirect_within_the_origin_keeps_headers(egress: Egress, upstream: Upstream) -> None:
    upstream.routes |= {"/a": Reply(302, headers={"Location": "/b"}), "/b": as_json(1)}
    await egress.send(Outgoing("GET", upstream.url + "/a", {"X-Key": "s"}), origins=origins(upstream))
    assert upstream.requests[1].headers["x-key"] == "s"


async def test_a_redirect_to_another_origin_loses_every_header(
    egress: Egress, upstream: Upstream, elsewhere: Upstream
) -> None:
    upstream.routes["/a"] = Reply(302, headers={"Location": elsewhere.url + "/b"})
    elsewhere.routes["/b"] = as_json(1)
    both = origins(upstream, elsewhere)
    await egress.send(Outgoing("GET", upstream.url + "/a", {"X-Key": "s", "Accept": "x/y"}), origins=both)
    assert "x-key" not in elsewhere.requests[0].headers
    assert elsewhere.requests[0].headers.get("accept") != "x/y"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "169.254.169.254", "0x7f.1", "[::1]"])
async def test_a_redirect_into_the_private_network_is_refused(egress: Egress, upstream: Upstream, host: str) -> None:
    upstream.routes["/a"] = Reply(302, headers={"Location": f"http://{host}:1/"})
    with pytest.raises(EgressRefused):
        await get(egress, upstream, "/a")


@pytest.mark.parametrize("location", ["file:///etc/passwd", "gopher://x/", "unix:/run/x"])
async def test_a_redirect_to_another_scheme_is_refused(egress: Egress, upstream: Upstream, location: str) -> None:
    upstream.routes["/a"] = Reply(302, headers={"Location": location})
    with pytest.raises(EgressRefused):
        await get(egress, upstream, "/a")


async def test_a_circle_of_redirects_is_named(egress: Egress, upstream: Upstream) -> None:
    upstream.routes |= {"/a": Reply(302, headers={"Location": "/b"}), "/b": Reply(302, headers={"Location": "/a"})}
    with pytest.raises(SourceUnreachable, match="circle") as caught:
        await get(egress, upstream, "/a")
    assert caught.value.details["reason"] == "redirects"


async def test_an_endless_chain_of_redirects_is_cut(egress: Egress, upstream: Upstream) -> None:
    def onward(got: Got, handler: Handler) -> Reply:
        return Reply(302, headers={"Location": got.target + "x"})

    upstream.otherwise = onward
    with pytest.raises(SourceUnreachable, match=f"more than {MAX_REDIRECTS}"):
        await get(egress, upstream, "/a")
    assert len(upstream.requests) == MAX_REDIRECTS + 1


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_body_never_follows_a_redirect_to_another_origin(
    egress: Egress, upstream: Upstream, elsewhere: Upstream, status: int
) -> None:
    upstream.routes["/a"] = Reply(status, headers={"Location": elsewhere.url + "/b"})
    with pytest.raises(EgressRefused):
        await egress.send(Outgoing("POST", upstream.url + "/a", {}, b"x"), origins=origins(upstream, elsewhere))
    assert elsewhere.requests == []


@pytest.mark.parametrize("status", [301, 302, 307, 308])
@pytest.mark.parametrize(
    "location", ["/end", "end", "//{host}/end", "/307/../end", "/307?to=evil", "/%33%30%37", "/3O7"]
)
async def test_a_body_never_follows_a_redirect_to_another_path(
    egress: Egress, upstream: Upstream, status: int, location: str
) -> None:
    where = location.format(host=upstream.url.partition("://")[2])
    upstream.routes |= {"/307": Reply(status, headers={"Location": where})}
    with pytest.raises(EgressRefused, match="not followed"):
        await egress.send(Outgoing("POST", upstream.url + "/307", {}, b"x"), origins=origins(upstream))
    assert len(upstream.requests) == 1


async def test_a_post_is_repeated_only_where_the_status_says_so(egress: Egress, upstream: Upstream) -> None:
    upstream.routes |= {"/307": Reply(307, headers={"Location": "/307/"}), "/307/": as_json(1), "/end": as_json(1)}
    await egress.send(Outgoing("POST", upstream.url + "/307", {}, b"x"), origins=origins(upstream))
    assert (upstream.requests[-1].target, upstream.requests[-1].body) == ("/307/", b"x")
    upstream.routes["/303"] = Reply(303, headers={"Location": "/end"})
    await egress.send(Outgoing("POST", upstream.url + "/303", {}, b"x"), origins=origins(upstream))
    assert (upstream.requests[-1].method, upstream.requests[-1].body) == ("GET", b"")


async def test_an_answer_beyond_the_limit_is_cut_off(egress: Egress, upstream: Upstream) -> None:
    upstream.routes["/"] = Reply(200, b"x" * 2000)
    assert len((await get(egress, upstream, bounds=Bounds(size=2000))).body) == 2000
    with pytest.raises(SourceUnreachable, match="more than 1,999 bytes") as caught:
        await get(egress, upstream, bounds=Bounds(size=1999))
    assert caught.value.details["reason"] == "too_large"


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstd.compress,
}


@pytest.mark.parametrize("encoding", [*PACKERS, "br, gzip", "zstd, zstd"])
async def test_a_compression_bomb_is_stopped_by_its_real_size(
    egress: Egress, upstream: Upstream, encoding: str
) -> None:
    bomb = b"\0" * 20_000_000
    for one in encoding.split(", "):
        bomb = PACKERS[one](bomb)
    upstream.routes["/"] = Reply(200, bomb, {"Content-Encoding": encoding})
    with pytest.raises(SourceUnreachable, match="more than"):
        await get(egress, upstream, bounds=Bounds(size=1_000_000))


def test_what_an_inner_coding_makes_of_a_bomb_counts_too() -> None:
    empty_members = gzip.compress(b"", mtime=0) * 500_000
    inflater = Inflater("gzip, br", 1_000_000)
    assert not inflater.feed(brotli.compress(empty_members, quality=5))
    assert inflater.size == 0


@pytest.mark.parametrize(
    ("encoding", "pack"),
    [
        *PACKERS.items(),
        ("x-gzip", gzip.compress),
        ("gzip", lambda data: gzip.compress(data[:7]) + gzip.compress(b"") + gzip.compress(data[7:])),
        ("gzip", lambda data: gzip.compress(data) + b"\0\0"),
        ("zstd", lambda data: zstd.compress(data[:7]) + b"\x50\x2a\x4d\x18\1\0\0\0x" + zstd.compress(data[7:])),
        ("deflate", lambda data: zlib.compress(data)[2:-4]),
        ("gzip, br", lambda data: brotli.compress(gzip.compress(data))),
        ("identity, ZSTD ,deflate", lambda data: zlib.compress(zstd.compress(data))),
        ("identity", bytes),
    ],
)
async def test_compressed_answers_are_read(
    egress: Egress, upstream: Upstream, encoding: str, pack: Callable[[bytes], bytes]
) -> None:
    upstream.routes["/"] = Reply(200, pack(b"hello" * 100), {"Content-Encoding": encoding})
    assert (await get(egress, upstream)).body == b"hello" * 100


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip", b"not gzip"),
        *((name, pack(bytes(range(256)) * 9)[:-9]) for name, pack in PACKERS.items()),
        ("br", b"plain"),
        ("zstd", b"plain"),
        ("gzip", brotli.compress(b"another")),
    ],
)
async def test_a_broken_encoding_is_an_error_that_names_it(
    egress: Egress, upstream: Upstream, encoding: str, body: bytes
) -> None:
    upstream.routes["/"] = Reply(200, body, {"Content-Encoding": encoding})
    with pytest.raises(
        SourceUnreachable, match=f"content encoding '{encoding}', but the compressed response is"
    ) as got:
        await get(egress, upstream)
    assert got.value.details["reason"] == "encoding"


@pytest.mark.parametrize("encoding", ["compress", "gzip, exi", "dcb", "gzip, gzip, gzip, gzip"])
async def test_an_encoding_that_cannot_be_read_is_named(egress: Egress, upstream: Upstream, encoding: str) -> None:
    upstream.routes["/"] = Reply(200, b"?", {"Content-Encoding": encoding})
    with pytest.raises(SourceUnreachable, match=f"'{encoding}', which can't be read"):
        await get(egress, upstream)
    assert upstream.requests[-1].headers["accept-encoding"] == "gzip, deflate, br, zstd"


async def test_of_an_error_in_an_encoding_that_cannot_be_read_the_status_is_known(
    egress: Egress, upstream: Upstream
) -> None:
    upstream.routes["/"] = Reply(401, b"?", {"Content-Encoding": "compress"})
    answer = await get(egress, upstream)
    assert (answer.status, answer.body) == (401, b"")


async def test_silence_ends_with_a_timeout(egress: Egress, upstream: Upstream) -> None:
    release = threading.Event()
    upstream.routes["/"] = lambda got, handler: (release.wait(120), as_json(1))[1]
    with pytest.raises(SourceUnreachable, match=r"within 0\.2 seconds") as caught:
        await get(egress, upstream, bounds=Bounds(seconds=0.2))
    release.set()
    assert caught.value.details["reason"] == "timeout"


async def test_an_endless_drip_ends_with_a_timeout(egress: Egress, upstream: Upstream) -> None:
    stop = threading.Event()

    def drip(got: Got, handler: Handler) -> None:
        handler.send_response(200)
        handler.end_headers()
        while not stop.wait(0.02):
            handler.wfile.write(b"x")

    upstream.routes["/"] = drip
    with pytest.raises(SourceUnreachable, match="within"):
        await get(egress, upstream, bounds=Bounds(seconds=0.3))
    stop.set()


async def test_a_closed_port_was_certainly_not_sent_to(egress: Egress, upstream: Upstream) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
    with pytest.raises(SourceUnreachable, match="could not be reached") as caught:
        await egress.send(Outgoing("GET", url + "/"), origins=frozenset({url}))
    request = {"method": "GET", "url": f"{url}/"}
    assert caught.value.details == {"reason": "connect", "sent": False, "request": request}


@pytest.mark.parametrize(("method", "tries"), [("GET", 2), ("PUT", 1), ("DELETE", 1), ("POST", 1), ("PATCH", 1)])
async def test_only_reads_are_sent_again_when_a_connection_breaks(
    egress: Egress, upstream: Upstream, method: str, tries: int
) -> None:
    upstream.routes |= {"/": lambda got, handler: None, "/warm": as_json(1)}
    await get(egress, upstream, "/warm")
    with pytest.raises(SourceUnreachable) as caught:
        await egress.send(Outgoing(method, upstream.url + "/"), origins=origins(upstream))
    assert caught.value.details["sent"] is True
    assert sum(got.target == "/" for got in upstream.requests) == tries


@pytest.mark.parametrize(
    "headers", [{"X": "a\r\nHost: evil"}, {"X\r\nY": "a"}, {"X": "a\nb"}, {"X": "a\0"}, {"": "a"}, {"X y": "a"}]
)
async def test_headers_that_would_split_are_refused(
    egress: Egress, upstream: Upstream, headers: dict[str, str]
) -> None:
    with pytest.raises(EgressRefused):
        await egress.send(Outgoing("GET", upstream.url + "/", headers), origins=origins(upstream))
    assert upstream.connections == 0


async def test_no_session_is_between_a_request_and_its_connection(
    egress: Egress, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A session does much that is not wanted, and costs more than the rest of aiohttp."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a session was made")

    monkeypatch.setattr("aiohttp.ClientSession.__init__", refuse)
    upstream.routes["/"] = as_json(1)
    for method, body in (("GET", None), ("POST", b"{}"), ("GET", None)):
        sent = Outgoing(method, upstream.url + "/", {"accept-encoding": "identity"}, body)
        assert (await egress.send(sent, origins=origins(upstream))).body == b"1"
    assert upstream.connections == 1
    headers = {name.lower(): value for name, value in upstream.requests[-1].headers.items()}
    assert headers["user-agent"].startswith("executor/")
    assert headers["accept-encoding"] == "identity"


async def test_cookies_of_a_service_are_not_kept(egress: Egress, upstream: Upstream) -> None:
    upstream.routes["/"] = as_json(1, **{"Set-Cookie": "a=b"})
    await get(egress, upstream)
    await get(egress, upstream)
    assert "cookie" not in upstream.requests[1].headers


async def test_proxies_of_the_environment_are_not_used(
    egress: Egress, upstream: Upstream, elsewhere: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", elsewhere.url)
    upstream.routes["/"] = as_json(1)
    await get(egress, upstream)
    assert elsewhere.connections == 0


async def test_errors_show_no_query_values(egress: Egress) -> None:
    with pytest.raises(EgressRefused) as caught:
        await egress.send(Outgoing("GET", "ftp://me:pw@example.com/?key=topsecret"))
    assert "topsecret" not in caught.value.message and "pw" not in caught.value.message

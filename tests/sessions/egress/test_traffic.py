"""What passes once it is allowed: TLS for exactly the host that was named, plain HTTP, within bounds."""

from __future__ import annotations

import asyncio
import datetime
import ssl
import stat
from contextlib import suppress
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from executor.sessions.egress import proxy, relay
from executor.sessions.egress.host_list import read_hosts
from executor.storage.executions import events
from tests.sessions.egress.conftest import Host, Place, client_hello, exchange, listening
from tests.support.conditions import until

CONNECT = "CONNECT good.example:{port} HTTP/1.1\r\n\r\n"


def connect(place: Place) -> bytes:
    return CONNECT.format(port=place.host.port).encode()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "good.example")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("good.example")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("tls") / "host.pem"
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    secret = key.private_bytes(encoding, form, serialization.NoEncryption())
    path.write_bytes(secret + made.public_bytes(encoding))
    return path


async def test_tls_to_an_allowed_host_works_from_end_to_end(place: Place, certificate: Path) -> None:
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(certificate)
    async with listening(Host(), serving) as host:
        place.host = host
        socket = await place.open("good.example:PORT")
        reader, writer = await asyncio.open_unix_connection(str(socket))
        writer.write(connect(place))
        assert b" 200 " in await reader.readuntil(b"\r\n\r\n")
        trusting = ssl.create_default_context(cafile=str(certificate))
        await writer.start_tls(trusting, server_hostname="good.example")
        writer.write(b"GET / HTTP/1.1\r\nHost: good.example\r\n\r\n")
        async with asyncio.timeout(60):
            assert (await reader.readuntil(b"hi")).endswith(b"hi")
        writer.close()
        await until(lambda: host.got)
    assert bytes(host.got).startswith(b"GET / ")
    assert ("egress.allowed", "good.example", None) in await place.decisions()


@pytest.mark.parametrize(
    ("hello", "reason"),
    [
        (client_hello("evil.example"), "sni_mismatch"),
        (client_hello("sub.good.example"), "sni_mismatch"),
        (client_hello(None), "not_tls"),
        (b"GET / HTTP/1.1\r\nHost: good.example\r\n\r\n", "not_tls"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "not_tls"),
        (b"\x16\x03\x01\xff\xff" + b"\x00" * 100, "not_tls"),
        (b"\x16\x03\x01\x00\x04\x02\x00\x00\x00", "not_tls"),
    ],
)
async def test_a_tunnel_carries_only_tls_for_the_host_that_was_allowed(place: Place, hello: bytes, reason: str) -> None:
    socket = await place.open("good.example:PORT")
    received = await exchange(socket, connect(place), hello)
    assert received == b"HTTP/1.1 200 Connection established\r\n\r\n"
    assert bytes(place.host.got) == b"", "nothing of it has left"
    assert await place.decisions() == [("egress.refused", "good.example", reason)]


def split_records(hello: bytes, size: int) -> bytes:
    """The same message in several TLS records, which evades those who look at the first only."""
    body = hello[5:]
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(hello[:3] + len(one).to_bytes(2, "big") + one for one in pieces)


@pytest.mark.parametrize("size", [1, 7, 100])
async def test_a_name_in_several_records_is_still_found(place: Place, size: int) -> None:
    socket = await place.open("good.example:PORT")
    await exchange(socket, connect(place), split_records(client_hello("evil.example"), size))
    assert bytes(place.host.got) == b""
    good = split_records(client_hello("good.example"), size)
    await exchange(socket, connect(place), good)
    await until(lambda: bytes(place.host.got) == good)


async def test_a_hello_that_encrypts_its_name_is_refused(place: Place) -> None:
    hello = client_hello("good.example")
    extension = b"\xfe\x0d\x00\x01\x00"
    inner = hello[9:]
    at = 34 + 1 + inner[34]
    at += 2 + int.from_bytes(inner[at : at + 2], "big")
    at += 1 + inner[at]
    total = int.from_bytes(inner[at : at + 2], "big") + len(extension)
    inner = inner[:at] + total.to_bytes(2, "big") + extension + inner[at + 2 :]
    message = b"\x01" + len(inner).to_bytes(3, "big") + inner
    socket = await place.open("good.example:PORT")
    await exchange(socket, connect(place), hello[:3] + len(message).to_bytes(2, "big") + message)
    assert bytes(place.host.got) == b"" and (await place.decisions())[-1][2] == "not_tls"


async def test_a_name_is_resolved_once_and_its_address_used_so_that_rebinding_fails(public_place: Place) -> None:
    """The second answer would be loopback. It is never asked for."""
    public_place.names.answers["good.example"] = [["192.0.2.1"], ["127.0.0.1"]]
    socket = await public_place.open("good.example")
    await exchange(socket, b"CONNECT good.example:443 HTTP/1.1\r\n\r\n")
    assert public_place.names.asked == ["good.example"] and public_place.host.connections == 0


async def test_plain_http_is_forwarded_without_what_is_meant_for_proxies(place: Place) -> None:
    socket = await place.open("good.example:PORT")
    request = (
        f"POST http://good.example:{place.host.port}/x?y=1 HTTP/1.1\r\nHost: good.example:{place.host.port}\r\n"
        "Proxy-Authorization: Basic abc\r\nConnection: keep-alive, X-Hop\r\nX-Hop: 1\r\nX-Kept: 2\r\n"
        "Content-Length: 5\r\n\r\nhelloGET http://evil.example/ HTTP/1.1\r\n\r\n"
    )
    answer = await exchange(socket, request.encode())
    assert answer.endswith(b"hi")
    await until(lambda: place.host.got.endswith(b"hello"))
    got = bytes(place.host.got).decode()
    assert got.startswith(f"POST /x?y=1 HTTP/1.1\r\nHost: good.example:{place.host.port}\r\n")
    assert "X-Kept: 2" in got and "Connection: close" in got
    assert not any(word in got for word in ("Proxy", "X-Hop", "evil"))


@pytest.mark.parametrize(("method", "length", "status"), [("GET", 0, 200), ("HEAD", 0, 200), ("POST", 0, 403),
                                                          ("PUT", 3, 403), ("GET", 3, 403)])  # fmt: skip
async def test_a_read_only_host_takes_only_reads(place: Place, method: str, length: int, status: int) -> None:
    socket = await place.open("good.example:PORT read-only")
    line = f"{method} http://good.example:{place.host.port}/ HTTP/1.1\r\nContent-Length: {length}\r\n\r\n"
    answer = await exchange(socket, line.encode() + b"x" * length)
    assert answer.startswith(f"HTTP/1.1 {status}".encode())
    assert place.host.connections == (1 if status == 200 else 0)


async def test_little_can_be_uploaded_to_a_read_only_host(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relay, "READ_ONLY_UPLOAD", 2000)
    socket = await place.open("good.example:PORT read-only")
    await exchange(socket, connect(place), client_hello("good.example") + b"x" * 100)
    await until(lambda: place.host.got)
    reader, writer = await asyncio.open_unix_connection(str(socket))
    writer.write(connect(place))
    await reader.readuntil(b"\r\n\r\n")
    writer.write(client_hello("good.example"))
    async with asyncio.timeout(60):
        assert await reader.readexactly(len(place.host.answer))
        writer.write(b"x" * 100_000)
        await reader.read()
    writer.close()

    async def is_refused() -> bool:
        return ("egress.refused", "good.example", "limit") in await place.decisions()

    await until(is_refused)
    assert len(place.host.got) < 10_000


async def test_the_bytes_of_a_session_have_an_end(place: Place) -> None:
    socket = await place.open("good.example:PORT")
    place.proxy._open["ses_1"].traffic.left = 10
    answer = await exchange(socket, f"GET http://good.example:{place.host.port}/ HTTP/1.1\r\n\r\n".encode())
    assert answer == b""
    assert (await place.decisions())[-1] == ("egress.refused", "good.example", "limit")


async def test_connections_of_a_session_have_an_end(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proxy, "MOST_CONNECTIONS", 2)
    socket = await place.open("good.example:PORT")
    held = [await asyncio.open_unix_connection(str(socket)) for _ in range(2)]
    await until(lambda: len(place.proxy._open["ses_1"].connections) == 2)
    assert await exchange(socket, connect(place)) == b""
    for _, writer in held:
        writer.close()
    await until(lambda: not place.proxy._open["ses_1"].connections)
    assert b" 200 " in await exchange(socket, connect(place), client_hello("good.example"))


async def test_a_list_that_changes_ends_the_connections_they_no_longer_allow(place: Place) -> None:
    socket = await place.open("good.example:PORT")
    reader, writer = await asyncio.open_unix_connection(str(socket))
    writer.write(connect(place))
    await reader.readuntil(b"\r\n\r\n")
    await place.proxy.open(place.party, read_hosts(["other.example"]))
    async with asyncio.timeout(60):
        with suppress(ConnectionResetError):
            assert await reader.read() == b""
    writer.close()
    assert (await exchange(socket, connect(place))).startswith(b"HTTP/1.1 403")


async def test_the_socket_is_private_and_ends_with_the_session(place: Place) -> None:
    socket = await place.open("good.example:PORT")
    assert stat.S_IMODE(socket.stat().st_mode) == 0o600 and stat.S_IMODE(socket.parent.stat().st_mode) == 0o700
    reader, writer = await asyncio.open_unix_connection(str(socket))
    await until(lambda: place.proxy._open["ses_1"].connections)
    await place.proxy.close_session("ses_1")
    async with asyncio.timeout(60):
        with suppress(ConnectionResetError):
            assert await reader.read() == b""
    writer.close()
    assert not socket.exists() and not socket.parent.exists()


async def test_decisions_that_are_alike_are_counted_together(place: Place) -> None:
    socket = await place.open("good.example:PORT")
    for _ in range(20):
        await exchange(socket, b"CONNECT evil.example:443 HTTP/1.1\r\n\r\n")
    await place.noted.flush()
    found = await place.database.read(lambda c: events.after(c, place.workspace_id, types=("egress.refused",)))
    assert sum(one.data["count"] for one in found) == 20 and len(found) <= 20
    assert {one.data["sessionId"] for one in found} == {"ses_1"}

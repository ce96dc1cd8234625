"""Who decides is the raw name, before anything is resolved; what is unclear is refused."""

from __future__ import annotations

import pytest

from executor.errors import EgressRefused, InvalidRequest
from executor.sessions.egress.host_list import read_hosts
from tests.sessions.egress.conftest import Place, exchange

TRICKS = [
    "evil.example:443",
    "notgood.example:443",
    "good.example.evil.example:443",
    "good.example.:443",
    "good.example%00.evil.example:443",
    "good.example%2eevil.example:443",
    "user@good.example:443",
    "good.example@evil.example:443",
    "good.example:443@evil.example:443",
    "g\xf6od.example:443",
    "xn--god-sna.example:443",
    "127.0.0.1:443",
    "[::1]:443",
    "[::ffff:127.0.0.1]:443",
    "2130706433:443",
    "0x7f.1:443",
    "0177.0.0.1:443",
    "localhost:443",
    "good.example:22",
    "good.example:0443",
    "good.example:99999",
    "good.example:",
    "good.example",
    ":443",
    "good..example:443",
    "-good.example:443",
    "a" * 300 + ".example:443",
]


@pytest.mark.parametrize("target", TRICKS)
async def test_a_tunnel_elsewhere_is_refused_without_a_single_query(public_place: Place, target: str) -> None:
    socket = await public_place.open("good.example")
    answer = await exchange(socket, f"CONNECT {target} HTTP/1.1\r\nHost: x\r\n\r\n".encode("latin-1"))
    assert answer.startswith((b"HTTP/1.1 403", b"HTTP/1.1 400")), answer
    assert public_place.names.asked == [] and public_place.host.connections == 0
    [(type, _, reason)] = await public_place.decisions()
    assert type == "egress.refused" and reason


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"GET / HTTP/1.1\r\nHost: good.example\r\n\r\n",
        b"GET https://good.example/ HTTP/1.1\r\n\r\n",
        b"GET ftp://good.example/ HTTP/1.1\r\n\r\n",
        b"GET http://good.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        b"GET http://good.example/ HTTP/1.1\r\nHost: good.example\r\nHost: evil.example\r\n\r\n",
        b"GET http://good.example@evil.example/ HTTP/1.1\r\n\r\n",
        b"GET http://evil.example#good.example/ HTTP/1.1\r\n\r\n",
        b"GET http://good.example/\x00 HTTP/1.1\r\n\r\n",
        b"GET http://good.example/ HTTP/1.1\r\nX: a\x00b\r\n\r\n",
        b"GET http://good.example/ HTTP/1.1\nHost: good.example\n\r\n\r\n",
        b"GET http://good.example/ HTTP/1.1\r\n folded: x\r\n\r\n",
        b"TRACE http://good.example/ HTTP/1.1\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\n",
        b"POST http://good.example/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"POST http://good.example/ HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"POST http://good.example/ HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"\x05\x01\x00\r\n\r\n",
        b"\x04\x01\x01\xbb\x7f\x00\x00\x01\x00\r\n\r\n",
    ],
)
async def test_a_request_that_could_be_read_in_two_ways_is_refused(public_place: Place, request_bytes: bytes) -> None:
    socket = await public_place.open("good.example")
    answer = await exchange(socket, request_bytes)
    assert answer.startswith((b"HTTP/1.1 403", b"HTTP/1.1 400")), answer
    assert public_place.names.asked == [] and public_place.host.connections == 0


async def test_a_head_without_end_is_cut_off(public_place: Place) -> None:
    socket = await public_place.open("good.example")
    answer = await exchange(socket, b"GET http://good.example/ HTTP/1.1\r\nX: " + b"a" * 100_000)
    assert answer.startswith(b"HTTP/1.1 400") or answer == b""
    assert public_place.names.asked == []


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "10.1.2.3", "192.168.0.1", "169.254.169.254", "100.64.0.1", "0.1.2.3"),
        *("::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "fe80::1", "fd00:ec2::254", "2002:7f00:1::"),
    ],
)
async def test_an_allowed_name_that_leads_to_a_private_address_is_refused(public_place: Place, address: str) -> None:
    """Also if only one of several addresses is private: its owner chooses which one is used."""
    public_place.names.answers["good.example"] = [["93.184.216.34", address]]
    socket = await public_place.open("good.example")
    answer = await exchange(socket, b"CONNECT good.example:443 HTTP/1.1\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 403")
    assert (await public_place.decisions())[-1] == ("egress.refused", "good.example", "private_address")


async def test_metadata_is_refused_even_where_private_networks_are_allowed(place: Place) -> None:
    place.names.answers["good.example"] = [["169.254.169.254"]]
    socket = await place.open("good.example")
    assert (await exchange(socket, b"CONNECT good.example:443 HTTP/1.1\r\n\r\n")).startswith(b"HTTP/1.1 403")


async def test_a_name_that_cannot_be_resolved_is_an_error_of_its_own(place: Place) -> None:
    socket = await place.open("missing.example")
    assert (await exchange(socket, b"CONNECT missing.example:443 HTTP/1.1\r\n\r\n")).startswith(b"HTTP/1.1 502")
    assert place.names.asked == ["missing.example"]


def test_a_suffix_covers_whole_labels_below_it_and_denials_win() -> None:
    hosts = read_hosts(["*.example.com", "example.org"], ["bad.example.com", "*.worse.example.com"])
    for host in ("a.example.com", "a.b.example.com", "example.org", "worse.example.com"):
        assert hosts.find(host, 443)
    for host in ("example.com", "notexample.com", "a.example.org", "bad.example.com", "x.worse.example.com"):
        with pytest.raises(EgressRefused):
            hosts.find(host, 443)
    with pytest.raises(EgressRefused):
        hosts.find("a.example.com", 8443)


def test_a_denial_wins_on_every_port() -> None:
    hosts = read_hosts(["example.org:8443", "example.org"], ["example.org:443"])
    with pytest.raises(EgressRefused):
        hosts.find("example.org", 8443)


@pytest.mark.parametrize(
    "text", ["", "*", "*.", "*example.com", "a.*.com", "http://a.example", "127.0.0.1", "a.example:0", "a.example ro",
             "localhost", "a.example:70000", "\xe4.example", "a.example\n"]
)  # fmt: skip
def test_an_entry_that_says_something_else_than_a_host_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest):
        read_hosts([text if text != "a.example\n" else "a.example\nb.example"])

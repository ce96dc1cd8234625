from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from executor.errors import EgressRefused
from executor.network.addresses import display_url, is_metadata, is_private, is_private_host, parse

PRIVATE = [
    "127.0.0.1", "127.9.9.9", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1",
    "0.0.0.0",  # noqa: S104 - an address to refuse
    "224.0.0.1", "255.255.255.255", "240.0.0.1", "192.0.2.1", "198.18.0.1", "::1", "::", "fe80::1", "fc00::1",
    "fd12::1", "ff02::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "64:ff9b::7f00:1",
    "2002:7f00:1::", "2001:db8::1", "fec0::1", "feff:ffff::1", "3fff::1", "3fff:fff:ffff::1", "192.88.99.1",
    "198.51.100.7", "203.0.113.9", "198.19.255.255", "192.0.0.9", "64:ff9b:1::808:808", "64:ff9b::a00:1", "100::1",
    "100:0:0:1::1", "2001:2::1", "2001:20::1", "2001:0:7f00:1::1", "2002:a00:1::1", "2002:808:808::1", "5f00::1",
    "::8.8.8.8", "::ffff:0:10.0.0.1", "2606:4700::5efe:a00:1", "2606:4700::200:5efe:7f00:1", "4000::1", "1000::1",
    "fe00::1", "239.255.255.250", "192.31.196.1", "192.52.193.1", "192.175.48.1", "2620:4f:8000::1",
]  # fmt: skip
PUBLIC = ["8.8.8.8", "1.1.1.1", "93.184.216.34", "2606:4700:4700::1111", "::ffff:8.8.8.8", "192.88.98.1",
          "3ffe:ffff::1", "2003::1", "2a00:1450::1", "172.32.0.1", "100.128.0.1", "198.20.0.1"]  # fmt: skip


@pytest.mark.parametrize("address", PRIVATE)
def test_addresses_off_the_public_internet_are_private(address: str) -> None:
    assert is_private(ipaddress.ip_address(address))


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_are_not_private(address: str) -> None:
    assert not is_private(ipaddress.ip_address(address))


@given(st.ip_addresses(v=4))
def test_wrapping_an_address_into_ipv6_never_hides_that_it_is_private(address: ipaddress.IPv4Address) -> None:
    if is_private(address):
        for wrapping in ("::ffff:{}", "64:ff9b::{}", "2606:4700::5efe:{}"):
            assert is_private(ipaddress.IPv6Address(wrapping.format(address)))


@pytest.mark.parametrize(
    "address", ["169.254.169.254", "fe80::1", "::ffff:169.254.169.254", "fd00:ec2::254", "64:ff9b::a9fe:a9fe"]
)
def test_metadata_addresses_are_known_in_every_spelling(address: str) -> None:
    assert is_metadata(ipaddress.ip_address(address))


@pytest.mark.parametrize("host", ["localhost", "localhost.", "a.localhost", "127.0.0.1", "::1"])
def test_names_for_this_machine_are_private(host: str) -> None:
    assert is_private_host(host)


@pytest.mark.parametrize(
    "url",
    [
        "http://0x7f.1/", "http://2130706433/", "http://0177.0.0.1/", "http://127.1/", "http://0/", "http://127.0.0.1.0x1/",
        "http://0x7f000001/", "http://[::1", "http:///path", "http://user:pass@example.com/", "http://user@example.com/",
        "file:///etc/passwd", "gopher://example.com/", "unix:///run/x.sock", "ftp://example.com/", "//example.com/",
        "http://exa mple.com/", "http://example.com\\@evil.com/", "http://example.com/\r\nX: y", "http://example.com:99999/",
        "javascript:alert(1)", "", "http://\u2488example.com:x/", "http://-/", "http://%31/",
    ],
)  # fmt: skip
def test_only_plain_http_addresses_are_understood(url: str) -> None:
    with pytest.raises(EgressRefused) as caught:
        parse(url)
    assert caught.value.hint


def test_origins_have_one_spelling() -> None:
    assert parse("HTTP://Example.COM/a").origin == parse("http://example.com:80/b?c").origin == "http://example.com:80"
    assert parse("https://[0:0::1]/").origin == "https://[::1]:443"
    assert parse("https://bücher.example/ä").url == "https://xn--bcher-kva.example:443/%C3%A4"


def test_digits_of_another_alphabet_do_not_hide_an_address() -> None:
    target = parse("http://①②⑦.0.0.1/")
    assert (target.host, target.url) == ("127.0.0.1", "http://127.0.0.1:80/")
    assert is_private_host(target.host)


def test_shown_addresses_hold_no_secrets() -> None:
    text = display_url("https://me:hunter2@api.example.com/a?token=abc&b=c#frag\x1b[31m")
    assert "hunter2" not in text and "abc" not in text and "\x1b" not in text
    assert text == "https://api.example.com/a?token=…&b=…"

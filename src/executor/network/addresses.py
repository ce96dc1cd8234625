"""Which addresses may be reached: pure decisions over URLs and IP addresses, apart from any I/O."""

from __future__ import annotations

import ipaddress
import re
from functools import lru_cache
from urllib.parse import SplitResult, quote, urlsplit, urlunsplit

from executor.dataclass import dataclass
from executor.errors import EgressRefused

PORTS = {"http": 80, "https": 443}
# Every resolver reads these as IPv4 (0x7f.1, 017700000001, 2130706433), but a check of the text would not.
_NUMERIC_LABEL = re.compile(r"(?:0x[0-9a-f]*|\d+)\Z", re.IGNORECASE)
_UNSAFE = re.compile(r"[\x00-\x20\x7f\\]")
_AUTHORITY_END = re.compile(r"[/?#]")
_HOST = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_.])?\Z")
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
# Networks that are not the public internet, as IANA registers them. Written out: Python's own list grows with its
# versions, and knows neither site-local addresses nor relays. Of IPv6, only 2000::/3 is public at all.
_PUBLIC_V6 = ipaddress.ip_network("2000::/3")
_SPECIAL_V6 = tuple(
    map(
        ipaddress.IPv6Network,
        (
            "2001::/23",  # protocol assignments: Teredo, benchmarks, ORCHID
            "2001:db8::/32",  # documentation
            "2002::/16",  # 6to4, whose relays are gone
            "2620:4f:8000::/48",  # AS112
            "3fff::/20",  # documentation
        ),
    )
)
_SPECIAL_V4 = tuple(
    map(
        ipaddress.IPv4Network,
        (
            "0.0.0.0/8",
            "10.0.0.0/8",
            "100.64.0.0/10",  # shared by carriers
            "127.0.0.0/8",
            "169.254.0.0/16",
            "172.16.0.0/12",
            "192.0.0.0/24",
            "192.0.2.0/24",  # documentation
            "192.31.196.0/24",  # AS112
            "192.52.193.0/24",  # AMT relays
            "192.88.99.0/24",  # 6to4 relays
            "192.168.0.0/16",
            "192.175.48.0/24",  # AS112
            "198.18.0.0/15",  # benchmarks
            "198.51.100.0/24",  # documentation
            "203.0.113.0/24",  # documentation
            "224.0.0.0/3",  # multicast, reserved, broadcast
        ),
    )
)
_ISATAP = (0x00005EFE, 0x02005EFE)
# Beside the link-local networks.
_METADATA = frozenset(map(ipaddress.ip_address, ("fd00:ec2::254", "fd20:ce::254", "100.100.100.200", "192.0.0.192")))

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True, slots=True)
class Target:
    """A URL that was understood: `origin` is scheme, host and port in one canonical spelling."""

    url: str
    scheme: str
    host: str
    port: int
    origin: str


def parse(url: str) -> Target:
    """Raises EgressRefused for anything but a plain http(s) URL."""
    if _UNSAFE.search(url):
        raise EgressRefused(
            f"{display_url(url)} contains white space, control characters or backslashes", hint="percent-encode them"
        )
    scheme, separator, rest = url.partition("://")
    end = _AUTHORITY_END.search(rest)
    authority = rest[: end.start()] if end else rest
    found = parse_origin(f"{scheme}{separator}{authority}")
    written = url if url.isascii() else in_ascii(urlsplit(url), found)
    return Target(written, found.scheme, found.host, found.port, found.origin)


@lru_cache(1_000)
def parse_origin(url: str) -> Target:
    """Of a URL that ends with its authority. Few of them occur, many times each."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise EgressRefused(f"{display_url(url)} is not a valid URL: {error}", hint="check the address") from error
    if not parts.scheme:
        raise EgressRefused(f"{display_url(url)!r} is not an address", hint="begin it with https:// or http://")
    if parts.scheme not in PORTS:
        raise EgressRefused(
            f"{display_url(url)} uses the scheme `{parts.scheme}:`",
            hint="only http:// and https:// addresses can be reached",
        )
    if parts.username is not None or parts.password is not None:
        raise EgressRefused(f"{display_url(url)} carries a user name or password", hint="give the address without them")
    host = canonical_host(parts.hostname or "", url)
    port = port or PORTS[parts.scheme]
    written = f"[{host}]" if ":" in host else host
    return Target(url, parts.scheme, host, port, f"{parts.scheme}://{written}:{port}")


def in_ascii(parts: SplitResult, target: Target) -> str:
    netloc = target.origin.partition("://")[2]
    path, query = (quote(part, safe="/?&=%:@!$'()*+,;~-._") for part in (parts.path, parts.query))
    return urlunsplit((parts.scheme, netloc, path, query, ""))


def canonical_host(host: str, url: str) -> str:
    if not host:
        raise EgressRefused(
            f"{display_url(url)} has no host", hint="use a full address such as https://api.example.com"
        )
    if ":" in host:
        try:
            return str(ipaddress.IPv6Address(host))
        except ValueError as error:
            raise EgressRefused(f"{display_url(url)} has no valid host", hint="check the address") from error
    try:
        host = host.encode("idna").decode() if not host.isascii() else host.lower()
    except UnicodeError as error:
        raise EgressRefused(f"{display_url(url)} has no valid host", hint="check the address") from error
    if not _HOST.match(host):
        raise EgressRefused(f"{display_url(url)} has no valid host", hint="check the address")
    if _NUMERIC_LABEL.match(host.rstrip(".").rpartition(".")[2]) and literal(host) is None:
        raise EgressRefused(
            f"{display_url(url)} spells an IP address in an unusual way", hint="write it as four decimal numbers"
        )
    return host


def literal(host: str) -> Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def is_private(address: Address) -> bool:
    """True for every address that is not plainly on the public internet, also when wrapped into IPv6."""
    if isinstance(address, ipaddress.IPv4Address):
        return any(address in network for network in _SPECIAL_V4)
    inner = unwrap_ipv4(address)
    if inner is not None and is_private(inner):
        return True
    if address.ipv4_mapped is not None:
        return False
    return address not in _PUBLIC_V6 or any(address in network for network in _SPECIAL_V6)


def unwrap_ipv4(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """The IPv4 address inside an IPv6 address: mapped, 6to4, Teredo, NAT64 or ISATAP."""
    inner = address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else None)
    if inner is None and (address in _NAT64 or (int(address) >> 32) & 0xFFFFFFFF in _ISATAP):
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return inner


def is_metadata(address: Address) -> bool:
    """Where clouds answer with credentials: opened only to who writes the address out, never by a name or document."""
    inner = unwrap_ipv4(address) if isinstance(address, ipaddress.IPv6Address) else None
    return any(one.is_link_local or one in _METADATA for one in (address, inner) if one is not None)


@lru_cache(1_000)
def is_private_host(host: str) -> bool:
    """As far as the text alone shows; names are resolved and checked when a connection is opened."""
    address = literal(host)
    if address is not None:
        return is_private(address)
    name = host.rstrip(".")
    return name == "localhost" or name.endswith(".localhost")


def refusal(host: str, address: str = "") -> EgressRefused:
    where = f"{host} ({address})" if address and address != host else host
    return EgressRefused(
        f"{where} is on a private or reserved network, and this source has no access to it",
        hint="an operator can allow it by adding the source with that address as its location or base URL",
    )


def moved_refusal(host: str, address: str) -> EgressRefused:
    return EgressRefused(
        f"{host} now resolves to {address or 'no address'}, which it did not when this source was added",
        hint="if this is expected, remove the source and add it again",
    )


def display_url(url: str) -> str:
    """A URL fit for messages: no user name, password, query values or fragment, no control characters."""
    url = re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]", "�", url)[:500]
    try:
        parts = urlsplit(url)
    except ValueError:
        return "the address"
    names = "&".join(f"{pair.partition('=')[0]}=…" for pair in parts.query.split("&")) if parts.query else ""
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, names, ""))

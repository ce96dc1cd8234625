"""The head of a proxy request, read strictly: what is unclear is refused, not guessed."""

from __future__ import annotations

import re

from executor.dataclass import dataclass
from executor.errors import EgressRefused
from executor.sessions.egress.host_names import read_host

MAX_HEAD = 32 * 1024
MAX_HEADERS = 100
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
SAFE_METHODS = frozenset({"GET", "HEAD"})
REQUEST_LINE = re.compile(r"([A-Z]{1,20}) ([\x21-\x7e]{1,8192}) HTTP/1\.[01]\Z", re.ASCII)
HEADER = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}):[ \t]*([^\x00-\x08\x0a-\x1f\x7f]*?)[ \t]*\Z")
PORT = re.compile(r"[1-9][0-9]{0,4}\Z", re.ASCII)
# Between the agent and this proxy only; and what would let a body have no clear end.
DROPPED = frozenset({"connection", "keep-alive", "te", "trailer", "upgrade", "host", "expect"})

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class RequestHead:
    method: str
    target: str
    headers: Headers

    def values(self, name: str) -> list[str]:
        return [value for key, value in self.headers if key.lower() == name]


@dataclass(frozen=True, slots=True)
class Wanted:
    """Where a request is to go. `path` is empty for a tunnel."""

    host: str
    port: int
    path: str = ""


def parse_head(data: bytes) -> RequestHead:
    """`data` ends with the blank line. Raises EgressRefused."""
    lines = data.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    first = REQUEST_LINE.match(lines[0])
    fields = [HEADER.match(line) for line in lines[1:]]
    if first is None or len(fields) > MAX_HEADERS or not all(fields):
        raise bad_request("it is not a plain HTTP/1.1 request")
    return RequestHead(first[1], first[2], tuple((one[1], one[2]) for one in fields if one is not None))


def read_tunnel(head: RequestHead) -> Wanted:
    host, _, port = head.target.rpartition(":")
    return Wanted(read_host(host), read_port(port))


def read_forward(head: RequestHead) -> Wanted:
    """An absolute URL, and a Host header that agrees with it."""
    scheme, _, rest = head.target.partition("://")
    if scheme.lower() != "http" or head.method not in METHODS or "#" in rest:
        raise bad_request("only http:// addresses are forwarded, and CONNECT for https://")
    cut = min((at for at in (rest.find("/"), rest.find("?")) if at >= 0), default=len(rest))
    authority, path = rest[:cut], rest[cut:]
    name, colon, port = authority.partition(":")
    wanted = Wanted(read_host(name), read_port(port) if colon else 80, path if path.startswith("/") else f"/{path}")
    said = head.values("host")
    if len(said) > 1 or any(one.lower() not in (authority.lower(), f"{wanted.host}:{wanted.port}") for one in said):
        raise bad_request("its Host header names another host than its address")
    return wanted


def read_port(text: str) -> int:
    if not PORT.match(text) or int(text) > 65535:
        raise bad_request("its port is not a number")
    return int(text)


def body_length(head: RequestHead) -> int:
    """A body has a length that is said once; one in chunks could hide a second request."""
    lengths = head.values("content-length")
    if head.values("transfer-encoding") or len(lengths) > 1 or any(not one.isdecimal() for one in lengths):
        raise bad_request("the length of its body is not clear")
    return int(lengths[0]) if lengths and len(lengths[0]) < 16 else 0 if not lengths else refuse_length()


def refuse_length() -> int:
    raise bad_request("its body is too large")


def write_forward(head: RequestHead, wanted: Wanted) -> bytes:
    """For the host itself: without what is meant for proxies, and for one request only."""
    named = {name.strip().lower() for value in head.values("connection") for name in value.split(",")}
    kept = [(name, value) for name, value in head.headers if passes(name.lower(), named)]
    host = wanted.host if wanted.port == 80 else f"{wanted.host}:{wanted.port}"
    lines = [f"{head.method} {wanted.path} HTTP/1.1", f"Host: {host}", *(f"{name}: {value}" for name, value in kept)]
    return "\r\n".join([*lines, "Connection: close", "", ""]).encode("latin-1")


def passes(name: str, named: set[str]) -> bool:
    if name == "content-length":
        return True
    return name not in DROPPED and name not in named and not name.startswith("proxy-")


def bad_request(why: str) -> EgressRefused:
    return EgressRefused(f"the request is refused: {why}", hint="use a plain HTTP proxy client", reason="malformed")

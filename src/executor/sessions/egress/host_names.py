"""Host names as an agent writes them: taken letter by letter, before anything is resolved."""

from __future__ import annotations

import re

from executor.errors import EgressRefused
from executor.network.addresses import literal

# Plain names only. No escapes, user names, ports, trailing dots or letters outside ASCII: each has been a way to make
# two programs read different hosts from one text.
LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
NAME = re.compile(rf"{LABEL}(?:\.{LABEL})+\Z", re.ASCII)
NUMERIC = re.compile(r"(?:0x[0-9a-f]*|[0-9]+)\Z", re.ASCII)
MAX_NAME = 253


def read_host(text: str) -> str:
    """In lower case. Raises EgressRefused for anything but a plain, full domain name."""
    name = text.lower()
    if literal(name.strip("[]")) is not None:
        raise host_refusal(text, "an address instead of a name")
    if len(name) > MAX_NAME or not NAME.match(name):
        raise host_refusal(text, "not a plain domain name")
    if NUMERIC.match(name.rpartition(".")[2]):
        raise host_refusal(text, "an unusual spelling of an address")
    if any(label.startswith("xn--") for label in name.split(".")):
        raise host_refusal(text, "an internationalized name")
    return name


def host_refusal(text: str, what: str) -> EgressRefused:
    shown = "".join(letter if letter.isascii() and letter.isprintable() else "?" for letter in text[:100])
    return EgressRefused(
        f"{shown!r} is {what}", hint="use the plain name of a host that is allowed", reason="host", host=shown
    )

"""An address of this machine that counts as one of the public internet, which tests can't have."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from executor.network import addresses

PUBLIC_HOST = "127.0.0.2"


@contextmanager
def public_address() -> Iterator[str]:
    """Every other address of the loopback network stays private."""
    loopback = ipaddress.IPv4Network("127.0.0.0/8")
    rest = loopback.address_exclude(ipaddress.IPv4Network(f"{PUBLIC_HOST}/32"))
    others = [network for network in addresses._SPECIAL_V4 if network != loopback]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(addresses, "_SPECIAL_V4", (*others, *rest))
        addresses.is_private_host.cache_clear()
        yield PUBLIC_HOST
    addresses.is_private_host.cache_clear()

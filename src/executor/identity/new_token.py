"""Tokens that are shown once. Only the digest of one is kept, and a few letters to recognise it by."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import field
from typing import Final

from executor.dataclass import dataclass

PERSONAL: Final = "exk_"
AGENT: Final = "exa_"
ANONYMOUS: Final = "exn_"
VISITOR: Final = "exv_"  # of a browser without an account
SESSION: Final = "exs_"  # a browser's, and an anonymous agent's
LINK: Final = "exl_"
INVITATION: Final = "exi_"
_TELLING = 4


@dataclass(frozen=True, slots=True)
class Minted:
    token: str = field(repr=False)
    digest: str
    prefix: str


def mint(kind: str) -> Minted:
    """256 random bits behind a prefix that shows people, and scanners of leaked secrets, what it is."""
    token = kind + secrets.token_urlsafe(32)
    return Minted(token, digest(token), token[: len(kind) + _TELLING])


def digest(token: str) -> str:
    """A lookup by it takes no time that depends on how much of a guess is right."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()

"""Sources that can't be read before they have a credential: connected without tools, which come once they have one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from executor.errors import SourceError
from executor.model.source import Loaded, Source
from executor.network.addresses import parse
from executor.sources.challenges import NEEDS_CREDENTIAL
from executor.sources.source_request import SourceRequest

CHALLENGE = "challenge"  # in a config: what the service itself said it takes


def needs_credential(error: SourceError) -> bool:
    return error.details.get("reason") == NEEDS_CREDENTIAL


def load_unread(
    request: SourceRequest, error: SourceError, namespace: str, base_url: str, origins: Sequence[str]
) -> Loaded:
    """As it is kept until it can be read, for kinds that are reached by HTTP."""
    config = {
        "location": request.location,
        "spec_url": request.spec_url,
        "base_url": base_url,
        "given_base_url": request.base_url,
        "transport": "http",
        "headers": [list(pair) for pair in request.headers],
        "options": dict(request.options),
        "allow_private": request.consented.private_network,
        "origins": list(origins),
        "validators": {},
        **unread_marks(request, error),
    }
    return Loaded(request.name or namespace, namespace, (), {}, (), "", config)


def unread_marks(request: SourceRequest, error: SourceError) -> dict[str, Any]:
    """`unread` is where a credential has to be sent. A kind that was only guessed is looked for again with it."""
    auth = error.details["auth"]
    where = error.details.get("refused_by") or parse(request.location).origin
    guessed = {"undetermined": True} if request.undetermined else {}
    return {"auth": auth, CHALLENGE: auth, "unread": where, **guessed}


def mark_unread(source: Source, error: SourceError) -> Source:
    """After a refresh that failed: a new credential is then for reading it."""
    where = error.details.get("refused_by") if needs_credential(error) else ""
    return replace(source, config={**source.config, "unread": where}) if where else source


def mark_read(source: Source) -> Source:
    return replace(source, config={name: value for name, value in source.config.items() if name != "unread"})


def with_challenge(source: Source, fresh: Source) -> Source:
    """What the service asked for, where what was read with it says nothing of that."""
    challenge = source.config.get(CHALLENGE)
    if not challenge:
        return fresh
    auth = fresh.known_keys.get("auth") or challenge
    return replace(fresh, config={**fresh.config, CHALLENGE: challenge, "auth": auth})

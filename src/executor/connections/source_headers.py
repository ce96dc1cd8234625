"""What a source is given in its own config: headers, and the environment of a command.

The config names them; their values lie sealed in the store of secrets and are put back only for a call or a read.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import orjson
from sqlalchemy.engine import Connection

from executor.connections.origin import origin_of
from executor.model.credentials import PLAIN_HEADER, SECRET_VARIABLE
from executor.model.known_keys import KnownConfig
from executor.model.source import Source
from executor.secrets.secrets import Secrets
from executor.storage.catalog import sources
from executor.storage.credentials import secrets as rows
from executor.storage.database import Database

PARTS = ("headers", "environment")
MARK = "static"
KEPT = 500


class SourceHeaders:
    def __init__(self, database: Database, secrets: Secrets) -> None:
        self._database = database
        self._secrets = secrets
        self._known: dict[str, dict[str, Any]] = {}

    async def unseal(self, source: Source) -> Source:
        """With its values; for use at once, and never to be stored."""
        secret_id = source.known_keys.get("static")
        if not secret_id:
            return source
        held = self._known.get(secret_id)
        if held is None:
            value = await self._secrets.value(source.workspace_id, secret_id)
            held = orjson.loads(value)
            if len(self._known) >= KEPT:
                self._known.clear()
            self._known[secret_id] = held
        return replace(source, config={**source.config, **held})

    def seal(self, c: Connection, source: Source) -> Source:
        """In a writing job: the values are sealed, and the config keeps the names."""
        held = {part: source.config[part] for part in PARTS if has_values(source.config.get(part))}
        if not held:
            return source
        kept = self._secrets.keep(c, source.workspace_id, name_of(source), orjson.dumps(held).decode(), "")
        return replace(source, config={**blank_values(source.config), MARK: kept.id})

    def reseal(self, c: Connection, source: Source) -> Source:
        """In a writing job: other values take the place of those that were sealed."""
        self.forget(c, source)
        return self.seal(c, replace(source, config={name: one for name, one in source.config.items() if name != MARK}))

    def forget(self, c: Connection, source: Source) -> None:
        rows.delete_named(c, source.workspace_id, name_of(source))

    async def migrate(self) -> int:
        """Seal what an older version left in the clear, and take its traces out of the file; how many sources."""
        found = [one for one in await self._database.read(sources.everywhere) if is_clear(one.config)]
        if not found:
            return 0

        def job(c: Connection) -> None:
            for source in found:
                sources.rewrite(c, self.seal(c, source))

        await self._database.write(job)
        await self._database.compact()
        return len(found)


def name_of(source: Source) -> str:
    return f"source:{source.id}"


def has_values(pairs: Any) -> bool:
    return any(value for _, value in pairs or ())


def is_clear(config: dict[str, Any]) -> bool:
    return not config.get(MARK) and any(has_values(config.get(part)) for part in PARTS)


def blank_values(config: dict[str, Any]) -> dict[str, Any]:
    """A variable without a value of its own stays None: it is handed on from the daemon."""
    parts = {part: config[part] for part in PARTS if part in config}
    return {**config, **{part: [[name, value and ""] for name, value in pairs] for part, pairs in parts.items()}}


def as_before(source: Source, fresh: Source) -> Source:
    """After a refresh: the source keeps the values that are sealed already, for the origin they were given for."""
    if MARK not in source.config:
        return fresh
    origin = source.known_keys.get("headers_for") or origin_of(source)
    moved = {"headers_for": origin} if origin and origin_of(fresh) != origin else {}
    return replace(fresh, config={**blank_values(fresh.config), MARK: source.config[MARK], **moved})


def values_of(config: KnownConfig) -> tuple[str, ...]:
    """What of an opened config must never be seen in anything that comes back."""
    headers = [value for name, value in config.get("headers") or () if value and not PLAIN_HEADER.fullmatch(name)]
    variables = [value for name, value in config.get("environment") or () if value and SECRET_VARIABLE.search(name)]
    return header_values([*headers]) + tuple(variables)


def header_values(headers: Sequence[str]) -> tuple[str, ...]:
    """Each as a whole, without the scheme before it, and for Basic the password inside."""
    found: list[str] = []
    for header in headers:
        scheme, _, rest = header.partition(" ")
        found += [header, rest.strip()] if rest.strip() else [header]
        if scheme.lower() == "basic":
            with suppress(binascii.Error, UnicodeDecodeError):
                found.append(base64.b64decode(rest.strip(), validate=True).decode().partition(":")[2])
    return tuple(dict.fromkeys(value for value in found if value))

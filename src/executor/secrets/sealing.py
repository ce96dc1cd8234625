"""Sealing: AES-256-GCM in an envelope. The master key seals data keys, a data key seals values.

A sealed value is bound to its context (what it is and whose), so that a row copied over another one does not open.
"""

from __future__ import annotations

import secrets
import threading
from typing import TYPE_CHECKING

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.dataclass import dataclass
from executor.errors import SecretUnavailable
from executor.model.ids import new_id, now_ms
from executor.secrets.envelope import cipher, decrypt, encrypt
from executor.secrets.master_keys import MasterKeys, Wrapped
from executor.storage.tables.access import data_keys

if TYPE_CHECKING:  # the library takes long to import: not before something is sealed
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class Sealed:
    key_id: str
    data: bytes


class Sealing:
    """All of it runs in a database job: the keys lie there, sealed, and are opened at most once a process."""

    def __init__(self, masters: MasterKeys) -> None:
        self._masters = masters
        self._open: dict[str, AESGCM] = {}
        self._lock = threading.RLock()

    def seal(self, c: Connection, value: bytes, context: str) -> Sealed:
        """In a writing job: the first use makes the first key.

        Which key is the newest is read each time: one that another job made may have been rolled back with it.
        """
        with self._lock:
            key_id = self._newest(c) or self._create(c)
            return Sealed(key_id, encrypt(self._key(c, key_id), value, context))

    def unseal(self, c: Connection, sealed: Sealed, context: str) -> bytes:
        with self._lock:
            key = self._key(c, sealed.key_id)
        return decrypt(key, sealed.data, context, "a stored secret")

    def rotate_master(self, c: Connection) -> None:
        """Another master key seals every data key again.

        A rotation that was committed and not finished is finished first: its key is the only one that fits.
        """
        with self._lock:
            self.finish_rotation(c)
            keys = {row.id: self._unseal_key(row) for row in c.execute(sa.select(data_keys))}
            wrap = self._masters.choose_next(self._read_masters_in_use(c))
            for key_id, key in keys.items():
                wrapped = wrap(key_id, key)
                changed = {"sealed": wrapped.data, "master_id": wrapped.master_id}
                c.execute(sa.update(data_keys).where(data_keys.c.id == key_id).values(**changed))

    def finish_rotation(self, c: Connection) -> None:
        """After the commit: the new master key takes the place of the old one. Done again at a start after a crash."""
        with self._lock:
            self._masters.finish_rotation(self._read_masters_in_use(c))

    def new_data_key(self, c: Connection) -> str:
        """What is sealed from now on is sealed with a new key; the old ones stay until nothing needs them."""
        with self._lock:
            c.execute(sa.update(data_keys).where(data_keys.c.retired_at.is_(None)).values(retired_at=now_ms()))
            return self._create(c)

    def drop_unused(self, c: Connection, used: set[str]) -> None:
        """Retired keys that no longer seal anything; those of the last day stay, for what is only under way."""
        unused = (data_keys.c.retired_at < now_ms() - DAY_MS, data_keys.c.id.not_in(used))
        c.execute(sa.delete(data_keys).where(*unused))

    def _newest(self, c: Connection) -> str:
        query = sa.select(data_keys.c.id).where(data_keys.c.retired_at.is_(None)).order_by(data_keys.c.id.desc())
        return c.execute(query.limit(1)).scalar_one_or_none() or ""

    def _create(self, c: Connection) -> str:
        key_id, key = new_id("dek"), secrets.token_bytes(32)
        wrapped = self._masters.choose_current(self._read_masters_in_use(c))(key_id, key)
        row = {"id": key_id, "master_id": wrapped.master_id, "sealed": wrapped.data, "created_at": now_ms()}
        c.execute(sa.insert(data_keys), row)
        return key_id

    def _read_masters_in_use(self, c: Connection) -> set[str]:
        return set(c.execute(sa.select(data_keys.c.master_id).distinct()).scalars())

    def _key(self, c: Connection, key_id: str) -> AESGCM:
        if key_id not in self._open:
            row = c.execute(sa.select(data_keys).where(data_keys.c.id == key_id)).first()
            if row is None:
                raise SecretUnavailable(f"the key {key_id} is missing", hint="restore the database from a backup")
            self._open[key_id] = cipher(self._unseal_key(row))
        return self._open[key_id]

    def _unseal_key(self, row: sa.Row[tuple[str, str, bytes, int, int]]) -> bytes:
        return self._masters.unwrap(row.id, Wrapped(row.master_id, row.sealed))

"""Sealing: AES-256-GCM in an envelope. The master key seals data keys, a data key seals values.

A sealed value is bound to its context (what it is and whose), so that a row copied over another one does not open.
"""

from __future__ import annotations

import secrets
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.errors import SecretUnavailable
from executor.model.ids import new_id, now_ms
from executor.secrets.master import CURRENT, NEXT, Keeper, Master
from executor.storage.tables.access import data_keys

if TYPE_CHECKING:  # the library takes long to import: not before something is sealed
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

NONCE = 12
DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class Sealed:
    key_id: str
    data: bytes


class Sealing:
    """All of it runs in a database job: the keys lie there, sealed, and are opened at most once a process."""

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper
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

    def rotate_master(self, c: Connection) -> Master:
        """A new master key seals every data key again. Whichever of the two a crash leaves, one opens them.

        A rotation that was committed and not finished is finished first: its key is the only one that fits.
        """
        with self._lock:
            self.finish_rotation(c)
            fresh = Master.new()
            keys = {row.id: self._unseal_key(row) for row in c.execute(sa.select(data_keys))}
            self._keeper.write(NEXT, fresh)
            for key_id, key in keys.items():
                changed = {"sealed": encrypt(cipher(fresh.key), key, key_id), "master_id": fresh.id}
                c.execute(sa.update(data_keys).where(data_keys.c.id == key_id).values(**changed))
            return fresh

    def finish_rotation(self, c: Connection) -> None:
        """After the commit: the new master key takes the place of the old one. Done again at a start after a crash."""
        with self._lock:
            fresh = self._keeper.read(NEXT)
            if fresh is None:
                return
            used = set(c.execute(sa.select(data_keys.c.master_id).distinct()).scalars())
            if fresh.id in used and used != {fresh.id}:
                raise SecretUnavailable(
                    "the stored secrets need two master keys at once", hint="restore the database from a backup"
                )
            if fresh.id in used:
                self._keeper.write(CURRENT, fresh)
            self._keeper.remove(NEXT)

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
        master = self._master(c)
        key_id, key = new_id("dek"), secrets.token_bytes(32)
        row = {"id": key_id, "master_id": master.id, "sealed": encrypt(cipher(master.key), key, key_id)}
        c.execute(sa.insert(data_keys), {**row, "created_at": now_ms()})
        return key_id

    def _key(self, c: Connection, key_id: str) -> AESGCM:
        if key_id not in self._open:
            row = c.execute(sa.select(data_keys).where(data_keys.c.id == key_id)).first()
            if row is None:
                raise SecretUnavailable(f"the key {key_id} is missing", hint="restore the database from a backup")
            self._open[key_id] = cipher(self._unseal_key(row))
        return self._open[key_id]

    def _unseal_key(self, row: sa.Row[tuple[str, str, bytes, int, int]]) -> bytes:
        masters = [found for name in (CURRENT, NEXT) if (found := self._keeper.read(name)) is not None]
        master = next((one for one in masters if one.id == row.master_id), None)
        if master is None:
            raise SecretUnavailable(
                "the stored secrets were encrypted with another master key",
                hint="restore the `secret.key` (or keyring entry) that belongs to this database",
            )
        return decrypt(cipher(master.key), row.sealed, row.id, "a data key")

    def _master(self, c: Connection) -> Master:
        """The one that the sealed keys of this database need; only a database without any gets a new one."""
        masters = [found for name in (CURRENT, NEXT) if (found := self._keeper.read(name)) is not None]
        used = set(c.execute(sa.select(data_keys.c.master_id).distinct()).scalars())
        fitting = [one for one in masters if not used or one.id in used]
        if fitting:
            return fitting[0]
        if used:
            raise SecretUnavailable(
                "the master key of the stored secrets is missing", hint="restore its `secret.key` from a backup"
            )
        present = Master.new()
        self._keeper.write(CURRENT, present)
        return present


def cipher(key: bytes) -> AESGCM:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    return AESGCM(key)


def encrypt(key: AESGCM, value: bytes, context: str) -> bytes:
    nonce = secrets.token_bytes(NONCE)
    return nonce + key.encrypt(nonce, value, context.encode())


def decrypt(key: AESGCM, data: bytes, context: str, what: str) -> bytes:
    from cryptography.exceptions import InvalidTag

    try:
        return key.decrypt(data[:NONCE], data[NONCE:], context.encode())
    except InvalidTag as error:
        raise SecretUnavailable(
            f"{what} can't be decrypted: it was changed, or belongs elsewhere",
            hint="set it again, or restore the database and the master key from the same backup",
        ) from error

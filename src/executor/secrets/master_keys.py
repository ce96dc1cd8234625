"""What seals the data keys: a master key of this machine, keys that every machine is given, or a service that has them.

`used` are the ids of the master keys that seal the data keys of this database now.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Protocol

from executor.dataclass import dataclass
from executor.errors import Conflict, SecretUnavailable
from executor.secrets.envelope import cipher, decrypt, encrypt
from executor.secrets.master import CURRENT, NEXT, Keeper, Master


@dataclass(frozen=True, slots=True)
class Wrapped:
    """A data key, sealed by the master key of this id."""

    master_id: str
    data: bytes


Wrap = Callable[[str, bytes], Wrapped]  # the id of a data key and the key


class MasterKeys(Protocol):
    def has(self, master_id: str) -> bool: ...

    def choose_current(self, used: Collection[str]) -> Wrap:
        """Seals like the data keys that are there."""

    def choose_next(self, used: Collection[str]) -> Wrap:
        """Seals with another master key, which everything moves to in this transaction."""

    def unwrap(self, key_id: str, wrapped: Wrapped) -> bytes: ...

    def finish_rotation(self, used: Collection[str]) -> None:
        """After the commit, and at a start after a crash."""


class KeptKeys:
    """Of this machine: a `Keeper` stores the one in use, and another one while it is replaced."""

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper

    def _read(self) -> list[Master]:
        return [found for name in (CURRENT, NEXT) if (found := self._keeper.read(name)) is not None]

    def has(self, master_id: str) -> bool:
        return any(one.id == master_id for one in self._read())

    def choose_current(self, used: Collection[str]) -> Wrap:
        """Only a database without any data key gets a new master key."""
        fitting = [one for one in self._read() if not used or one.id in used]
        if fitting:
            return wrap_with(fitting[0])
        if used:
            raise SecretUnavailable(
                "the master key of the stored secrets is missing", hint="restore its `secret.key` from a backup"
            )
        made = Master.new()
        self._keeper.write(CURRENT, made)
        return wrap_with(made)

    def choose_next(self, used: Collection[str]) -> Wrap:
        """Whichever of the two a crash leaves, one opens the data keys."""
        made = Master.new()
        self._keeper.write(NEXT, made)
        return wrap_with(made)

    def unwrap(self, key_id: str, wrapped: Wrapped) -> bytes:
        return unwrap_with(
            self._read(), key_id, wrapped, "restore the `secret.key` (or keyring entry) of this database"
        )

    def finish_rotation(self, used: Collection[str]) -> None:
        fresh = self._keeper.read(NEXT)
        if fresh is None:
            return
        if fresh.id in used and set(used) != {fresh.id}:
            raise SecretUnavailable(
                "the stored secrets need two master keys at once", hint="restore the database from a backup"
            )
        if fresh.id in used:
            self._keeper.write(CURRENT, fresh)
        self._keeper.remove(NEXT)


class GivenKeys:
    """Of all machines: each process is given the same keys, the newest first. The others only open what they sealed."""

    def __init__(self, masters: Sequence[Master], place: str) -> None:
        self._masters = masters
        self._place = place

    def has(self, master_id: str) -> bool:
        return any(one.id == master_id for one in self._masters)

    def choose_current(self, used: Collection[str]) -> Wrap:
        """A new one that not every process has yet seals nothing before a rotation says so."""
        fitting = [one for one in self._masters if not used or one.id in used]
        if not fitting:
            raise missing(self._place)
        return wrap_with(fitting[0])

    def choose_next(self, used: Collection[str]) -> Wrap:
        if self._masters[0].id in used:
            raise Conflict(
                f"the first key in {self._place} is in use already",
                hint="put a new key in front of it for every process, restart them, and try again",
            )
        return wrap_with(self._masters[0])

    def unwrap(self, key_id: str, wrapped: Wrapped) -> bytes:
        return unwrap_with(self._masters, key_id, wrapped, f"add the key that sealed them to {self._place}")

    def finish_rotation(self, used: Collection[str]) -> None:
        """Old keys are removed by the person who manages them."""


class SucceedingKeys:
    """Those that the settings name now, and those of before, until a rotation has moved everything."""

    def __init__(self, now: MasterKeys, before: MasterKeys) -> None:
        self._now = now
        self._before = before

    def has(self, master_id: str) -> bool:
        return self._now.has(master_id) or self._before.has(master_id)

    def choose_current(self, used: Collection[str]) -> Wrap:
        return self._before.choose_current(used) if self._is_before(used) else self._now.choose_current(used)

    def choose_next(self, used: Collection[str]) -> Wrap:
        return self._now.choose_current(()) if self._is_before(used) else self._now.choose_next(used)

    def unwrap(self, key_id: str, wrapped: Wrapped) -> bytes:
        return (self._before if self._is_before([wrapped.master_id]) else self._now).unwrap(key_id, wrapped)

    def finish_rotation(self, used: Collection[str]) -> None:
        """A process that lacks a key which others use does not start."""
        for one in used:
            if not self.has(one):
                raise SecretUnavailable(
                    f"the stored secrets were encrypted with the master key {one}, which this process does not have",
                    hint="give every process the same keys: see the setting secrets_key",
                )
        if self._is_before(used):
            self._before.finish_rotation(used)

    def _is_before(self, used: Collection[str]) -> bool:
        return any(not self._now.has(one) and self._before.has(one) for one in used)


def wrap_with(master: Master) -> Wrap:
    return lambda key_id, key: Wrapped(master.id, encrypt(cipher(master.key), key, key_id))


def unwrap_with(masters: Sequence[Master], key_id: str, wrapped: Wrapped, hint: str) -> bytes:
    master = next((one for one in masters if one.id == wrapped.master_id), None)
    if master is None:
        raise SecretUnavailable("the stored secrets were encrypted with another master key", hint=hint)
    return decrypt(cipher(master.key), wrapped.data, key_id, "a data key")


def missing(place: str) -> SecretUnavailable:
    return SecretUnavailable(
        f"the master key of the stored secrets is not in {place}", hint=f"add the key that sealed them to {place}"
    )

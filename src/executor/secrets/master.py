"""The master key: what seals the keys that seal the values. It is never in the database, nor in any log or answer.

It lies in a file that only its owner may read, or in the keyring of the operating system. A second key may stand beside
it for as long as one is being replaced by another.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import secrets
import stat
from dataclasses import field
from pathlib import Path
from typing import Protocol

from executor.dataclass import dataclass
from executor.errors import DataDirectoryUnusable, SecretUnavailable, way_to_install
from executor.private_files import write_private

FILE = "secret.key"
SIZE = 32
SERVICE = "executor"


@dataclass(frozen=True, slots=True)
class Master:
    """`id` names a key without telling anything about it."""

    id: str
    key: bytes = field(repr=False)

    @classmethod
    def new(cls) -> Master:
        return cls.of(secrets.token_bytes(SIZE))

    @classmethod
    def of(cls, key: bytes) -> Master:
        return cls(hashlib.sha256(b"executor master key" + key).hexdigest()[:16], key)


class Keeper(Protocol):
    """Where master keys are kept: the one in use, and another while it is replaced."""

    def read(self, name: str) -> Master | None: ...

    def write(self, name: str, master: Master) -> None: ...

    def remove(self, name: str) -> None: ...


CURRENT, NEXT = "current", "next"


class FileKeeper:
    """`secret.key` in the data directory, mode 0600."""

    def __init__(self, data_dir: Path) -> None:
        self._paths = {CURRENT: data_dir / FILE, NEXT: data_dir / f"{FILE}.next"}

    def read(self, name: str) -> Master | None:
        path = self._paths[name]
        try:
            descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise unusable(path, f"can't be opened: {error.strerror}") from error
        with os.fdopen(descriptor, "rb") as file:
            refuse_unsafe(path, os.fstat(file.fileno()))
            return Master.of(decode_key(path, file.read(256)))

    def write(self, name: str, master: Master) -> None:
        """Whole or not at all, and on the disk before this returns."""
        path = self._paths[name]
        try:
            write_private(path, base64.b64encode(master.key) + b"\n", durable=True)
        except OSError as error:
            raise unusable(path, f"can't be written: {error.strerror}") from error

    def remove(self, name: str) -> None:
        self._paths[name].unlink(missing_ok=True)


class KeyringKeeper:
    """The operating system's keyring, by the package `keyring` (the extra of that name)."""

    def __init__(self, data_dir: Path) -> None:
        self._account = f"master {hashlib.sha256(str(data_dir).encode()).hexdigest()[:12]}"

    def read(self, name: str) -> Master | None:
        found = ring().get_password(SERVICE, self._entry(name))
        return None if found is None else Master.of(decode_key(Path("the keyring"), found.encode()))

    def write(self, name: str, master: Master) -> None:
        ring().set_password(SERVICE, self._entry(name), base64.b64encode(master.key).decode())

    def remove(self, name: str) -> None:
        if self.read(name) is not None:
            ring().delete_password(SERVICE, self._entry(name))

    def _entry(self, name: str) -> str:
        return self._account if name == CURRENT else f"{self._account} {name}"


class Ring(Protocol):
    def get_password(self, service: str, name: str) -> str | None: ...

    def set_password(self, service: str, name: str, value: str) -> None: ...

    def delete_password(self, service: str, name: str) -> None: ...


def ring() -> Ring:
    """The keyring in use. One that keeps nothing, or keeps it in clear text, is refused."""
    try:
        import keyring
        from keyring.backends import fail
    except ImportError as error:
        raise SecretUnavailable(
            "the operating system's keyring can't be used: the package `keyring` is not installed",
            hint=f"keep the key in a file: EXECUTOR_SECRETS_KEY=file; or {way_to_install('keyring')}",
        ) from error
    backend = keyring.get_keyring()
    if isinstance(backend, fail.Keyring) or "plaintext" in type(backend).__name__.lower():
        raise SecretUnavailable(
            "this machine has no keyring that can store a secret",
            hint="start one (gnome-keyring, KWallet), or keep the key in a file: EXECUTOR_SECRETS_KEY=file",
        )
    return backend


def decode_key(path: Path, text: bytes) -> bytes:
    try:
        key = base64.b64decode(text.strip(), validate=True)
    except binascii.Error as error:
        raise unusable(path, "does not contain a key") from error
    if len(key) != SIZE:
        raise unusable(path, "does not contain a key")
    return key


def refuse_unsafe(path: Path, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise unusable(path, "is not a regular file")
    if os.name == "posix" and status.st_uid != os.geteuid():
        raise unusable(path, f"belongs to user {status.st_uid}, not to you")
    if os.name == "posix" and stat.S_IMODE(status.st_mode) & 0o077:
        raise unusable(path, f"has mode {stat.S_IMODE(status.st_mode):04o}, so other users may have read it")


def unusable(path: Path, what: str) -> DataDirectoryUnusable:
    return DataDirectoryUnusable(
        f"the key of the secrets, {path}, {what}",
        hint="restore it from a backup with mode 0600; without it the stored secrets can't be read",
    )

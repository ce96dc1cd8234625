"""Which directory of this machine an agent may be started in."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from executor.errors import InvalidRequest


class Private(Protocol):
    """Executor's own directories, which no agent may work in."""

    @property
    def data(self) -> Path: ...

    @property
    def sessions(self) -> Path: ...


def check_directory(given: str, private: Private) -> str:
    """As it is without links, so that nothing put there later leads elsewhere."""
    path = Path(given).expanduser()
    if "\0" in given or not path.is_absolute():
        raise InvalidRequest(f"the directory {given!r} is not an absolute path", hint="for example: /home/me/app")
    try:
        real = path.resolve(strict=True)
    except (OSError, RuntimeError):
        raise InvalidRequest(f"there is no directory {given!r}", hint="create it first") from None
    if not real.is_dir():
        raise InvalidRequest(f"{given!r} is not a directory", hint="pass the directory that the agent works in")
    for own in (private.data, private.sessions.parent):
        if real.is_relative_to(own.resolve()) or own.resolve().is_relative_to(real):
            raise InvalidRequest(
                f"the directory {given!r} contains Executor's own files", hint="pass a directory without them"
            )
    return str(real)

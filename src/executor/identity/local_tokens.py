"""The two bearer tokens of a local installation: one for the operator, one for agents.

Each lives in a file that only its owner may read. Nothing here ever prints a token or compares one in a time that
depends on its content.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
import stat
from dataclasses import field
from pathlib import Path
from typing import Final

from executor.dataclass import dataclass
from executor.errors import DataDirectoryUnusable, InvalidRequest, NotFound, Unauthorized
from executor.model.identity.actor import ActorKind
from executor.private_files import write_private

OPERATOR_FILE: Final = "operator.token"
AGENT_FILE: Final = "agent.token"
OPERATOR_PREFIX: Final = "exo_"
AGENT_PREFIX: Final = "exa_"
METRICS_PREFIX: Final = "exm_"  # good for /metrics alone
HOST_PREFIX: Final = "exh_"  # of a sandbox host, which has no data directory
_AGENT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_FORM = re.compile(r"ex[oahm]_[A-Za-z0-9_-]{43}")


@dataclass(frozen=True, slots=True)
class Tokens:
    """`operator` may decide and change settings; `agent` may only execute and discover."""

    operator: str = field(repr=False)
    agent: str = field(repr=False)
    _digests: tuple[tuple[ActorKind, bytes], ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        digests = (("human", _digest(self.operator)), ("agent", _digest(self.agent)))
        object.__setattr__(self, "_digests", digests)

    @classmethod
    def load_or_create(cls, data_dir: Path) -> Tokens:
        return cls(
            operator=load_or_create(data_dir / OPERATOR_FILE, OPERATOR_PREFIX),
            agent=load_or_create(data_dir / AGENT_FILE, AGENT_PREFIX),
        )

    def recognise(self, header: str | None) -> tuple[ActorKind | None, str]:
        """The bearer token of an `Authorization` header, and the kind of actor if it is one of these two."""
        scheme, _, token = (header or "").partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not token:
            raise Unauthorized("this request carries no bearer token", hint=_HOW)
        presented = _digest(token)
        kinds = [kind for kind, known in self._digests if hmac.compare_digest(presented, known)]
        if not kinds and token.startswith(OPERATOR_PREFIX):
            raise Unauthorized("this is not the token of this installation's operator", hint=_HOW)
        return (kinds[0] if kinds else None), token


_HOW = (
    f"send `Authorization: Bearer <token>` with the content of {AGENT_FILE} or {OPERATOR_FILE} "
    "from the data directory; a token in a query string is never accepted"
)


def read_token(path: Path) -> str | None:
    """The token in `path`, or None when there is no such file. A file that others could read or made is refused."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise DataDirectoryUnusable(
            f"the token file {path} can't be opened: {error.strerror}",
            hint="it must be a regular file that you own, not a link; remove it to get a new token",
        ) from error
    with os.fdopen(descriptor, "rb") as file:
        _refuse_unsafe(path, os.fstat(file.fileno()))
        token = file.read(256).decode("ascii", "replace").strip()
    if not _FORM.fullmatch(token):
        raise DataDirectoryUnusable(
            f"the token file {path} does not contain a token",
            hint="remove it and start the daemon again to get a new one",
        )
    return token


def agent_file(data_dir: Path, name: str) -> Path:
    """Where the token of a named agent is kept for `executor mcp --agent`."""
    if not _AGENT_NAME.fullmatch(name):
        raise InvalidRequest(
            f"{name[:100]!r} is not a valid name for an agent whose token is in a file",
            hint="use letters, digits, `.`, `_` and `-`, at most 64",
        )
    return data_dir / "agents" / f"{name}.token"


def read_agent_token(data_dir: Path, name: str) -> str:
    token = read_token(agent_file(data_dir, name))
    if token is None:
        raise NotFound(
            f"no token is stored for an agent {name!r} in {data_dir}",
            hint=f"`executor connect CLIENT --agent {name}` creates the agent and stores its token",
        )
    return token


def save_agent_token(data_dir: Path, name: str, token: str) -> None:
    path = agent_file(data_dir, name)
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        write_private(path, f"{token}\n", durable=True)
    except OSError as error:
        raise DataDirectoryUnusable(
            f"the token file {path} can't be written: {error.strerror}",
            hint="check that the data directory exists and that you can write to it",
        ) from error


def _refuse_unsafe(path: Path, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise DataDirectoryUnusable(f"the token file {path} is not a regular file", hint="remove it")
    if os.name != "posix":
        return
    if status.st_uid != os.geteuid():
        raise DataDirectoryUnusable(
            f"the token file {path} belongs to user {status.st_uid}, not to you",
            hint="someone else created it: remove it, or use your own data directory",
        )
    mode = stat.S_IMODE(status.st_mode)
    if mode & 0o077:
        raise DataDirectoryUnusable(
            f"the token file {path} has mode {mode:04o}, so other users may know the token",
            hint=f"remove it to get a new token, or run `chmod 600 {path}` if you are sure that no one has read it",
        )


def load_or_create(path: Path, prefix: str) -> str:
    """A file appears whole or not at all, and of several that create it at once one wins for all."""
    token = read_token(path)
    if token is not None:
        return token
    created = prefix + secrets.token_urlsafe(32)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        write_private(draft, f"{created}\n", durable=True)
        os.link(draft, path)
    except FileExistsError:
        return load_or_create(path, prefix)
    except OSError as error:
        raise DataDirectoryUnusable(
            f"the token file {path} can't be created: {error.strerror}",
            hint="check that the data directory exists and that you can write to it",
        ) from error
    finally:
        draft.unlink(missing_ok=True)
    return created


def ensure_metrics_token(path: Path | None) -> None:
    """So that the file is there before anyone asks for metrics. Raises DataDirectoryUnusable for one that is unsafe."""
    if path is not None:
        load_or_create(path, METRICS_PREFIX)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()

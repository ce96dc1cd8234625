"""Git as the daemon runs it: without hooks, without anyone's configuration, and never by the configuration of a tree
that an agent has written."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from executor.errors import ExecutorError, SessionFailed, StorageFull

SECONDS = 300.0
MAX_OUTPUT = 64 * 1024 * 1024
MAX_ERRORS = 64 * 1024
CHUNK = 64 * 1024
OPTIONS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.symlinks=true",
    "core.quotePath=false",
    "core.excludesFile=/dev/null",
    "core.attributesFile=/dev/null",
    "core.alternateRefsCommand=true",
    "credential.helper=",
    "protocol.ext.allow=never",
    "protocol.file.allow=always",
    "safe.directory=*",
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
    "diff.external=",
    "commit.gpgSign=false",
)
# For a shell. It runs by the configuration of the repository that is read, which may be anyone's: it reaches nothing.
UPLOAD = (
    "GIT_ALLOW_PROTOCOL=none git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c core.alternateRefsCommand=true"
    " -c safe.directory=* upload-pack"
)
FULL = ("No space left on device", "Out of diskspace", "Disk quota exceeded")


async def run_git(
    *arguments: str,
    folder: Path | None = None,
    environment: dict[str, str] | None = None,
    name: str = "",
    stdin: IO[bytes] | None = None,
    stdout: IO[bytes] | None = None,
    cut_at: int | None = None,
) -> str:
    """Its output. `folder` is a bare repository of ours. Raises SessionFailed with what git says, or for an output that
    is too long, unless that may be cut."""
    place = ("--git-dir", str(folder)) if folder else ()
    options = [part for option in OPTIONS for part in ("-c", option)]
    what = name or f"git {next(iter(arguments))}"
    try:
        child = await asyncio.create_subprocess_exec(
            "git",
            *options,
            *place,
            *arguments,
            stdin=stdin or asyncio.subprocess.DEVNULL,
            stdout=stdout or asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=clean_environment() | (environment or {}),
            cwd="/",
            start_new_session=True,
        )
    except FileNotFoundError:
        raise SessionFailed("git is not installed", hint="install git, or start the session with `cwd`") from None
    limit = MAX_OUTPUT if cut_at is None else cut_at
    try:
        async with asyncio.timeout(SECONDS):
            output, errors = await asyncio.gather(_read(child.stdout, limit + 1), _read(child.stderr, MAX_ERRORS))
            await child.wait()
    except TimeoutError:
        raise SessionFailed(f"{what}: it took longer than {SECONDS:g} s", hint="try again later") from None
    finally:
        if child.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)  # with the helpers that it runs
            await child.wait()
    if child.returncode:
        raise failure_of(what, errors)
    if len(output) > limit and cut_at is None:
        raise SessionFailed(f"{what}: its output is longer than {limit} bytes", hint="use a smaller repository")
    return output[:limit].decode("utf-8", "surrogateescape")


async def _read(stream: asyncio.StreamReader | None, limit: int) -> bytes:
    """To its end, of which no more than `limit` bytes are kept."""
    kept = bytearray()
    while stream is not None and (chunk := await stream.read(CHUNK)):
        kept += chunk[: limit - len(kept)]
    return bytes(kept)


def failure_of(what: str, errors: bytes) -> ExecutorError:
    """A full disk is an error of its own: what could not be read then must not be taken for absent."""
    text = errors.decode(errors="replace").strip()
    if any(words in text for words in FULL):
        return StorageFull(f"{what}: no space is left on the disk", hint="free some space, then try again")
    why = text.splitlines()[-1:] or ["it failed"]
    return SessionFailed(f"{what}: {why[0][:500]}", hint="check the repository, then try again")


def options_environment() -> dict[str, str]:
    """The same options for a script that runs git."""
    pairs = [option.partition("=")[::2] for option in OPTIONS]
    keys = {f"GIT_CONFIG_KEY_{number}": key for number, (key, _) in enumerate(pairs)}
    values = {f"GIT_CONFIG_VALUE_{number}": value for number, (_, value) in enumerate(pairs)}
    return {"GIT_CONFIG_COUNT": str(len(pairs)), **keys, **values}


def clean_environment() -> dict[str, str]:
    """Nothing of GIT_* that someone set, no configuration of a user or of the system, no prompts, and only repositories
    of this machine: `create` allows others."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TZ", "SSH_AUTH_SOCK", "HOME") if name in os.environ}
    return kept | {
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "/bin/false",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_SSH_COMMAND": "ssh -oBatchMode=yes",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "file",
    }


def author(name: str) -> dict[str, str]:
    identity = {"NAME": name, "EMAIL": "agent@executor.invalid"}
    return {f"GIT_{who}_{part}": value for who in ("AUTHOR", "COMMITTER") for part, value in identity.items()}


def as_unicode(text: str) -> str:
    """Names and contents may be of any encoding."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def lines(text: str, separator: str = "\0") -> Sequence[str]:
    return [part for part in text.split(separator) if part]

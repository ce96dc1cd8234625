"""Secrets in 1Password, by its command line `op`: a reference goes in, the value comes out through a pipe."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
from contextlib import suppress

from executor.errors import InvalidRequest, SecretUnavailable

SECONDS = 30.0
MAX_BYTES = 64 * 1024
_REFERENCE = re.compile(r"op://[^\x00-\x1f\x7f]{3,500}\Z")
_HANDED_ON = ("PATH", "HOME", "LANG", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR")


class OnePassword:
    name = "onepassword"
    writable = False

    def __init__(self, program: str = "op", seconds: float = SECONDS) -> None:
        self._program = program
        self._seconds = seconds

    def check(self, reference: str) -> None:
        if not _REFERENCE.match(reference):
            raise InvalidRequest(
                f"{reference[:100]!r} is not a 1Password reference", hint="write op://VAULT/ITEM/FIELD"
            )

    async def read(self, reference: str) -> str:
        self.check(reference)
        program = shutil.which(self._program)
        if program is None:
            raise SecretUnavailable("the command `op` was not found", hint="install the 1Password CLI and sign in")
        child = await asyncio.create_subprocess_exec(
            program, "read", "--no-newline", reference,
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
            env=environment(), limit=MAX_BYTES,
        )  # fmt: skip
        try:
            async with asyncio.timeout(self._seconds):
                assert child.stdout is not None  # noqa: S101 - for the type checker
                data = await child.stdout.read(MAX_BYTES + 1)
                status = await child.wait() if len(data) <= MAX_BYTES else 1
        except TimeoutError as error:
            raise SecretUnavailable(
                f"1Password did not answer within {self._seconds:g} seconds", hint="unlock it, then try again"
            ) from error
        finally:
            await end_child(child)
        if status != 0:
            raise SecretUnavailable(
                f"1Password returned nothing for {reference} (`op read` ended with {status})",
                hint="run `op read` yourself to see why; the daemon needs to be signed in",
            )
        return data.decode("utf-8", "replace")

    async def write(self, reference: str, value: str) -> None:
        raise NotImplementedError

    async def remove(self, reference: str) -> None:
        raise NotImplementedError


async def end_child(child: asyncio.subprocess.Process) -> None:
    if child.returncode is None:
        with suppress(ProcessLookupError):
            child.kill()
        await child.wait()


def environment() -> dict[str, str]:
    """What the command needs to find its session, and nothing else of the daemon's."""
    own = os.environ
    return {name: own[name] for name in own if name in _HANDED_ON or name.startswith("OP_")}

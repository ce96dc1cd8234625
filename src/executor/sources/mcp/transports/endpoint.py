"""Where a server is and how it is spoken to: everything a connection needs, from a source's config."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any, Literal

from executor.dataclass import dataclass
from executor.errors import InvalidRequest
from executor.model.credentials import Credential
from executor.model.digest import digest
from executor.network.addresses import display_url
from executor.network.client import Outgoing
from executor.network.credentials import command_origin
from executor.network.credentials import with_credential as put

Transport = Literal["http", "sse", "stdio"]
TRANSPORTS: tuple[Transport, ...] = ("http", "sse", "stdio")
INHERITED = ("PATH", "HOME", "LANG")
OWN_PREFIX = "EXECUTOR_"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """`environment` is all that a started command gets besides PATH, HOME and LANG; it may hold secrets, as `headers`.

    A name without a value (None) is taken from the daemon's own environment at the moment the command is started.
    """

    transport: Transport
    url: str = ""
    command: tuple[str, ...] = ()
    environment: tuple[tuple[str, str | None], ...] = ()
    directory: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    origins: tuple[str, ...] = ()

    @property
    def display_name(self) -> str:
        """Fit for messages: arguments of a command may be secrets, so only its first word is shown."""
        return f"the command `{printable(self.command[0])}`" if self.command else display_url(self.url)

    @property
    def digest(self) -> str:
        return digest(asdict(self))

    @property
    def place(self) -> str:
        """The same for every credential: fit for the name of a file."""
        return digest([self.transport, self.url, self.command, self.directory])


def with_credential(endpoint: Endpoint, credential: Credential | None) -> Endpoint:
    """As headers, or in the environment of the command and of nothing else; never among its arguments."""
    if credential is None:
        return endpoint
    if endpoint.command:
        if credential.origin != command_origin(endpoint.command):
            return endpoint
        given = dict(credential.environment)
        kept = [pair for pair in endpoint.environment if pair[0] not in given]
        return replace(endpoint, environment=tuple(sorted([*kept, *given.items()])))
    sent = put(Outgoing("POST", endpoint.url, dict(endpoint.headers)), credential)
    return replace(endpoint, url=sent.url, headers=tuple(sent.headers.items()))


def of_command(command: tuple[str, ...], options: Mapping[str, Any]) -> Endpoint:
    if not command[0] or any("\0" in word for word in command):
        raise InvalidRequest("the command is empty or contains a zero byte", hint="pass the command and its arguments")
    directory = options.get("cwd") or ""
    if not isinstance(directory, str) or (directory and not os.path.isabs(directory)):  # noqa: PTH117 - text from outside
        raise InvalidRequest("the working directory must be an absolute path", hint="pass `cwd` as a full path")
    return Endpoint("stdio", command=command, environment=wanted_environment(options.get("env")), directory=directory)


def wanted_environment(given: Any) -> tuple[tuple[str, str | None], ...]:
    """`{"NAME": "value"}`, or `["NAME"]` to hand on the daemon's own; never the daemon's own settings."""
    if given is None:
        return ()
    if isinstance(given, list | tuple):
        given = dict.fromkeys(given) if all(isinstance(name, str) for name in given) else None
    if not isinstance(given, dict):
        raise InvalidRequest(
            "`env` is neither an object nor a list of names", hint='pass {"NAME": "value"} or ["NAME"]'
        )
    for name, value in given.items():
        if not valid_variable(name) or not (value is None or (isinstance(value, str) and "\0" not in value)):
            raise InvalidRequest(
                f"`env` can't contain {str(name)[:80]!r} with that value", hint="names and values must be text"
            )
        if value is None and name.startswith(OWN_PREFIX):
            raise InvalidRequest(f"{name} is Executor's own variable and is not passed on", hint="pass a value instead")
    return tuple(sorted(given.items()))


def valid_variable(name: Any) -> bool:
    return isinstance(name, str) and name != "" and "=" not in name and "\0" not in name


def child_environment(endpoint: Endpoint, own: Mapping[str, str]) -> dict[str, str]:
    """Nothing of the daemon's own environment but what a command can't do without and what was named."""
    environment = {name: own[name] for name in INHERITED if name in own}
    for name, value in endpoint.environment:
        taken = own.get(name) if value is None else value
        if taken is not None:
            environment[name] = taken
    return environment


def command_line(command: tuple[str, ...]) -> str:
    return shlex.join(command)


def printable(text: str, limit: int = 120) -> str:
    return "".join(c if c.isprintable() else "�" for c in text[:limit])

"""Where the programs of one session run, at the isolation that was asked for."""

from __future__ import annotations

import json
import os
import socket
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from executor.errors import IsolationUnavailable
from executor.sessions.isolation import limits as limit
from executor.sessions.isolation import sandbox
from executor.sessions.isolation.environment import clean_environment
from executor.sessions.isolation.process import Process, Program
from executor.sessions.isolation.protected_paths import Protection, clean_up, hold, protect
from executor.sessions.isolation.relays import Relays, Target
from executor.sessions.isolation.system_calls import filter_program
from executor.sessions.isolation.unix_user import UnixUser, check_user, current_user, find_user
from executor.sessions.protocol.host_settings import Isolation, Limits


@dataclass(frozen=True)
class Requirements:
    """What an agent needs of the place that it runs in."""

    readable: Sequence[str] = ()  # its own files
    masked: Sequence[str] = ()  # what it would load from the working directory
    loaded: Sequence[str] = ()  # what it can't be kept from loading, where nothing can be masked
    path: Sequence[str] = ()  # directories with programs that it runs
    nested_namespaces: bool = False
    managed_files: dict[str, str] = field(default_factory=dict)  # inside -> content


class Place:
    """Every program that is started here gets relays of its own; mounts that protect paths are shared."""

    _running: ClassVar[Counter[Path]] = Counter()  # programs in each session's sandbox, by its list of stubs

    def __init__(self, isolation: Isolation, cwd: str, state: Path, needs: Requirements, hidden: Sequence[str]) -> None:
        if sys.platform != "linux":
            raise IsolationUnavailable("agent sessions need Linux", hint="run the daemon on Linux")
        self.mode = isolation["mode"]
        self._isolation, self._state, self._needs, self._hidden = isolation, state, needs, hidden
        self._limits: Limits = {**limit.DEFAULTS, **isolation.get("limits", {})}
        self.user = self._choose_user()
        self.cwd = (
            sandbox.check_root(cwd, hidden, str(state.parent)) if self.mode == "sandbox" else os.path.realpath(cwd)
        )
        self._home_files: dict[str, str] = {}
        self.changed_links: list[str] = []
        self._prepare()

    @property
    def home(self) -> str:
        """As the agent sees it."""
        return sandbox.HOME if self.mode == "sandbox" else self._outer_home

    def make_relays(self, targets: dict[str, Target]) -> Relays:
        return Relays(targets, inside=self.mode == "sandbox")

    async def start(
        self, command: Sequence[str], env: dict[str, str], descriptors: Sequence[int], relays: Relays,
        *, terminal: bool = False,
    ) -> Process:  # fmt: skip
        """`env` is added to a clean environment. `relays` has been prepared, and is closed by the caller."""
        egress = relays.origin("egress") if "egress" in relays.ports else ""
        env = {**clean_environment(self.home, self._needs.path, egress), **env}
        self._running[self._stubs] += 1
        try:
            if self.mode == "sandbox":
                env |= sandbox.GIT_ENVIRONMENT
                process = await self._start_in_sandbox(command, env, descriptors, relays)
            else:
                process = await self._start_outside(command, env, descriptors, terminal)
        except BaseException:
            self._leave()
            raise
        process.ending.add_done_callback(lambda _: self._leave())
        return process

    def write_files(self, files: dict[str, str]) -> None:
        """Into the agent's home, before it starts. Another user's home is written by that user's own program."""
        if not self.user.is_self:
            self._home_files = files
            return
        for name, content in files.items():
            path = Path(self._outer_home, name)
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.write_text(content)

    def _choose_user(self) -> UnixUser:
        name = self._isolation.get("unix_user")
        if self.mode == "strict" and not name:
            raise IsolationUnavailable("isolation `strict` needs a Unix user", hint="set `unix_user`")
        if not name:
            return current_user()
        if self.mode != "strict":
            raise IsolationUnavailable(
                f"isolation {self.mode!r} runs as the daemon's user, not as {name!r}", hint="use isolation `strict`"
            )
        user = find_user(name)
        check_user(user)
        return user

    def _prepare(self) -> None:
        self._state.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self.mode == "sandbox" and (reason := sandbox.why_unavailable()):
            raise IsolationUnavailable(f"the sandbox is not available: {reason}", hint=sandbox.remedy(reason))
        self._outer_home = str(self._state / "home")
        if not self.user.is_self:
            base = self._isolation.get("home") or self.user.sessions_folder
            self._outer_home = f"{base}/{self._state.parent.name}-{self._state.name}"
        else:
            Path(self._outer_home).mkdir(mode=0o700, exist_ok=True)
        self._stubs = self._state / "stubs.json"
        if not self._running[self._stubs]:
            clean_up(self._stubs)  # of a process that was killed

    async def _start_outside(
        self, command: Sequence[str], env: dict[str, str], descriptors: Sequence[int], terminal: bool
    ) -> Process:
        program = Program(
            command,
            env,
            self.cwd,
            descriptors,
            directories=self._directories(),
            absent=self._needs.loaded,
            terminal=terminal,
            files={f"{self._outer_home}/{name}": content for name, content in self._home_files.items()},
            **self._program_limits(),
        )
        return await Process.start(program, self.user, self._group())

    async def _start_in_sandbox(
        self, command: Sequence[str], env: dict[str, str], descriptors: Sequence[int], relays: Relays
    ) -> Process:
        with hold(self._stubs):
            protection = protect(self._writable(), self._needs.masked, self._empty(), self._stubs)
            protection.save(self._stubs)
        (self._files() / "gitignore").write_text(protection.git_excludes())
        ours, theirs = socket.socketpair()
        filter_file = _memory_file(filter_program())
        with ours:
            with theirs:
                inherited = [*descriptors, theirs.fileno(), filter_file]
                ports = json.dumps(list(relays.ports.values()))
                wrapped = [
                    *sandbox.arguments(self._view(protection), self._files()), "--seccomp", "4",
                    "--chdir", self.cwd, "--",
                    sandbox.python(), "-I", "-S", sandbox.ENTRANCE, ports, *command,
                ]  # fmt: skip
                program = Program(
                    wrapped, env, "/", inherited, directories=self._directories(), no_new_privileges=False,
                    **self._program_limits(),
                )  # fmt: skip
                try:
                    process = await Process.start(program, self.user, self._group())
                finally:
                    os.close(filter_file)
            try:
                await relays.receive(ours)
            except BaseException:
                await process.stop(0)
                raise
        return process

    def _view(self, protection: Protection) -> sandbox.View:
        managed = {}
        for number, (inside, content) in enumerate(self._needs.managed_files.items()):
            outside = self._files() / f"managed-{number}"
            outside.write_text(content)
            managed[inside] = str(outside)
        readable = [os.path.realpath(path) for path in self._isolation.get("readable", [])]
        return sandbox.View(
            self._outer_home,
            self._writable(),
            [*self._needs.readable, *readable],
            self._hidden,
            protection.arguments,
            self._needs.nested_namespaces,
            managed_files=managed,
        )

    def _writable(self) -> list[str]:
        further = [
            sandbox.check_root(path, self._hidden, str(self._state.parent))
            for path in self._isolation.get("writable", [])
        ]
        return [self.cwd, *further]

    def _program_limits(self) -> dict[str, Any]:
        if self.mode == "simple":
            return {}
        paths = [self.cwd, self._outer_home, *self._isolation.get("writable", [])]
        return {
            "rlimits": limit.rlimits(self._limits, self.user.uid),
            "limits": limit.watch_limits(self._limits, paths),
        }

    def _group(self) -> limit.ControlGroup | None:
        return None if self.mode == "simple" else limit.create_group(self._limits)

    def _directories(self) -> list[str]:
        return [] if self.user.is_self else [self._outer_home]

    def _files(self) -> Path:
        files = self._state / "etc"
        files.mkdir(mode=0o755, exist_ok=True)
        return files

    def _empty(self) -> Path:
        """An empty file and an empty directory, which are mounted over what is hidden."""
        empty = self._state / "empty"
        (empty / "directory").mkdir(mode=0o755, parents=True, exist_ok=True)
        (empty / "file").touch(mode=0o444)
        return empty

    def _leave(self) -> None:
        """The last one out removes the stubs: while a sandbox runs, removing one would lift its protection."""
        self._running[self._stubs] -= 1
        if not self._running[self._stubs]:
            self.changed_links += clean_up(self._stubs)


def _memory_file(content: bytes | None) -> int:
    if content is None:
        raise IsolationUnavailable(
            f"there is no system call filter for {os.uname().machine}", hint="choose another isolation"
        )
    descriptor = os.memfd_create("filter")
    os.write(descriptor, content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor

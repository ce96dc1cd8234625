"""The Unix user that an agent runs as, and how this process may start something as that user."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from executor.errors import IsolationUnavailable


@dataclass(frozen=True)
class UnixUser:
    name: str
    uid: int
    gid: int
    home: str

    @property
    def is_self(self) -> bool:
        return self.uid == os.geteuid()

    @property
    def sessions_folder(self) -> str:
        """What sessions keep for this user: homes of agents, and clones."""
        return f"{self.home}/.executor-sessions"

    def command_prefix(self) -> list[str]:
        """Root changes the user without help; anyone else needs a line in sudoers."""
        return [] if self.is_self or os.geteuid() == 0 else ["sudo", "-n", "-u", self.name, "--"]

    def start_options(self) -> dict[str, object]:
        """For `subprocess`. No groups but the user's own: not those of the daemon."""
        if self.is_self or os.geteuid() != 0:
            return {}
        return {"user": self.uid, "group": self.gid, "extra_groups": []}


def current_user() -> UnixUser:
    uid = os.geteuid()
    try:
        entry = pwd.getpwuid(uid)
    except KeyError:
        return UnixUser(str(uid), uid, os.getegid(), "/")
    return UnixUser(entry.pw_name, uid, os.getegid(), entry.pw_dir)


def find_user(name: str) -> UnixUser:
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        raise IsolationUnavailable(
            f"there is no Unix user {name!r}", hint="create it, or map the member to another Unix user"
        ) from None
    if entry.pw_uid == 0:
        raise IsolationUnavailable("an agent is never run as root", hint="choose an unprivileged Unix user")
    return UnixUser(entry.pw_name, entry.pw_uid, entry.pw_gid, entry.pw_dir)


def check_user(user: UnixUser) -> None:
    """Really starts something as that user."""
    if user.is_self:
        raise IsolationUnavailable(
            f"{user.name!r} is the user that the daemon itself runs as",
            hint="choose a Unix user that runs nothing but agents",
        )
    if os.geteuid() != 0 and not shutil.which("sudo"):
        raise IsolationUnavailable(
            f"can't run anything as {user.name!r}: the daemon isn't root and sudo is not installed",
            hint=f"install sudo, then allow it in sudoers: {sudo_rule(user)}",
        )
    command = [*user.command_prefix(), python_for(user), "-I", "-S", "-c", "import os; print(os.geteuid())"]
    try:
        answer = subprocess.run(  # type: ignore[call-overload]
            command, **user.start_options(), capture_output=True, text=True, timeout=20, cwd="/", env={}
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise IsolationUnavailable(f"can't run Python as {user.name!r}: {error}") from None
    if answer.stdout.strip() != str(user.uid):
        reason = " ".join(answer.stderr.split())[:300]
        raise IsolationUnavailable(
            f"can't run Python as {user.name!r}: {reason}",
            hint=f"allow it in sudoers: {sudo_rule(user)}",
        )


def sudo_rule(user: UnixUser) -> str:
    """The only program that is ever started as another user: the supervisor, which starts the rest."""
    return f"{current_user().name} ALL=({user.name}) NOPASSWD: {python_for(user)}"


@cache
def python_for(user: UnixUser) -> str:
    """One that this user can reach: a Python below someone's home often can't be."""
    own = os.path.realpath(f"/proc/{os.getpid()}/exe")
    if user.is_self or _is_reachable(own):
        return own
    for candidate in ("/usr/bin/python3", "/usr/local/bin/python3", "/bin/python3"):
        if Path(candidate).exists():
            return candidate
    raise IsolationUnavailable(
        f"there is no Python that {user.name!r} can run", hint="install python3 with the system's package manager"
    )


def _is_reachable(path: str) -> bool:
    return all(parent.stat().st_mode & 0o001 for parent in Path(path).parents)

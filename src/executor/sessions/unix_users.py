"""As which Unix user the agent of a `strict` session runs. The operator decides: by naming one, or by the setting
`session_unix_users`, which maps accounts to Unix users. Everyone else gets the one that is mapped to them."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Mapping

from executor.errors import Forbidden, InvalidRequest, SessionFailed
from executor.model.identity.actor import Actor
from executor.model.identity.permissions import lacking
from executor.model.sessions.session import Isolation
from executor.sessions.isolation.unix_user import check_user, find_user
from executor.sessions.isolation.user_command import run_as

OPERATOR = "operator"  # in the setting: the account of this installation


class UnixUsers:
    def __init__(self, mapped: Mapping[str, str], operator_account: str) -> None:
        self._mapped = {operator_account if who == OPERATOR else who: name for who, name in mapped.items()}

    def choose(self, by: Actor, isolation: Isolation, wanted: str) -> str:
        """Empty for an isolation without one. Raises for a user that is not this person's to choose."""
        mapped = self._mapped.get(by.account_id, "")
        if isolation != "strict":
            if wanted:
                raise InvalidRequest(
                    f"isolation `{isolation}` runs as the daemon's user, not as {wanted!r}",
                    hint="use the isolation `strict`",
                )
            return ""
        name = wanted or mapped
        if not name and not by.may("operate"):
            raise lacking("operate", "a session with isolation `strict`")
        if not name:
            raise InvalidRequest(
                "isolation `strict` needs a Unix user",
                hint="pass `unixUser`, or map your account to one in the setting session_unix_users",
            )
        self.check_owner(by, name)
        return name

    def check_owner(self, by: Actor, name: str) -> None:
        if name and not by.may("operate") and name != self._mapped.get(by.account_id):
            raise Forbidden(
                f"your account is not mapped to the Unix user {name!r}",
                hint="the operator maps accounts in the setting session_unix_users",
            )

    async def verify(self, name: str) -> None:
        """Raises IsolationUnavailable for a user that doesn't exist, is root or the daemon's own, or can't be used."""
        if name:
            await asyncio.to_thread(lambda: check_user(find_user(name)))


COPY = 'umask 077; cd "$1"; cp -a -- "$2" "$3"; cd "$3"; if test -n "$4" && test -d "$4"; then mv -- "$4" "$5"; fi'
REMOVE = 'cd "$1" 2> /dev/null || exit 0; rm -rf -- "$2-agent" "$2-work" "$2-snapshot.git"'
MAX_BYTES = 2**30


async def copy_home(name: str, source: str, target: str, moved: tuple[str, str] = ("", "")) -> None:
    """What the agent of one session keeps, for the agent of another. `moved` is a folder in it, and its new name."""
    await _run(name, COPY, f"{source}-agent", f"{target}-agent", *moved)


async def remove_files(name: str, session_id: str) -> None:
    """Everything that a session has in the home of its Unix user."""
    await _run(name, REMOVE, session_id)


async def _run(name: str, script: str, *arguments: str) -> None:
    """By that user: others can't enter its home, and root would follow its links."""
    user = find_user(name)
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        command = ["/bin/sh", "-eu", "-c", script, "sh", user.sessions_folder, *arguments]
        if await run_as(user, command, {"PATH": "/usr/bin:/bin"}, None, output, errors, MAX_BYTES) != 0:
            errors.seek(0)
            reason = errors.read(500).decode(errors="replace").strip()
            raise SessionFailed(f"the files of {name!r} can't be changed: {reason}", hint="look at that user's home")

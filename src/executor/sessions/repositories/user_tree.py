"""The working tree of a `strict` session. It belongs to the Unix user of its agent, and so does every git that works in
it: the daemon may be root, and the agent can change anything there at any time.

Objects go back and forth as packs, over descriptors. What comes back is as little trusted as what a server sends: git
computes the names of objects from their content, and nothing is used whose objects are not all there.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import IO

from executor.errors import SessionFailed
from executor.sessions.isolation.unix_user import UnixUser
from executor.sessions.isolation.user_command import run_as
from executor.sessions.repositories.git import author, clean_environment, failure_of, options_environment, run_git
from executor.sessions.repositories.working_tree import MINE, OTHERS, Start, find_submodules

MAX_PACK = 32 * 2**30
PATH = "/usr/local/bin:/usr/bin:/bin"
OBJECT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
REFERENCE = re.compile(r"([0-9a-f]{40,64}) refs/([^\s\\^~:?*\[\x00-\x1f]{1,500})")
INSIDE = 'export GIT_DIR="$1/.git"; test -d "$GIT_DIR"\n'
BESIDE = 'export GIT_DIR="$2"\n'
CHECK_OUT = """
work=$1; spare=$2; branch=$3; commit=$4; head=$5; name=$6; email=$7
umask 077
mkdir -p "${work%/*}"
git init --quiet --template= -- "$work"
cd "$work"
git config user.name "$name"
git config user.email "$email"
git index-pack --stdin --fix-thin > /dev/null
shift 7
for one in "$@"; do git update-ref "${one#* }" "${one%% *}"; done
git checkout --quiet -B "$branch" "$commit"
test -z "$head" || git reset --quiet --mixed "$head"
"""
# The repository that files are added to is not the agent's own, so that nothing has to be right with that one.
WRITE_TREE = """
work=$1; spare=$2; base=$3; shift 3
umask 077
export GIT_DIR="$spare" GIT_LITERAL_PATHSPECS=1
if ! git cat-file -e "$base^{commit}" 2> /dev/null; then
    rm -rf "$spare"
    git init --quiet --bare --template= -- "$spare"
    git index-pack --stdin --fix-thin > /dev/null
fi
cd "$work"
export GIT_WORK_TREE="$work"
git read-tree "$base"
test $# = 0 || git update-index --skip-worktree -- "$@"
git add --all -- .
git write-tree
"""
FILLED = """
cd "$1"; shift 2
for one in "$@"; do
    if test -L "$one" || { test -e "$one" && ! test -d "$one"; } || { test -d "$one" && test -n "$(ls -A -- "$one")"; }
    then printf '%s\\n' "$one"
    fi
done
"""


class UserTree:
    """`scratch` is a folder of the daemon's, for what is on its way."""

    def __init__(self, user: UnixUser, session_id: str, scratch: Path) -> None:
        self._user = user
        self._scratch = scratch
        self.path = Path(user.sessions_folder) / f"{session_id}-work"
        self._spare = self.path.with_name(f"{session_id}-snapshot.git")

    async def check_out(self, bare: Path, start: Start) -> None:
        head = await self._read_branch(bare)
        branches = {f"refs/heads/{head}": start.commit} if head else {}
        if start.head:
            branches = dict(await self._list_kept(bare))
        with await self._pack(bare, [start.commit, *filter(None, [start.head]), *branches.values()]) as pack:
            identity = author(start.name)
            arguments = (
                start.branch, start.commit, start.head, identity["GIT_AUTHOR_NAME"], identity["GIT_AUTHOR_EMAIL"],
            )  # fmt: skip
            references = (f"{one} {name}" for name, one in branches.items())
            await self._read(CHECK_OUT, *arguments, *references, stdin=pack, many=True)

    async def _read_branch(self, bare: Path) -> str:
        try:
            return (await run_git("symbolic-ref", "--short", "HEAD", folder=bare)).strip()
        except SessionFailed:
            return ""  # detached

    async def _list_kept(self, bare: Path) -> list[tuple[str, str]]:
        place = f"{OTHERS}/agent/heads/"
        found = await run_git("for-each-ref", "--format=%(objectname) %(refname)", place, folder=bare)
        pairs = (line.split(" ", 1) for line in found.splitlines())
        return [(f"refs/heads/{name.removeprefix(place)}", one) for one, name in pairs]

    async def fetch_head(self, bare: Path, base: str) -> str:
        [found] = await self._read(INSIDE + "git rev-parse --verify --quiet 'HEAD^{commit}'")
        commit = await self._fetch(INSIDE, bare, base, [found])
        await run_git("update-ref", MINE, commit, folder=bare)
        return (await run_git("rev-parse", "--verify", f"{commit}^{{commit}}", folder=bare)).strip()

    async def fetch_others(self, bare: Path, base: str) -> None:
        rows = await self._read(INSIDE + "git for-each-ref --format='%(objectname) %(refname)'", many=True)
        found = [match for match in map(REFERENCE.fullmatch, rows) if match]
        if not found:
            return
        await self._fetch(INSIDE, bare, base, [match[1] for match in found])
        for match in found:
            await run_git("update-ref", f"{OTHERS}/agent/{match[2]}", match[1], folder=bare)

    async def write_tree(self, bare: Path, base: str) -> str:
        with await self._pack(bare, [base]) as pack:
            [tree] = await self._read(WRITE_TREE, base, *await find_submodules(bare, base), stdin=pack)
        return await self._fetch(BESIDE, bare, base, [tree])

    async def find_filled(self, paths: list[str]) -> list[str]:
        return await self._read(FILLED, *paths, many=True) if paths else []

    async def measure(self) -> int:
        """As the user says; the supervisor of its processes measures what they add."""
        [size] = await self._read('du -sk -- "$1" 2> /dev/null | cut -f1')
        return int(size) * 1024 if size.isdecimal() else 0

    async def remove(self) -> None:
        await self._read('rm -rf -- "$1" "$2"', many=True)

    # -- objects ------------------------------------------------------------------------------------------------------

    async def _pack(self, bare: Path, wanted: list[str]) -> IO[bytes]:
        """From the daemon's repository, for the other user to read."""
        with self._file() as asked:
            asked.write("".join(f"{one}\n" for one in wanted).encode())
            asked.seek(0)
            pack = self._file()
            try:
                await run_git("pack-objects", "--quiet", "--revs", "--stdout", folder=bare, stdin=asked, stdout=pack)
            except BaseException:
                pack.close()
                raise
        pack.seek(0)
        return pack

    async def _fetch(self, inside: str, bare: Path, base: str, wanted: list[str]) -> str:
        """The first of them, once all of its objects are here."""
        if not all(map(OBJECT.fullmatch, wanted)):
            raise SessionFailed("the agent's repository is broken", hint="look at it in a terminal of the session")
        with self._file() as asked:
            asked.write("".join(f"{one}\n" for one in (*wanted, f"^{base}")).encode())
            asked.seek(0)
            with await self._run(inside + "git pack-objects --quiet --revs --thin --stdout", stdin=asked) as pack:
                limit = f"--max-input-size={MAX_PACK}"
                await run_git("index-pack", "--stdin", "--fix-thin", limit, folder=bare, stdin=pack)
        await run_git("rev-list", "--objects", "--quiet", *wanted, f"^{base}", folder=bare)
        return wanted[0]

    def _file(self) -> IO[bytes]:
        self._scratch.mkdir(mode=0o700, parents=True, exist_ok=True)
        return tempfile.TemporaryFile(dir=self._scratch)

    # -- as the other user --------------------------------------------------------------------------------------------

    async def _read(
        self, script: str, *arguments: str, stdin: IO[bytes] | None = None, many: bool = False
    ) -> list[str]:
        """Lines; exactly one, unless `many`."""
        with await self._run(script, *arguments, stdin=stdin) as output:
            rows = output.read(64 * 2**20).decode("utf-8", "surrogateescape").splitlines()
        if not many and len(rows) != 1:
            raise SessionFailed("the agent's repository is broken", hint="look at it in a terminal of the session")
        return rows

    async def _run(self, script: str, *arguments: str, stdin: IO[bytes] | None = None) -> IO[bytes]:
        """What it prints. The script gets the two directories, then `arguments`."""
        output = self._file()
        with self._file() as errors:
            given = (str(self.path), str(self._spare), *arguments)
            command = ["/bin/sh", "-eu", "-c", script, "sh", *given]
            ours = {name: value for name, value in clean_environment().items() if name.startswith("GIT_")}
            environment = {"PATH": PATH, "HOME": self._user.sessions_folder, **ours, **options_environment()}
            try:
                code = await run_as(self._user, command, environment, stdin, output, errors, MAX_PACK)
                if code != 0:
                    errors.seek(0)
                    raise failure_of(f"git as {self._user.name}", errors.read(65536))
            except BaseException:
                output.close()
                raise
        output.seek(0)
        return output

"""The files of an agent with their repository, which it may have changed in every way. The daemon never runs git by the
configuration in there."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from pathlib import Path
from typing import Protocol

from executor.dataclass import dataclass
from executor.errors import SessionFailed
from executor.sessions.repositories.disk_use import measure
from executor.sessions.repositories.git import UPLOAD, author, lines, run_git
from executor.sessions.repositories.git_folder import is_plain_repository

LINKED = "160000"  # the mode of a repository inside another
FETCH = ("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--upload-pack", UPLOAD)
MINE = "refs/executor/sessions/agent"  # the agent's last commit
OTHERS = "refs/executor/others"  # everything else that its repository has


@dataclass(frozen=True, slots=True)
class Start:
    """What a new working tree holds: `commit`, on a branch of its own, with commits by `name`. With `head`, the branch
    is there, and what `commit` has beyond it is not committed."""

    commit: str
    branch: str
    name: str
    head: str = ""


class WorkingTree(Protocol):
    """`bare` is the daemon's own repository beside it, which gets everything that is read."""

    path: Path

    async def check_out(self, bare: Path, start: Start) -> None:
        """Where nothing is yet."""

    async def fetch_head(self, bare: Path, base: str) -> str:
        """The agent's last commit. Raises SessionFailed if its repository is broken; its files are still there."""

    async def fetch_others(self, bare: Path, base: str) -> None:
        """Its branches and stashes, as references below OTHERS. Raises like `fetch_head`."""

    async def write_tree(self, bare: Path, base: str) -> str:
        """Its files, as git would commit them, except those that are ignored."""

    async def find_filled(self, paths: list[str]) -> list[str]:
        """Those that are anything but an empty directory, or nothing."""

    async def measure(self) -> int: ...

    async def remove(self) -> None: ...


class OwnTree:
    """One that belongs to the daemon's own user. `stubs` is where a sandbox lists what it covers."""

    def __init__(self, path: Path, stubs: Path) -> None:
        self.path = path
        self._stubs = stubs

    async def check_out(self, bare: Path, start: Start) -> None:
        """Without hard links: what an agent writes to its objects must not reach the daemon's."""
        options = ("--quiet", "--no-hardlinks", "--no-checkout", "--template=")
        await run_git("clone", *options, "--", str(bare), str(self.path))
        inside = ("-C", str(self.path))
        await run_git(*inside, "remote", "remove", "origin")
        for key, value in author(start.name).items():
            if key.startswith("GIT_AUTHOR_"):
                await run_git(*inside, "config", f"user.{key.removeprefix('GIT_AUTHOR_').lower()}", value)
        if start.head:  # of another session, with its branches
            branches = f"+{OTHERS}/agent/heads/*:refs/heads/*"
            await run_git(*inside, *FETCH, "--update-head-ok", str(bare), branches)
        made = ("checkout", "--quiet", "-B", start.branch, start.commit)
        await run_git(*inside, *made, name="checking the repository out")
        if start.head:
            await run_git(*inside, "reset", "--quiet", "--mixed", start.head)

    async def fetch_head(self, bare: Path, base: str) -> str:
        self._check_repository()
        await run_git(*FETCH, str(self.path), f"+HEAD:{MINE}", folder=bare)
        return (await run_git("rev-parse", f"{MINE}^{{commit}}", folder=bare)).strip()

    async def fetch_others(self, bare: Path, base: str) -> None:
        self._check_repository()
        await run_git(*FETCH, "--prune", str(self.path), f"+refs/*:{OTHERS}/agent/*", folder=bare)

    def _check_repository(self) -> None:
        if not is_plain_repository(self.path):
            raise SessionFailed("the agent's .git leads elsewhere", hint="its files are committed on the base")

    async def write_tree(self, bare: Path, base: str) -> str:
        """By an index of ours: the agent's index and configuration are not read. Submodules stay as they are in the
        base: git would look for changes in them with the configuration that the agent has given them."""
        index = {"GIT_INDEX_FILE": str(bare / "executor-index"), "GIT_LITERAL_PATHSPECS": "1"}
        tree = ("--work-tree", str(self.path))
        await run_git("read-tree", base, folder=bare, environment=index)
        if linked := await find_submodules(bare, base):
            await run_git(*tree, "update-index", "--skip-worktree", "--", *linked, folder=bare, environment=index)
        await run_git(*tree, "add", "--all", "--", ".", folder=bare, environment=index)
        if stubs := self._find_stubs():
            await run_git(*tree, "update-index", "--force-remove", "--", *stubs, folder=bare, environment=index)
        return (await run_git("write-tree", folder=bare, environment=index)).strip()

    def _find_stubs(self) -> list[str]:
        """Empty files that a running sandbox has put where an agent must not write: no one's work."""
        try:
            paths = [Path(one) for one in json.loads(self._stubs.read_text())["stubs"]]
        except (OSError, ValueError, KeyError):
            return []
        inside = [one for one in paths if one.is_relative_to(self.path)]
        return [str(one.relative_to(self.path)) for one in inside if one.is_file() and not one.stat().st_size]

    async def find_filled(self, paths: list[str]) -> list[str]:
        return [path for path in paths if is_filled(self.path / path)]

    async def measure(self) -> int:
        return await asyncio.to_thread(measure, self.path)

    async def remove(self) -> None:
        await asyncio.to_thread(shutil.rmtree, self.path, True)


async def find_submodules(bare: Path, commit: str) -> list[str]:
    found = lines(await run_git("ls-tree", "-r", "-z", commit, folder=bare))
    return [one.partition("\t")[2] for one in found if one.startswith(LINKED)]


def is_filled(path: Path) -> bool:
    try:
        return any(path.iterdir()) if path.is_dir() and not path.is_symlink() else os.path.lexists(path)
    except OSError:
        return True

"""A clone and a branch for each session. Two sessions never share one, and no work is deleted without a copy.

The agent has a working tree with a repository of its own. The daemon keeps a bare one beside it, out of the agent's
reach: everything the daemon does is done there, so that nothing an agent writes configures it.
"""

from __future__ import annotations

import asyncio
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

from executor.dataclass import dataclass
from executor.errors import Conflict, ExecutorError, InvalidRequest, NotFound, SessionFailed
from executor.model.identity.actor import Actor
from executor.model.identity.permissions import lacking
from executor.model.sessions.session import Session
from executor.sessions.isolation.unix_user import find_user
from executor.sessions.locks import Locks
from executor.sessions.repositories.disk_use import measure
from executor.sessions.repositories.git import UPLOAD, as_unicode, author, lines, run_git
from executor.sessions.repositories.user_tree import UserTree
from executor.sessions.repositories.working_tree import (
    FETCH,
    LINKED,
    OTHERS,
    OwnTree,
    Start,
    WorkingTree,
    find_submodules,
)

SCHEMES = ("https", "ssh", "git+ssh")
PROTOCOLS = "file:https:ssh"
REFERENCES = "refs/executor/sessions"
PUBLISHED = "refs/executor/published"  # what the original was last given, in the daemon's repository
CLONES = "refs/executor/clones"  # of clones that were removed, until they are restored


class Places(Protocol):
    """Where the files of sessions are."""

    @property
    def sessions(self) -> Path: ...


@dataclass(frozen=True, slots=True)
class Checkout:
    """The directory of a session; empty besides that for a session without a repository."""

    folder: str
    repository: str = ""
    branch: str = ""
    base: str = ""


class Checkouts:
    """`known` are the repositories of the settings, by name: what anyone may use."""

    def __init__(self, known: dict[str, str], places: Places) -> None:
        self._known = known
        self._places = places
        self._locks = Locks()

    def lock(self, session_id: str) -> asyncio.Lock:
        """For anyone who reads or writes the index of a session."""
        return self._locks.of(session_id)

    @property
    def names(self) -> list[str]:
        return sorted(self._known)

    def tree(self, session_id: str, unix_user: str = "") -> WorkingTree:
        folder = self._places.sessions / session_id
        if unix_user:
            return UserTree(find_user(unix_user), session_id, folder)
        return OwnTree(folder / "work", folder / "agent" / "stubs.json")

    def _tree_of(self, session: Session) -> WorkingTree:
        return self.tree(session.id, session.unix_user)

    def bare(self, session_id: str) -> Path:
        return self._places.sessions / session_id / "repository.git"

    def locate(self, by: Actor, repository: str) -> str:
        """Where it is. Anything but a name of the settings is for the operator of this machine."""
        if repository in self._known:
            return self._known[repository]
        if not by.may("operate"):
            if "/" in repository or ":" in repository:
                raise lacking("operate", "a repository that the settings don't name")
            known = ", ".join(self.names) or "none"
            raise NotFound(f"there is no repository {repository!r}", hint=f"those of the settings: {known}")
        scheme = urlsplit(repository).scheme
        if not repository.startswith("/") and scheme not in SCHEMES:
            raise InvalidRequest(
                f"the repository {repository!r} is neither a name, an absolute path nor an https or ssh address",
                hint="for example: /home/me/app",
            )
        return repository

    async def measure(self, session_id: str, unix_user: str = "") -> int:
        bare = await asyncio.to_thread(measure, self.bare(session_id))
        return bare + await self.tree(session_id, unix_user).measure()

    def measure_all(self) -> int:
        """Without the working trees of other Unix users."""
        folder = self._places.sessions
        parts = ((one / "work", one / "repository.git") for one in folder.iterdir()) if folder.is_dir() else ()
        return sum(measure(part) for pair in parts for part in pair)

    async def create(self, by: Actor, repository: str, session_id: str, unix_user: str = "") -> Checkout:
        """Without hard links: what an agent writes to its objects must not reach those of the original."""
        location = self.locate(by, repository)
        bare, tree = self.bare(session_id), self.tree(session_id, unix_user)
        await self._check_original(location, repository)
        bare.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        branch = branch_of(session_id)
        try:
            clone = ("clone", "--quiet", "--no-hardlinks", "--dissociate", "--template=", "--no-tags", "-u", UPLOAD)
            allowed = {} if location.startswith("/") else {"GIT_ALLOW_PROTOCOL": PROTOCOLS}
            what = f"cloning {repository}"
            await run_git(*clone, "--bare", "--", location, str(bare), name=what, environment=allowed)
            base = await self._read_head(bare, repository)
            await tree.check_out(bare, Start(base, branch, f"{by.name}'s agent"))
        except BaseException:
            await self._give_up(session_id, unix_user)
            raise
        return Checkout(str(tree.path), location, branch, base)

    async def fork(self, session: Session, session_id: str, by: Actor) -> Checkout:
        """A clone of another session's clone as it is now: its commits, its branches, and what is not committed. That
        session's own files are only read. Ignored files stay there."""
        commit, _ = await self._commit_everything(session)
        head = await self._fetch(session)
        bare, tree = self.bare(session_id), self.tree(session_id, session.unix_user)
        bare.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            clone = ("clone", "--quiet", "--no-hardlinks", "--template=", "--mirror")
            await run_git(*clone, "--", str(self.bare(session.id)), str(bare), name="copying the clone")
            await run_git("remote", "remove", "origin", folder=bare)
            await run_git("update-ref", "-d", PUBLISHED, folder=bare)
            branch = branch_of(session_id)
            await tree.check_out(bare, Start(commit, branch, f"{by.name}'s agent", head))
        except BaseException:
            await self._give_up(session_id, session.unix_user)
            raise
        return Checkout(str(tree.path), session.repository, branch, session.base)

    async def _check_original(self, location: str, repository: str) -> None:
        """Before git says it in words of its own, which also name the path behind a name of the settings."""
        if not location.startswith("/"):
            return
        for place in (f"{location}/.git", location, f"{location}.git"):
            with suppress(SessionFailed):
                await run_git("rev-parse", "--resolve-git-dir", place)
                return
        raise InvalidRequest(
            f"{repository!r} is not a git repository that the daemon can read",
            hint="check the path and its permissions, or create one there with `git init`",
        )

    async def _read_head(self, bare: Path, repository: str) -> str:
        try:
            return (await run_git("rev-parse", "--verify", "--quiet", "HEAD^{commit}", folder=bare)).strip()
        except SessionFailed:
            raise InvalidRequest(
                f"the repository {repository!r} has no commit to start from",
                hint="commit something, or check out a branch that exists",
            ) from None

    async def snapshot(self, session: Session) -> str:
        """Keep everything that differs from its base, and say where; empty if nothing does. Earlier snapshots stay.

        Files that the repository ignores are not kept.
        """
        if session.removed_at is not None:
            return f"{CLONES}/{session.id} in {self._kept_in(session)}"
        _, everything = await self._commit_everything(session)
        if everything == session.base:
            return ""
        reference = await self._find_free(session, everything, f"{REFERENCES}/{session.id}")
        return await self._keep(session, everything, reference)

    async def retire(self, session: Session) -> tuple[str, str]:
        """Keep everything, also what does not differ, so that `restore` finds it: the commit, and where it is."""
        commit, everything = await self._commit_everything(session)
        return commit, await self._keep(session, everything, f"{CLONES}/{session.id}")

    async def restore(self, session: Session) -> None:
        """From where `retire` has kept it. What was not committed is a commit now."""
        bare, reference = self.bare(session.id), f"{CLONES}/{session.id}"
        await self.remove(session.id, session.unix_user)
        try:
            await self._init(bare)
            place = f"+{reference}:{reference}"
            await run_git(*FETCH, self._kept_in(session), place, folder=bare, name="restoring the clone")
            await run_git("update-ref", "refs/heads/restored", session.snapshot, folder=bare)
            await run_git("symbolic-ref", "HEAD", "refs/heads/restored", folder=bare)
            last = await self._read_kept(session, f"refs/heads/{session.branch}")
            if last and await self._is_ancestor(session, last, reference):
                await run_git("update-ref", PUBLISHED, last, folder=bare)
            await self._tree_of(session).check_out(bare, Start(session.snapshot, session.branch, session.agent))
        except BaseException:
            await self._give_up(session.id, session.unix_user)
            raise

    async def _init(self, bare: Path) -> None:
        bare.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        await run_git("init", "--quiet", "--bare", "--template=", "--", str(bare))

    def _kept_in(self, session: Session) -> str:
        """The original; for one on another machine, a repository of ours."""
        if session.repository.startswith("/"):
            return session.repository
        return str(self._places.sessions.parent / "kept-repositories" / f"{session.id}.git")

    async def _keep(self, session: Session, commit: str, reference: str) -> str:
        """Where it is."""
        place = self._kept_in(session)
        if place != session.repository:
            await self._init(Path(place))
        await self._hand_over(session, commit, reference)
        return f"{reference} in {place}"

    async def _find_free(self, session: Session, commit: str, reference: str) -> str:
        """A name at which no earlier snapshot is, unless the new one holds that."""
        number, name = 1, reference
        while found := await self._read_kept(session, name):
            if await self._is_ancestor(session, found, commit):
                return name
            number += 1
            name = f"{reference}-{number}"
        return name

    async def _read_kept(self, session: Session, name: str) -> str:
        try:
            return (await run_git("-C", self._kept_in(session), "rev-parse", "--verify", "--quiet", name)).strip()
        except SessionFailed:
            return ""

    async def _commit_everything(self, session: Session) -> tuple[str, str]:
        """The working tree as a commit; and one that also holds the branches and stashes that only the agent's own
        repository has, and the base."""
        commit = await self.commit_all(session, f"Snapshot of session {session.id}")
        bare = self.bare(session.id)
        await run_git("update-ref", f"{OTHERS}/base", session.base, folder=bare)
        if last := await self._read(session, PUBLISHED):
            await run_git("update-ref", f"{OTHERS}/published", last, folder=bare)
        with suppress(SessionFailed):  # its repository is broken; its files are still there
            await self._tree_of(session).fetch_others(bare, session.base)
        found = await run_git("for-each-ref", "--format=%(objectname)", "--no-merged", commit, OTHERS, folder=bare)
        if not found.strip():
            return commit, commit
        parents = [part for one in (commit, *sorted(set(found.split()))) for part in ("-p", one)]
        message = f"Snapshot of session {session.id}, with its other branches"
        tree = (await run_git("rev-parse", f"{commit}^{{tree}}", folder=bare)).strip()
        made = await run_git("commit-tree", tree, *parents, "-m", message, folder=bare, environment=author("Executor"))
        return commit, made.strip()

    async def _hand_over(self, session: Session, commit: str, reference: str, *, force: bool = True) -> None:
        """Fetched by the original with its hooks off, and not from where its configuration says instead; only this
        reference is written there. Without `force`, only if it loses nothing."""
        git_dir = await run_git("-C", self._kept_in(session), "rev-parse", "--absolute-git-dir")
        source = str(self.bare(session.id))
        await run_git("update-ref", f"{REFERENCES}/handover", commit, folder=self.bare(session.id))
        itself = ("-c", f"url.{source}.insteadOf={source}")
        place = f"{'+' if force else ''}{REFERENCES}/handover:{reference}"
        await run_git(*itself, *FETCH, source, place, folder=Path(git_dir.strip()), name="keeping the work")

    async def publish(self, session: Session, message: str, by: str) -> tuple[str, str]:
        """Commit everything on the session's branch, after what was committed before, and give that to the original.
        The commit and the branch."""
        last = await self._read(session, PUBLISHED)
        await self._refuse_moved(session, last)
        trailers = f"Agent: {session.agent}\nAgent-Session: {session.id}"
        commit = await self.commit_all(session, f"{message.rstrip()}\n\n{trailers}", by=by, last=last)
        if commit in (last, session.base):
            raise Conflict("there is nothing to commit", hint="nothing has changed since the last commit")
        if session.repository.startswith("/"):
            await self._hand_over(session, commit, f"refs/heads/{session.branch}", force=False)
        await run_git("update-ref", PUBLISHED, commit, folder=self.bare(session.id))
        return commit, session.branch

    async def _refuse_moved(self, session: Session, last: str) -> None:
        """A branch on which someone else has committed is theirs. One that they removed is created again."""
        branch = session.branch
        found = await self._read_kept(session, f"refs/heads/{branch}") if session.repository.startswith("/") else ""
        if found and found != last:
            raise Conflict(
                f"the branch {branch} has commits that this session did not make",
                hint=f"rename it with `git branch -m {branch} NAME`, and commit again",
            )

    async def commit_all(self, session: Session, message: str, *, by: str = "Executor", last: str = "") -> str:
        """The working tree as a commit on top of what the agent has committed, and of `last`; one of these, or the
        base, if there is nothing new."""
        bare = self.bare(session.id)
        head = await self._fetch(session)
        tree = await self.write_tree(session)
        await self._refuse_nested(session, tree)
        parents = await self._drop_ancestors(session, last, head) if last else [head]
        if len(parents) == 1 and tree == await self._read(session, f"{parents[0]}^{{tree}}"):
            return parents[0]
        given = [part for parent in parents for part in ("-p", parent)]
        made = await run_git("commit-tree", tree, *given, "-m", message, folder=bare, environment=author(by))
        return made.strip()

    async def _drop_ancestors(self, session: Session, last: str, head: str) -> list[str]:
        """Both, or the one that follows from the other."""
        if await self._is_ancestor(session, head, last):
            return [last]
        return [head] if await self._is_ancestor(session, last, head) else [last, head]

    async def _is_ancestor(self, session: Session, older: str, newer: str) -> bool:
        try:
            await run_git("merge-base", "--is-ancestor", older, newer, folder=self.bare(session.id))
        except SessionFailed:
            return False
        return True

    async def _read(self, session: Session, name: str) -> str:
        """The id of an object in the daemon's repository of a session; empty if it is not there."""
        try:
            return (await run_git("rev-parse", "--verify", "--quiet", name, folder=self.bare(session.id))).strip()
        except SessionFailed:
            return ""

    async def _refuse_nested(self, session: Session, tree: str) -> None:
        """Of a repository inside the working tree, git would keep the name of a commit, and no file. The same is true
        of a submodule that was filled."""
        bare = self.bare(session.id)
        changed = lines(await run_git("diff-tree", "-r", "-z", session.base, tree, folder=bare))
        nested = [path for head, path in zip(changed[::2], changed[1::2], strict=False) if head.split(" ")[1] == LINKED]
        nested += await self._tree_of(session).find_filled(await find_submodules(bare, session.base))
        if nested:
            raise Conflict(
                f"{as_unicode(nested[0])} is a git repository of its own, whose files would not be kept",
                hint="remove its .git, or move it out of the working tree",
            )

    async def _fetch(self, session: Session) -> str:
        """The last commit of the agent's branch, or the base where it has none that follows from it."""
        try:
            return await self._tree_of(session).fetch_head(self.bare(session.id), session.base)
        except SessionFailed:
            return session.base  # its repository is broken or leads elsewhere; its files are still there

    async def write_tree(self, session: Session) -> str:
        return await self._tree_of(session).write_tree(self.bare(session.id), session.base)

    async def discard(self, session: Session) -> str:
        """Back to the base, after a snapshot, which is returned."""
        kept = await self.snapshot(session)
        tree = self._tree_of(session)
        await tree.remove()
        await tree.check_out(self.bare(session.id), Start(session.base, session.branch, session.agent))
        return kept

    async def remove(self, session_id: str, unix_user: str = "") -> None:
        await self.tree(session_id, unix_user).remove()
        await asyncio.to_thread(shutil.rmtree, self.bare(session_id), True)

    async def _give_up(self, session_id: str, unix_user: str) -> None:
        """What was begun is removed if possible. What went wrong first is what counts."""
        with suppress(ExecutorError):
            await self.remove(session_id, unix_user)


def branch_of(session_id: str) -> str:
    return f"executor/{session_id}"

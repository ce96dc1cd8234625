"""What a session has changed in its repository, against its base."""

from __future__ import annotations

from collections.abc import Sequence

from executor.dataclass import dataclass
from executor.model.sessions.session import Session
from executor.sessions.repositories.checkouts import Checkouts
from executor.sessions.repositories.executable_changes import runner_of
from executor.sessions.repositories.git import as_unicode, lines, run_git

MAX_DIFF = 2 * 1024 * 1024
MAX_FILES = 5_000
STATES = {"A": "added", "M": "modified", "D": "deleted", "T": "modified", "R": "renamed"}


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """`runs` says what would run the file once the change is taken over; empty if nothing does."""

    path: str
    status: str
    added: int | None
    removed: int | None
    runs: str = ""


@dataclass(frozen=True, slots=True)
class Changes:
    files: list[ChangedFile]
    diff: str
    is_cut: bool


async def read_changes(checkouts: Checkouts, session: Session) -> Changes:
    bare = checkouts.bare(session.id)
    tree = await checkouts.write_tree(session)
    compare = ("diff-tree", "-r", "--no-renames", "--no-ext-diff", "--no-textconv", session.base, tree)
    raw = lines(await run_git(*compare[:2], "-z", *compare[2:], folder=bare))
    counts = _read_counts(lines(await run_git(*compare[:2], "-z", "--numstat", *compare[2:], folder=bare)))
    diff = await run_git(*compare[:2], "-p", *compare[2:], folder=bare, cut_at=MAX_DIFF + 1)
    files = []
    for head, path in zip(raw[::2], raw[1::2], strict=False):
        _, mode, _, _, status = head.split(" ")
        added, removed = counts.get(path, (None, None))
        runs = runner_of(path, mode) if not status.startswith("D") else ""
        files.append(ChangedFile(as_unicode(path), STATES.get(status[0], "modified"), added, removed, runs))
    is_cut = len(diff) > MAX_DIFF or len(files) > MAX_FILES
    return Changes(files[:MAX_FILES], as_unicode(diff[:MAX_DIFF]), is_cut)


def _read_counts(rows: Sequence[str]) -> dict[str, tuple[int | None, int | None]]:
    found = {}
    for row in rows:
        added, removed, path = row.split("\t", 2)
        found[path] = (_number(added), _number(removed))
    return found


def _number(text: str) -> int | None:
    """None for a binary file."""
    return int(text) if text.isdecimal() else None

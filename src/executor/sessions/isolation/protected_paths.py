"""Paths in a working directory that a person, an editor, git or the next agent would later execute.

In a sandbox they can't be written, whether they are there or not. What is absent is covered by an empty mount on its
first missing part, and the mount points that bubblewrap creates for that are removed afterwards.
"""

from __future__ import annotations

import fcntl
import json
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from executor.errors import IsolationUnavailable
from executor.private_files import write_private

GIT = ("hooks/", "config", "config.worktree", "info/attributes")
# A trailing slash marks a directory. The rest are files.
PROTECTED = (
    ".gitmodules", ".gitattributes", ".gitconfig",
    ".bashrc", ".bash_profile", ".bash_login", ".zshrc", ".zprofile", ".zshenv", ".zlogin", ".profile",
    ".ripgreprc", ".envrc", ".tool-versions", "mise.toml", ".mise.toml",
    ".mcp.json", "opencode.json", "opencode.jsonc",
    ".vscode/", ".idea/", ".cursor/", ".devcontainer/", ".husky/",
    ".claude/settings.json", ".claude/settings.local.json", ".claude/hooks/", ".claude/commands/", ".claude/agents/",
    ".claude/plugins/", ".claude/skills/",
    ".codex/", ".agents/", ".gemini/", ".opencode/",
)  # fmt: skip
MAX_DIRECTORIES = 100_000
_SKIPPED = {"node_modules", ".venv", "__pycache__"}


@dataclass
class Protection:
    """`arguments` are bubblewrap's. `stubs` are paths that it will create on the host as mount points."""

    arguments: list[str] = field(default_factory=list)
    stubs: list[str] = field(default_factory=list)
    links: dict[str, str] = field(default_factory=dict)
    known: frozenset[str] = frozenset()
    roots: list[str] = field(default_factory=list)

    def git_excludes(self) -> str:
        """Patterns for `core.excludesFile`, so that stubs are neither listed nor added to a commit."""
        paths = {*self.stubs, *self.known}
        return "".join(
            f"/{path.removeprefix(root)}\n" for root in self.roots for path in paths if path.startswith(root)
        )

    def save(self, path: Path) -> None:
        """Before the start, so that stubs are also removed after a kill. Adds to what is there."""
        saved = _load(path)
        stubs = list(dict.fromkeys([*saved["stubs"], *self.stubs]))
        write_private(path, json.dumps({"stubs": stubs, "links": {**saved["links"], **self.links}}))


def protect(roots: Iterable[str], masked: Sequence[str], empty: Path, saved: Path) -> Protection:
    """`masked` paths of each root look empty inside: what an agent would load from its working directory.

    `empty` is a directory with an empty `file` and an empty `directory`.
    What `saved` and the lists of other sessions name are stubs of another sandbox, so that nothing is really there.
    """
    protection = Protection(known=frozenset(_load(saved)["stubs"]) | _stubs_of_others(saved))
    for root in map(os.path.realpath, roots):
        protection.roots.append(f"{root}/")
        seen: set[str] = set()
        for name in masked:
            _cover(protection, root, name, empty, seen, mask=True)
        for name in (*PROTECTED, *_git_paths(root, protection.known)):
            _cover(protection, root, name, empty, seen, mask=False)
        for nested in _find_nested(root):
            _cover(protection, root, nested, empty, seen, mask=False)
    return protection


@contextmanager
def hold(saved: Path) -> Iterator[None]:
    """While stubs are chosen or removed: sessions may share a directory, and with it the stubs there."""
    folder = os.open(saved.parents[2], os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def clean_up(path: Path) -> list[str]:
    """Removes the stubs that are still empty, and restores links. Returns the links that had been changed.

    A stub that another session lists stays, and is removed by that one: under a sandbox that still runs, removing it
    would lift its protection.
    """
    if not path.exists():
        return []
    with hold(path):
        saved = _load(path)
        for stub in sorted(set(saved["stubs"]) - _stubs_of_others(path), key=len, reverse=True):
            _remove_stub(stub)
        changed = [link for link, target in saved["links"].items() if not _is_link_to(link, target)]
        for link in changed:
            _restore_link(link, saved["links"][link])
        path.unlink(missing_ok=True)
    return changed


def _stubs_of_others(saved: Path) -> frozenset[str]:
    """Those of all sessions beside this one; `saved` is SESSIONS/ID/agent/stubs.json."""
    lists = (one for one in saved.parents[2].glob(f"*/{saved.parent.name}/{saved.name}") if one != saved)
    return frozenset(stub for one in lists for stub in _load(one)["stubs"])


def _load(path: Path) -> dict[str, Any]:
    try:
        saved: dict[str, Any] = json.loads(path.read_text())
    except (OSError, ValueError):
        return {"stubs": [], "links": {}}
    return saved


def _git_paths(root: str, known: frozenset[str]) -> list[str]:
    git = Path(root, ".git")
    if str(git) in known:
        return [".git/"]
    if git.is_dir() and not git.is_symlink():
        return [f".git/{name}" for name in GIT]
    return [".git"] if git.is_file() else [".git/"]


def _cover(protection: Protection, root: str, name: str, empty: Path, seen: set[str], *, mask: bool) -> None:
    """`seen` are paths already covered in this root, so that a mask stays on top of a protection."""
    current = root
    parts = name.rstrip("/").split("/")
    for number, part in enumerate(parts):
        parent, current = current, f"{current}/{part}"
        if current in seen and number == len(parts) - 1:
            return
        last = number == len(parts) - 1
        kind = "absent" if current in protection.known else _kind(current)
        if kind == "unreadable":  # what can't be looked at can't be protected in parts
            protection.arguments += ["--ro-bind", parent, parent]
            return
        if kind == "absent":
            _cover_absent(protection, current, empty, directory=not last or name.endswith("/"))
            seen.add(current)
            return
        if kind == "link":
            _cover_link(protection, root, current)
            seen.add(current)
            return
        if last:
            seen.add(current)
            protection.arguments += _hide(current, empty, kind) if mask else ["--ro-bind", current, current]
        elif kind != "directory":
            protection.arguments += ["--ro-bind", current, current]
            return
        elif current not in seen:  # a mount point can't be renamed away, with everything below it
            seen.add(current)
            protection.arguments += ["--bind", current, current]


def _cover_absent(protection: Protection, path: str, empty: Path, *, directory: bool) -> None:
    if path in protection.stubs:
        return
    protection.stubs.append(path)
    protection.arguments += _hide(path, empty, "directory" if directory else "file")


def _cover_link(protection: Protection, root: str, path: str) -> None:
    target = os.path.realpath(path)
    if not (target == root or target.startswith(f"{root}/")) or not Path(target).exists():
        raise IsolationUnavailable(
            f"{path} is a symbolic link to {target}, outside the working directory",
            hint="replace the link by a copy, or work in a clone: a link can't be protected",
        )
    protection.links[path] = str(Path(path).readlink())
    protection.arguments += ["--ro-bind", target, target]


def _hide(path: str, empty: Path, kind: str) -> list[str]:
    return ["--ro-bind", str(empty / kind), path]


def _kind(path: str) -> str:
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return "absent"
    except NotADirectoryError:
        return "absent"
    except OSError:
        return "unreadable"
    if stat.S_ISLNK(mode):
        return "link"
    return "directory" if stat.S_ISDIR(mode) else "file"


def _find_nested(root: str) -> Iterator[str]:
    """Repositories and settings below the top, relative to it."""
    names = {name.split("/")[0] for name in PROTECTED}
    pending, visited = [root], 0
    while pending:
        folder = pending.pop()
        visited += 1
        if visited > MAX_DIRECTORIES:
            raise IsolationUnavailable(
                f"{root} has more than {MAX_DIRECTORIES} directories to protect",
                hint="start the session in a smaller directory, or in a clone",
            )
        relative = "" if folder == root else folder[len(root) + 1 :] + "/"
        try:
            entries = list(os.scandir(folder))
        except PermissionError:
            yield relative
            continue
        for entry in entries:
            is_directory = entry.is_dir(follow_symlinks=False)
            if relative and entry.name == ".git":
                yield from ((f"{relative}.git/{part}" for part in GIT) if is_directory else (f"{relative}.git",))
            elif relative and entry.name in names:
                yield from (f"{relative}{name}" for name in PROTECTED if name.split("/")[0] == entry.name)
            elif is_directory and entry.name not in _SKIPPED and entry.name != ".git":
                pending.append(entry.path)


def _remove_stub(path: str) -> None:
    """Only what is still as it was created: empty."""
    with suppress(OSError):
        found = os.lstat(path)
        if stat.S_ISDIR(found.st_mode):
            Path(path).rmdir()
        elif stat.S_ISREG(found.st_mode) and found.st_size == 0:
            Path(path).unlink()


def _is_link_to(path: str, target: str) -> bool:
    try:
        return str(Path(path).readlink()) == target
    except OSError:
        return False


def _restore_link(path: str, target: str) -> None:
    """What took its place is kept beside it, under a name that nothing loads."""
    with suppress(OSError):
        if os.path.lexists(path):
            Path(path).rename(f"{path}.changed-by-agent")
        Path(path).symlink_to(target)

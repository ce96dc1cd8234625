"""Looks for values where an attacker would: in environment, arguments, open files, files and memory."""

from __future__ import annotations

import base64
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

CHUNK = 4 * 2**20
OVERLAP = 4096
MAX_FILE = 64 * 2**20
SESSION_TOKEN = rb"exh_[A-Za-z0-9_-]{43}"


def pattern_of(value: str) -> bytes:
    """The value as it is, and as it would be hidden from a plain search."""
    raw = value.encode()
    forms = {raw, raw[::-1], value.encode("utf-16-le"), raw.hex().encode(), quote(value, safe="").encode()}
    forms |= {base64.b64encode(b"x" * shift + raw)[4 if shift else 0 : -4] for shift in range(3)}
    return b"|".join(re.escape(form) for form in forms)


class Hunt:
    """`wanted` are patterns by name. What it found is `(name, place)`; `searched` is how much it looked at."""

    def __init__(self, wanted: Mapping[str, bytes]) -> None:
        self._wanted = {name: re.compile(pattern) for name, pattern in wanted.items()}
        self.found: set[tuple[str, str]] = set()
        self.searched = 0
        self.processes = 0

    def places_of(self, name: str) -> set[str]:
        return {place for found, place in self.found if found == name}

    def search_process(self, pid: int, title: str) -> None:
        """Raises PermissionError where this user may not look: a hunt that sees nothing proves nothing."""
        folder = Path(f"/proc/{pid}")
        self.processes += 1
        try:
            for name in ("environ", "cmdline"):
                self._look(f"{title}: {name}", (folder / name).read_bytes())
            for descriptor in (folder / "fd").iterdir():
                self._search_descriptor(f"{title}: open files", descriptor)
            for data in memory_of(pid):
                self._look(f"{title}: memory", data)
        except (FileNotFoundError, ProcessLookupError):
            return  # it ended meanwhile

    def search_files(self, *folders: Path) -> None:
        for folder in folders:
            for path in folder.rglob("*"):
                with suppress(OSError):
                    if path.is_file() and not path.is_symlink():
                        self._look(f"file {path}", path.read_bytes())

    def search_text(self, title: str, text: str) -> None:
        self._look(title, text.encode("utf-8", "surrogatepass"))

    def _search_descriptor(self, title: str, link: Path) -> None:
        with suppress(FileNotFoundError):
            if stat.S_ISREG(link.stat().st_mode):  # also one that was deleted, or never had a name
                with link.open("rb") as file:
                    self._look(title, file.read(MAX_FILE))

    def _look(self, place: str, data: bytes) -> None:
        self.searched += len(data)
        self.found |= {(name, place) for name, pattern in self._wanted.items() if pattern.search(data)}


def memory_of(pid: int) -> Iterator[bytes]:
    """What a process has written to, or has mapped without a file."""
    with Path(f"/proc/{pid}/mem").open("rb", 0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            span, access, _, _, inode, *name = line.split(None, 5)
            if "r" not in access or (inode != "0" and "w" not in access) or (name and name[0].startswith("[v")):
                continue
            start, end = (int(part, 16) for part in span.split("-"))
            for at in range(start, end, CHUNK):
                with suppress(OSError, ValueError, OverflowError):  # it may have been unmapped meanwhile
                    memory.seek(at)
                    yield memory.read(min(CHUNK + OVERLAP, end - at))


def family_of(pid: int) -> dict[int, str]:
    """A process and all that descend from it, each with its name."""
    parents: dict[int, list[int]] = {}
    names: dict[int, str] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with suppress(OSError, IndexError):
                head, _, rest = (entry / "stat").read_text().rpartition(")")
                parents.setdefault(int(rest.split()[1]), []).append(int(entry.name))
                names[int(entry.name)] = head.partition("(")[2]
    found, pending = {pid: names.get(pid, "")}, [pid]
    while pending:
        for child in parents.get(pending.pop(), []):
            found[child] = names[child]
            pending.append(child)
    return found

"""Values that must turn up nowhere, and a search for them that shares no code with what hides them."""

from __future__ import annotations

import base64
import json
import re
import secrets
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import quote

import numpy as np

CHUNK = 4 * 1024 * 1024
NOTHING = bytes(4096)
ODD = '/+&="%'


class Canaries:
    def __init__(self) -> None:
        self.values: dict[str, str] = {}
        self._forms: dict[bytes, dict[bytes, str]] = {}  # by their first four bytes
        self._begin, self._go_on = np.zeros(2**16, bool), np.zeros(2**16, bool)

    def new(self, name: str, *, odd: bool = True) -> str:
        """`odd` has characters that every encoding writes in its own way."""
        return self.add(name, secrets.token_hex(6) + ODD * odd + secrets.token_hex(6))

    def add(self, name: str, value: str) -> str:
        assert len(value) >= 8, name
        self.values[name] = value
        for form in forms(value):
            self._forms.setdefault(form[:4], {})[form] = name
            self._begin[int.from_bytes(form[:2])] = self._go_on[int.from_bytes(form[2:4])] = True
        return value

    def found(self, data: bytes) -> set[str]:
        """One pass over the data for all forms together: there are hundreds, and a process has much memory."""
        begins = ((at, self._forms.get(data[at : at + 4], {})) for at in self._likely(data))
        return {name for at, begun in begins for form, name in begun.items() if data.startswith(form, at)}

    def _likely(self, data: bytes) -> list[int]:
        """Where two bytes begin a form and the two after them go on with one."""
        octets = np.frombuffer(data, np.uint8).astype(np.uint16)
        pairs = octets[:-1] << 8 | octets[1:]
        at = np.flatnonzero(self._begin[pairs[:-2]])
        likely: list[int] = at[self._go_on[pairs[at + 2]]].tolist()
        return likely

    def in_files(self, folder: Path) -> dict[str, set[str]]:
        """By file. Files that cannot be read fail the search."""
        files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
        return {path.name: names for path in files if (names := self.found(path.read_bytes()))}

    def in_rows(self, database: Path) -> dict[str, set[str]]:
        """By table: every value as SQLite gives it, so that nothing is missed that lies across two pages."""
        hits: dict[str, set[str]] = {}
        connection = sqlite3.connect(database)
        try:
            tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            for table in tables:
                for row in connection.execute(f'SELECT * FROM "{table}"'):  # noqa: S608 - its own names
                    if names := self.found(repr_of(row)):
                        hits.setdefault(table, set()).update(names)
        finally:
            connection.close()
        return hits

    def in_memory(self, pid: int) -> set[str]:
        """What a core dump of that process would hold."""
        found: set[str] = set()
        for piece in memory(pid):
            found |= self.found(piece)
        return found


def forms(value: str) -> set[bytes]:
    data = value.encode()
    made = {
        data,
        data.hex().encode(),
        data.hex().upper().encode(),
        quote(value, safe="").encode(),
        quote(value).encode(),
    }
    made |= {json.dumps(value)[1:-1].encode(), json.dumps(json.dumps(value)[1:-1])[1:-1].encode()}
    made.add(value.encode("utf-16-le"))
    for shift in range(3):
        plain = base64.b64encode(b"\0" * shift + data)[4 if shift else 0 : -4]
        made |= {plain, plain.replace(b"+", b"-").replace(b"/", b"_")}
    return made


def repr_of(row: Iterable[object]) -> bytes:
    return b"\0".join(one if isinstance(one, bytes) else str(one).encode("utf-8", "surrogatepass") for one in row)


def memory(pid: int) -> Iterator[bytes]:
    """All memory that a process can write, in overlapping pieces: what else it has came from a file as it is."""
    maps = Path(f"/proc/{pid}/maps").read_text()
    with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as file:
        for line in maps.splitlines():
            match = re.match(r"([0-9a-f]+)-([0-9a-f]+) rw", line)
            if match is None or "[vvar" in line or "[vsyscall" in line:
                continue
            start, end = int(match[1], 16), int(match[2], 16)
            yield from region(file, start, end)


def region(file: object, start: int, end: int) -> Iterator[bytes]:
    kept = b""
    while start < end:
        try:
            file.seek(start)  # type: ignore[attr-defined]
            piece: bytes = file.read(min(CHUNK, end - start))  # type: ignore[attr-defined]
        except (OSError, ValueError):  # a guard page, or reserved and never used
            start, kept = start + CHUNK, b""
            continue
        if not piece:
            return
        if written := piece.replace(NOTHING, b""):  # most of it was never written to
            yield kept + written
        kept, start = piece[-400:], start + len(piece)

"""A change of a client's file: worked out first, so that it can be shown, and applied to the file as it is by then."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from executor.dataclass import dataclass
from executor.errors import Conflict, InvalidRequest
from executor.surfaces.cli.client_files.edit import Entry, is_ours
from executor.surfaces.cli.client_files.file import ClientFile, Keepsake, delete, holding
from executor.surfaces.cli.client_files.text import Unusable
from executor.surfaces.clients.table import Table

_ATTEMPTS = 5
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Change:
    """`content` is what the file will be, None if it is to be deleted. `before` is what it once was and will be."""

    word: str
    content: bytes | None
    diff: str
    before: ClientFile | None = None

    @property
    def is_needed(self) -> bool:
        return self.word != "none"


@dataclass(frozen=True, slots=True)
class Target:
    """An entry in a file of this machine. `folder` is where the versions before our changes are kept."""

    entry: Entry
    path: Path
    folder: Path

    def read_entry(self) -> Table | None:
        """Ours, or None. An entry of the same name that is not ours is a conflict."""
        return self._entry_in(ClientFile.read(self.path))

    def plan_connecting(self, entry: Table) -> Change:
        return self._work_out_connecting(ClientFile.read(self.path), entry)

    def plan_removal(self) -> Change:
        return self._work_out_removal(ClientFile.read(self.path))

    def connect(self, entry: Table, *, is_secret: bool) -> Change:
        return self._apply(lambda file: self._work_out_connecting(file, entry), is_secret=is_secret)

    def remove(self) -> Change:
        if ClientFile.read(self.path).content is None:
            return Change("none", None, "")
        return self._apply(self._work_out_removal, is_secret=False)

    @property
    def backup(self) -> Path | None:
        """The version before our changes, if there was one."""
        path = self._keepsake(ClientFile.read(self.path)).backup
        return path if path.exists() else None

    def _work_out_connecting(self, file: ClientFile, entry: Table) -> Change:
        present = self._entry_in(file)
        text = file.text
        edited = self._try(file, lambda: self.entry.put(text, entry))
        word = "none" if edited == text else "updated" if present is not None else "added"
        return Change(word, file.encode(edited), self._diff(text, edited))

    def _work_out_removal(self, file: ClientFile) -> Change:
        if self._entry_in(file) is None:
            return Change("none", file.content, "")
        before = self._keepsake(file).read_before(file)
        if before and self._try(file, lambda: self.entry.is_same_otherwise(before.text, file.text)):
            left = self._try(file, lambda: self.entry.remove(before.text))
            content = None if before.content is None else before.encode(left)
            return Change("removed", content, self._diff(file.text, left), before)
        left = self._try(file, lambda: self.entry.remove(file.text))
        if not self._had_container(file):
            left = self._try(file, lambda: self.entry.remove_empty_container(left))
        return Change("removed", file.encode(left), self._diff(file.text, left))

    def _had_container(self, file: ClientFile) -> bool:
        """Whether the file had a member for servers before our change; if that is not known, it stays."""
        keepsake = self._keepsake(file)
        if not keepsake.is_known:
            return True
        try:
            return self.entry.has_container(ClientFile.read(keepsake.backup).text)
        except (Unusable, InvalidRequest):
            return True

    def _apply(self, work_out: Callable[[ClientFile], Change], *, is_secret: bool) -> Change:
        with holding(self.path) as created:
            for _ in range(_ATTEMPTS):
                file = ClientFile.read(self.path)
                change = work_out(file)
                if not change.is_needed:
                    return change
                file.refuse_foreign()
                keepsake = Keepsake(self.folder, file.target)
                is_known = keepsake.read_before(file) is not None
                if not change.before:
                    keepsake.save(file, change.content or b"", created)
                if ClientFile.read(self.path).content == file.content:
                    self._write(file, change, is_secret=is_secret)
                    if change.before or (change.word == "removed" and not is_known):
                        keepsake.forget(backup=change.before is not None)
                    return change
        raise Conflict(f"{self.path} keeps changing", hint="close the client, then run the command again")

    def _write(self, file: ClientFile, change: Change, *, is_secret: bool) -> None:
        if change.content is None:
            delete(file, self._keepsake(file).created_folders())
        else:
            (change.before or file).replace(change.content, is_secret=is_secret)

    def _entry_in(self, file: ClientFile) -> Table | None:
        entry = self._try(file, lambda: self.entry.read(file.text))
        if entry is not None and not is_ours(self.entry.client, entry):
            raise Conflict(
                f"{self.path} has a server {self.entry.name!r} that is not this one",
                hint="rename it there, or choose another name with `--name`",
            )
        return entry

    def _keepsake(self, file: ClientFile) -> Keepsake:
        return Keepsake(self.folder, file.target)

    def _diff(self, before: str, after: str) -> str:
        return self.entry.diff(before, after, str(self.path))

    def _try(self, file: ClientFile, act: Callable[[], _T]) -> _T:
        try:
            return act()
        except Unusable as error:
            raise InvalidRequest(
                f"{file.path} can't be changed: {error}",
                hint="nothing was changed; repair it, or use `--print` and add the text yourself",
            ) from error

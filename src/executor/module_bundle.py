"""One file with the compiled modules of a start, beside the files that Python keeps of each.

Python looks for every module in several folders, and opens, checks and reads a file for it. A start imports hundreds.
A module whose source has changed is left to Python, as is everything that is not in the bundle. See
docs/decisions/module-bundle.md.
"""

from __future__ import annotations

import marshal
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import cache_from_source
from io import BufferedWriter
from mmap import ACCESS_READ, mmap
from types import CodeType, ModuleType

PYC_HEAD = 16  # bytes: magic number, flags, time and size of the source
WORD = 0xFFFFFFFF  # how much of a time and a size Python keeps there
MANY = 150  # imported without the bundle: it was written by a start that needed much less
TAIL = 8  # bytes that say where the index begins

Entry = tuple[str, str, list[str] | None, int, int, int, int]
"""Source, compiled file, folders of a package, time and size of the source, beginning and end of the code."""


class Loader(SourceFileLoader):
    """As Python's own, but with the code at hand."""

    def __init__(self, name: str, path: str, bundle: Bundle) -> None:
        super().__init__(name, path)
        self._bundle = bundle

    def get_code(self, fullname: str) -> CodeType | None:
        return self._bundle.load(fullname) or super().get_code(fullname)


class Bundle:
    """A finder of `sys.meta_path`. `is_stale` if a source is not what it was."""

    def __init__(self, content: mmap) -> None:
        self._content: mmap | None = content
        begin = int.from_bytes(content[-TAIL:], "little")
        self._entries: dict[str, Entry]
        self.made_for, self._entries = marshal.loads(content[begin:-TAIL])
        self.is_stale = False

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        entry = self._entries.get(name)
        if entry is None:
            return None
        source, compiled, folders, time, size, _, _ = entry
        try:
            found = os.stat(source)
        except OSError:
            found = None
        if found is None or (int(found.st_mtime) & WORD, found.st_size & WORD) != (time, size):
            self.is_stale = True
            return None
        spec = ModuleSpec(name, Loader(name, source, self), origin=source)
        spec.has_location, spec.cached, spec.submodule_search_locations = True, compiled, folders
        return spec

    def load(self, name: str) -> CodeType | None:
        content, entry = self._content, self._entries.get(name)
        if content is None or entry is None:
            return None
        with memoryview(content) as whole:
            code: CodeType = marshal.loads(whole[entry[-2] : entry[-1]])
        return code

    def release(self) -> None:
        """Loaders keep the bundle, but its file need not stay in memory."""
        self._content, self._entries = None, {}


def bundle_file() -> str:
    """Where Python would keep a compiled module of this package."""
    return cache_from_source(os.path.join(os.path.dirname(__file__), "bundle.py"))


def surroundings() -> tuple[object, ...]:
    """What decides which file a module is in. The first folder is that of the script, or the current one."""
    return (sys.version, sys.prefix, sys.path[not sys.flags.safe_path :])


def use_bundle() -> None:
    """For every import from now on that it has the module of."""
    with suppress(OSError, ValueError, EOFError, TypeError):  # whatever is wrong with it, Python has the modules
        with open(bundle_file(), "rb") as file:
            bundle = Bundle(mmap(file.fileno(), 0, access=ACCESS_READ))
        if bundle.made_for == surroundings():
            sys.meta_path.insert(0, bundle)


def release_bundle() -> bool:
    """What is imported from now on is left to Python. True if the next start needs another bundle."""
    used = [one for one in sys.meta_path if isinstance(one, Bundle)]
    sys.meta_path = [one for one in sys.meta_path if not isinstance(one, Bundle)]  # another thread may go through it
    for bundle in used:
        bundle.release()
    is_good = bool(used) and not any(one.is_stale for one in used) and count_unbundled() < MANY
    return not is_good and not sys.dont_write_bytecode


def write_bundle() -> None:
    """From the files that Python has of all that is imported now. Where those can't be written, there is no bundle."""
    file = bundle_file()
    new, entries = f"{file}.{os.getpid()}", dict[str, Entry]()
    with suppress(OSError, ValueError):
        try:
            with open(new, "wb") as written:
                for name, spec in list_imported():
                    copy_code(name, spec, entries, written)
                begin = written.tell()
                index = marshal.dumps((surroundings(), entries))  # type: ignore[arg-type]  # it takes any tuple
                written.write(index + begin.to_bytes(TAIL, "little"))
            os.replace(new, file)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(new)


def copy_code(name: str, spec: ModuleSpec, entries: dict[str, Entry], written: BufferedWriter) -> None:
    if spec.origin is None or spec.cached is None or not os.path.exists(spec.cached):
        return
    with open(spec.cached, "rb") as compiled:
        head, code = compiled.read(PYC_HEAD), compiled.read()
    if any(head[4:8]):  # Python checks it by its content, or not at all
        return
    time, size = int.from_bytes(head[8:12], "little"), int.from_bytes(head[12:16], "little")
    folders, begin = spec.submodule_search_locations, written.tell()
    written.write(code)
    kept = None if folders is None else list(folders)
    entries[name] = (spec.origin, spec.cached, kept, time, size, begin, begin + len(code))


def count_unbundled() -> int:
    return sum(not isinstance(spec.loader, Loader) for _, spec in list_imported())


def list_imported() -> Iterator[tuple[str, ModuleSpec]]:
    for name, module in list(sys.modules.items()):
        spec: ModuleSpec | None = getattr(module, "__spec__", None)
        if spec is not None and spec.name == name and isinstance(spec.loader, SourceFileLoader):
            yield name, spec

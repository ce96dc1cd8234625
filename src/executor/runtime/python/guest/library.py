"""The standard library and the packages, in memory: there are no files once the image is complete.

Runs when the image is built. What most programs use is imported then, so that importing it costs nothing. The rest is
kept as compiled code, which an importer of our own finds.
"""

from __future__ import annotations

import gc
import importlib
import importlib.abc
import importlib.machinery
import importlib.resources.abc
import io
import linecache
import marshal
import os
import sys
import zlib
from collections.abc import Iterator
from types import CodeType, ModuleType
from typing import Any

COMMON = """
    abc argparse array ast asyncio base64 binascii bisect calendar cmath codecs collections collections.abc
    colorsys concurrent.futures.thread configparser contextlib contextvars copy csv dataclasses datetime decimal difflib
    email email.message email.mime.multipart email.mime.text email.parser email.policy email.utils enum errno fnmatch
    fractions functools gc getpass glob graphlib gzip hashlib heapq hmac html html.entities html.parser http inspect
    io ipaddress itertools json keyword linecache locale logging logging.handlers math mimetypes numbers operator os
    os.path pathlib pickle platform pprint queue quopri random re reprlib secrets shlex shutil signal socket statistics
    string string.templatelib struct symtable sys tempfile textwrap threading time timeit tokenize tomllib traceback
    types typing unicodedata unittest.mock urllib.error urllib.parse urllib.request urllib.response uuid warnings
    weakref xml.dom.minidom xml.etree.ElementTree zipfile zlib zoneinfo _strptime encodings.idna encodings.latin_1
    encodings.ascii encodings.utf_16 encodings.utf_8_sig encodings.cp1252 encodings.punycode encodings.hex_codec
    encodings.base64_codec encodings.raw_unicode_escape encodings.unicode_escape importlib.resources
""".split()  # noqa: SIM905
# Folders of the library that need an operating system, or are of no use to a program.
_LEFT_OUT = frozenset(
    """
    __phello__ __pycache__ ctypes curses ensurepip idlelib lib2to3 multiprocessing pydoc_data site-packages test tests
    tkinter turtledemo venv
    """.split()  # noqa: SIM905
)
_OWN = frozenset(
    "app console failures host library loop program rehearsal source surroundings tools values".split()  # noqa: SIM905
)
_archive: dict[str, tuple[bool, bytes]] = {}
_data: dict[str, bytes] = {}  # other files of the packages, by their path
_ZONES, _METADATA = "tzdata/zoneinfo/", ".dist-info/METADATA"


class Archive(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Imports from the compiled code in memory."""

    def find_spec(
        self, fullname: str, path: object = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        found = _archive.get(fullname)
        if found is None:
            return None
        spec = importlib.machinery.ModuleSpec(fullname, self, is_package=found[0])
        spec.origin = _origin(fullname, found[0])
        spec.has_location = True
        if found[0]:
            spec.submodule_search_locations = [fullname.replace(".", "/")]
        return spec

    def is_package(self, fullname: str) -> bool:
        return _archive[fullname][0]

    def get_code(self, fullname: str) -> CodeType:
        code: CodeType = marshal.loads(zlib.decompress(_archive[fullname][1]))  # noqa: S302 - made when this was built
        return code

    def get_source(self, fullname: str) -> None:
        return None

    def get_data(self, path: str) -> bytes:
        if path not in _data:
            raise FileNotFoundError(path)
        return _data[path]

    def get_resource_reader(self, fullname: str) -> Resources:
        return Resources(fullname.replace(".", "/"))

    def find_distributions(self, context: Any = None) -> Iterator[Any]:
        """Of the packages, for `importlib.metadata`."""
        from importlib.metadata import Distribution, Prepared

        class Installed(Distribution):
            def __init__(self, folder: str) -> None:
                self._folder = folder

            def read_text(self, filename: str) -> str | None:
                content = _data.get(f"{self._folder}/{filename}")
                return None if content is None else content.decode()

            def locate_file(self, path: Any) -> Any:
                return path

        wanted = Prepared.normalize(context.name) if context is not None and context.name else None
        for folder in sorted({path.partition("/")[0] for path in _data if path.endswith(_METADATA)}):
            if wanted in (None, Prepared.normalize(folder.rsplit("-", 2)[0])):
                yield Installed(folder)

    def exec_module(self, module: ModuleType) -> None:
        exec(self.get_code(module.__name__), module.__dict__)  # noqa: S102 - it is the library


class Resources(importlib.resources.abc.TraversableResources):
    def __init__(self, path: str) -> None:
        self._path = path

    def files(self) -> Resource:
        return Resource(self._path)


class Resource(importlib.resources.abc.Traversable):
    """A file of a package, or a folder of them."""

    def __init__(self, path: str) -> None:
        self._path = path

    @property
    def name(self) -> str:
        return self._path.rpartition("/")[2]

    def iterdir(self) -> Iterator[Resource]:
        inside = f"{self._path}/"
        names = {path[len(inside) :].partition("/")[0] for path in _data if path.startswith(inside)}
        return (Resource(inside + name) for name in sorted(names))

    def is_file(self) -> bool:
        return self._path in _data

    def is_dir(self) -> bool:
        return any(path.startswith(f"{self._path}/") for path in _data)

    def joinpath(self, *parts: str) -> Resource:
        return Resource("/".join([self._path, *map(str, parts)]))

    __truediv__ = joinpath

    def open(self, mode: str = "r", *args: Any, **options: Any) -> Any:
        if self._path not in _data:
            raise FileNotFoundError(self._path)
        stream = io.BytesIO(_data[self._path])
        return stream if "b" in mode else io.TextIOWrapper(stream, *args, **options)


def _origin(name: str, is_package: bool) -> str:
    return name.replace(".", "/") + ("/__init__.py" if is_package else ".py")


def collect() -> None:
    """Imports what is common, and keeps the rest of the library and the packages beside this file."""
    for name in COMMON:
        importlib.import_module(name)
    for root in (linecache.__file__.rpartition("/")[0], __file__.rpartition("/")[0]):
        for folder, inner, names in os.walk(root):
            inner[:] = sorted(set(inner) - _LEFT_OUT)
            for name in sorted(names):
                _add_file(f"{folder}/{name}", f"{folder}/{name}".removeprefix(f"{root}/"))


def _add_file(path: str, short: str) -> None:
    if not short.endswith(".py"):
        with open(path, "rb") as file:  # noqa: PTH123
            _data[short] = file.read()
        return
    name = short.removesuffix(".py").replace("/", ".")
    if name not in _OWN:
        _add(path, name.removesuffix(".__init__"), name.endswith(".__init__"))


def _add(path: str, name: str, is_package: bool) -> None:
    with open(path, "rb") as file:  # noqa: PTH123
        code = compile(file.read(), _origin(name, is_package), "exec", dont_inherit=True, optimize=2)
    _archive[name] = (is_package, zlib.compress(marshal.dumps(code), 6))


def _load_zone(key: str) -> io.BytesIO:
    from zoneinfo import ZoneInfoNotFoundError

    if _ZONES + key not in _data:
        raise ZoneInfoNotFoundError(f"No time zone found with key {key}")
    return io.BytesIO(_data[_ZONES + key])


def _zone_names() -> set[str]:
    return {path.removeprefix(_ZONES) for path in _data if path.startswith(_ZONES) and _data[path].startswith(b"TZif")}


def seal() -> None:
    """The last thing that is done when the image is built: from here on there are no files."""
    import zoneinfo
    from zoneinfo import _common, _tzpath

    archive = Archive()
    _common.load_tzdata = _load_zone
    zoneinfo.available_timezones = _tzpath.available_timezones = _zone_names
    sys.meta_path[:] = [importlib.machinery.BuiltinImporter, importlib.machinery.FrozenImporter, archive]
    for stale in (sys.path, sys.path_hooks, sys.path_importer_cache, sys.argv):
        stale.clear()
    sys.argv.append("main.py")
    for name, module in list(sys.modules.items()):
        _detach(name, module, archive)
    linecache.clearcache()


def freeze() -> None:
    """What is there now is never looked at by the garbage collector, which would write to every page of it."""
    for name in _OWN - {"app"}:
        sys.modules.pop(name, None)  # the code has no use for the driver's modules, and may look for its own
    gc.collect()
    gc.freeze()


def _detach(name: str, module: ModuleType, archive: Archive) -> None:
    """Removes the file names of modules: the files are gone."""
    spec = getattr(module, "__spec__", None)
    if spec is None or not isinstance(spec.loader, importlib.machinery.SourceFileLoader):
        return
    is_package = spec.submodule_search_locations is not None
    module.__file__ = spec.origin = _origin(name, is_package)
    spec.loader = module.__loader__ = archive
    spec.cached = None

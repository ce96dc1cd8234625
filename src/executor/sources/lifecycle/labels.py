"""Names and descriptions that people gave, put on the tools of a source: when it is read, and when they change."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import field, replace

import orjson

from executor.dataclass import dataclass
from executor.errors import Conflict, InvalidRequest
from executor.model.digest import digest_text
from executor.model.packed import ToolRow
from executor.model.source import RENAMED, Overlay
from executor.model.tool import ALL
from executor.sources.tool_names import TAKEN, short_hash

GROUP = ".*"
MAX_PATH = 200
MAX_DESCRIPTION = 4_000
MAX_NAMES = 2_000
_SEGMENT = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,79}")


@dataclass(frozen=True, slots=True)
class Labels:
    """`paths` are the paths here of the tools that are called otherwise than their source calls them, by its own."""

    namespace: str
    overlay: Overlay
    paths: Mapping[str, str]
    originals: dict[str, str] = field(default_factory=dict)

    def put_on(self, row: ToolRow) -> ToolRow:
        """A row as the source has it, under the name and with the description that people gave it.

        The digest of a tool covers its path, so a tool that is renamed is another one to whatever it was allowed by.
        """
        name = row.path[len(self.namespace) + 1 :]
        if name in self.overlay.descriptions:
            self.originals[name] = row.description
            row = row._replace(description=self.overlay.descriptions[name])
        path = self.paths.get(row.path)
        if path is None:
            return row
        own = {"path": row.path, "digest": row.schema_digest}
        binding = orjson.dumps({**orjson.loads(row.binding), RENAMED: own}).decode() if row.binding else ""
        return row._replace(path=path, binding=binding, schema_digest=renamed_digest(row.schema_digest, path))

    def to_overlay(self) -> Overlay:
        own_paths = {path: own for own, path in self.paths.items()}
        return replace(self.overlay, own_paths=own_paths, originals=dict(self.originals))


def renamed_digest(digest: str, path: str) -> str:
    return digest_text(f"{digest} {path}")


def put_labels(namespace: str, overlay: Overlay, own_paths: Iterable[str]) -> Labels:
    """`own_paths` are those of all tools that are kept; they are looked at only if anything is renamed."""
    return Labels(namespace, overlay, plan(namespace, overlay.names, own_paths) if overlay.names else {})


def plan(namespace: str, names: Mapping[str, str], own_paths: Iterable[str]) -> dict[str, str]:
    """A name that someone gave to a tool comes first, then the source's own, then those of renamed groups.

    A later operation of the source may want a name that is taken: it gets a longer one.
    """
    cut = len(namespace) + 1
    wanted = {path: given_name(path[cut:], names) for path in own_paths}
    order = sorted(wanted, key=lambda path: (not is_given(path[cut:], names), wanted[path] != path[cut:]))
    taken: set[str] = set()
    found: dict[str, str] = {}
    for path in order:
        choices = (wanted[path], path[cut:], f"{path[cut:]}_{short_hash(path, 8)}")
        name = next(one for one in choices if one.lower() not in taken)
        taken.add(name.lower())
        if name != path[cut:]:
            found[path] = f"{namespace}.{name}"
    return found


def is_given(name: str, names: Mapping[str, str]) -> bool:
    return name in names or name.removesuffix(ALL) in names


def given_name(name: str, names: Mapping[str, str]) -> str:
    """That of the tool itself, else of the innermost group that was renamed; `x.all` goes with `x`."""
    if name.endswith(ALL) and name not in names:
        return given_name(name.removesuffix(ALL), names) + ALL
    if name in names:
        return names[name]
    group = name
    while group := group.rpartition(".")[0]:
        if to := names.get(group + GROUP):
            return to.removesuffix(GROUP) + name[len(group) :]
    return name


def with_name(overlay: Overlay, own: str, new: str) -> Overlay:
    """`own` is the source's own name of a tool, or of a group; `new` the same as it is to be called."""
    names = {name: to for name, to in overlay.names.items() if name != own}
    names |= {own: new} if new != own else {}
    if len(names) > MAX_NAMES:
        raise Conflict(f"{MAX_NAMES} tools of this source already have new names", hint="rename a group instead")
    return replace(overlay, names=names)


def with_description(overlay: Overlay, own: str, text: str) -> Overlay:
    """An empty text gives the source's own back."""
    if len(text) > MAX_DESCRIPTION:
        raise InvalidRequest(f"the description has {len(text)} characters", hint=f"use at most {MAX_DESCRIPTION}")
    kept = {name: one for name, one in overlay.descriptions.items() if name != own}
    return replace(overlay, descriptions={**kept, own: text} if text else kept)


def check_path(namespace: str, path: str) -> str:
    """The name in a path that someone wants to give. Raises InvalidRequest."""
    first, _, name = path.partition(".")
    segments = name.removesuffix(GROUP).split(".")
    wrong = next((one for one in segments if not _SEGMENT.fullmatch(one) or one in TAKEN), None)
    if first != namespace or wrong is not None or len(path) > MAX_PATH or segments[-1] == ALL.strip("."):
        what = (
            f"{wrong!r} can't be part of a name" if first == namespace and wrong else "it is not a path of this source"
        )
        raise InvalidRequest(
            f"{path[:MAX_PATH]!r} can't be the path of a tool of {namespace}: {what}",
            hint=(
                f"for example {namespace}.issues.open: letters, digits and `_`, no keyword, and not `all` at the end"
            ),
        )
    return name


def check_free(path: str, others: Collection[str]) -> None:
    """A tool is no group of others, and its name is no one else's. `others` are the paths of all other tools."""
    plain = path.lower()
    clash = next((one for one in others if one.lower() == plain or is_below(one, plain) or is_below(plain, one)), None)
    if clash is not None:
        raise Conflict(f"the path {path} is taken by {clash}", hint="choose another name")


def is_below(path: str, group: str) -> bool:
    return path.lower().startswith(f"{group.lower()}.") and path.lower() != group.lower() + ALL

"""Names and descriptions that people gave to tools of a source, in place of the source's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

KEY = "overlay"  # in the config of a source
RENAMED = "renamed"  # in the binding of a tool that has another name than its source gives it


@dataclass(frozen=True, slots=True)
class Overlay:
    """By the source's own names, without the namespace. `names` of groups end in `.*`, on both sides.

    `own_paths` are the source's own paths of the tools that have other ones here, by those. `originals` are the
    descriptions that `descriptions` take the place of.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    descriptions: Mapping[str, str] = field(default_factory=dict)
    own_paths: Mapping[str, str] = field(default_factory=dict)
    originals: Mapping[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.names or self.descriptions)


def overlay_of(config: Mapping[str, Any]) -> Overlay:
    return Overlay(**(config.get(KEY) or {}))


def with_overlay(config: Mapping[str, Any], overlay: Overlay) -> dict[str, Any]:
    rest = {name: value for name, value in config.items() if name != KEY}
    return {**rest, KEY: asdict(overlay)} if overlay else rest


def is_described(path: str, binding: Mapping[str, Any], config: Mapping[str, Any]) -> bool:
    """Whether the description of a tool is the word of people here, and not of its source."""
    return own_path(path, binding).partition(".")[2] in overlay_of(config).descriptions


def own_path(path: str, binding: Mapping[str, Any]) -> str:
    """The path that the source's own name gives a tool."""
    renamed = binding.get(RENAMED)
    return str(renamed["path"]) if renamed else path

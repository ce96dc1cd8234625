"""A source: something connected once, with a namespace of its own."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import asdict, field
from typing import Any, Literal, cast

from executor.dataclass import dataclass
from executor.model.known_keys import KnownBinding, KnownConfig
from executor.model.packed import Packed
from executor.model.tool import Schema, Skipped, Tool

# Names and descriptions that people gave to tools of a source, in place of the source's own.
OVERLAY = "overlay"  # in the config of a source
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


def overlay_of(config: KnownConfig) -> Overlay:
    return Overlay(**(config.get("overlay") or {}))


def with_overlay(config: Mapping[str, Any], overlay: Overlay) -> dict[str, Any]:
    rest = {name: value for name, value in config.items() if name != OVERLAY}
    return {**rest, OVERLAY: asdict(overlay)} if overlay else rest


def is_described(path: str, binding: KnownBinding, config: KnownConfig) -> bool:
    """Whether the description of a tool is the word of people here, and not of its source."""
    return own_path(path, binding).partition(".")[2] in overlay_of(config).descriptions


def own_path(path: str, binding: KnownBinding) -> str:
    """The path that the source's own name gives a tool."""
    renamed = binding.get("renamed")
    return str(renamed["path"]) if renamed else path


# Which of a source's tools exist here: filters that include some, and filters that exclude some of those.
CHOICE = "choice"  # in the config of a source


@dataclass(frozen=True, slots=True)
class Choice:
    """A tool exists if `include` is empty or one of its filters matches, and none of `exclude` does.

    `offered` is how many tools the source had to choose from when it was last read.
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    offered: int = 0

    def __bool__(self) -> bool:
        return bool(self.include or self.exclude)


ALL_TOOLS = Choice()


def choice_of(config: KnownConfig) -> Choice:
    kept = config.get("choice") or {}
    return Choice(tuple(kept.get("include", ())), tuple(kept.get("exclude", ())), kept.get("offered", 0))


def with_choice(config: Mapping[str, Any], choice: Choice, offered: int) -> dict[str, Any]:
    rest = {name: value for name, value in config.items() if name != CHOICE}
    kept = {"include": list(choice.include), "exclude": list(choice.exclude), "offered": offered}
    return {**rest, CHOICE: kept} if choice else rest


# Settings of people that no reading of the source knows of. `edition` counts how often they sent its calls elsewhere,
# `review` says which changed tools wait until someone has looked at them.
REFRESH = "refresh_seconds"
EDITION = "edition"
REVIEW = "review"
ReviewMode = Literal["writes", "all", "none"]


def with_settings(config: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    return {**config, **{name: before[name] for name in (REFRESH, EDITION, REVIEW) if name in before}}


HOSTED = "hosted"  # an option of a source, which no one outside can set
SourceStatus = Literal["connected", "failing"]


@dataclass(frozen=True, slots=True)
class Source:
    """`config` is the kind's own JSON, `known_keys` the part of it that others read; `document_digest` names what was
    read last."""

    id: str
    workspace_id: str
    kind: str
    namespace: str
    name: str
    config: dict[str, Any]
    status: SourceStatus = "connected"
    document_digest: str = ""
    error: str = ""
    tool_count: int = 0
    skipped: tuple[Skipped, ...] = ()
    created_at: int = 0
    refreshed_at: int = 0
    revision: int = 0  # of its row when it was read: a change that is based on an older one is refused

    @property
    def known_keys(self) -> KnownConfig:
        return cast("KnownConfig", self.config)


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a kind made of a document: tools, the definitions they share, and what had to be left out.

    `packed` replaces `tools` and `definitions` when another process produced them. Of `config` the surfaces show
    `location`, `base_url`, `transport`, `command`, the names of `headers`, and `auth`: the credentials that the source
    asks for, each as `{"name", "type", "description", "details"}`. It also holds the `validators` for the next read.
    `document` is the text that it was read from, for people to look at.
    """

    name: str
    namespace: str
    tools: tuple[Tool, ...]
    definitions: Mapping[str, Schema]
    skipped: tuple[Skipped, ...]
    document_digest: str
    config: dict[str, Any] = field(default_factory=dict)
    packed: Packed | None = None
    document: bytes | None = None
    media_type: str = ""


@dataclass(frozen=True, slots=True)
class SourceDocument:
    """`size` is that of the text, `packed` the compressed text."""

    media_type: str
    digest: str
    size: int
    packed: bytes
    read_at: int

    def content(self) -> bytes:
        return zlib.decompress(self.packed)


def call_address(config: KnownConfig, server: str = "") -> str:
    """Where calls go: to the `server` that a tool has of its own, to the base URL, or to where the source was read."""
    return server or str(config.get("base_url") or config.get("location") or "")


def hosted_as(source: Source) -> str:
    """Which of the daemon's own services it is; empty for a source that is someone else's."""
    return str((source.known_keys.get("options") or {}).get(HOSTED) or "")

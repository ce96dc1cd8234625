"""Which of a source's tools exist here: filters that include some, and filters that exclude some of those."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

KEY = "choice"  # in the config of a source


@dataclass(frozen=True, slots=True)
class Choice:
    """A tool exists if any of `include` matches it, or there is none of these, and none of `exclude` does.

    `offered` is how many tools the source had to choose from when it was last read.
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    offered: int = 0

    def __bool__(self) -> bool:
        return bool(self.include or self.exclude)


ALL_TOOLS = Choice()


def choice_of(config: Mapping[str, Any]) -> Choice:
    kept = config.get(KEY) or {}
    return Choice(tuple(kept.get("include", ())), tuple(kept.get("exclude", ())), kept.get("offered", 0))


def with_choice(config: Mapping[str, Any], choice: Choice, offered: int) -> dict[str, Any]:
    rest = {name: value for name, value in config.items() if name != KEY}
    kept = {"include": list(choice.include), "exclude": list(choice.exclude), "offered": offered}
    return {**rest, KEY: kept} if choice else rest

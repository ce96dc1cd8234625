"""What was found out about one document."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field


@dataclass
class Result:
    document: str
    version: str = ""
    loaded: bool = False
    error: str = ""
    operations: int = 0
    tools: int = 0
    usable: int = 0
    by_hand: int = 0  # required arguments that look like credentials
    seconds: float = 0.0
    peak_mb: int = 0
    reasons: dict[str, int] = field(default_factory=dict)
    named: list[str] = field(default_factory=list)
    lists: int = 0  # lists that come in pages
    with_all: int = 0
    right: int = 0  # of them: every item once, and the end known, from a service that pages as the document says
    readings: int = 0  # that were compared
    unstable: int = 0  # tools that are not the same in every reading

    @property
    def is_whole(self) -> bool:
        return self.loaded and self.usable == self.operations and self.right == self.lists and not self.unstable

    def to_json(self) -> str:
        return json.dumps(asdict(self))

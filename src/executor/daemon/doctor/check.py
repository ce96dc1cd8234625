"""The outcome of one check of an installation."""

from __future__ import annotations

from dataclasses import asdict
from typing import Literal

from executor.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Check:
    name: str
    status: Literal["ok", "warning", "failure"]
    message: str
    hint: str = ""

    def to_dict(self) -> dict[str, str]:
        return asdict(self)

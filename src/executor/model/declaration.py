"""A declaration: what an entry of a configuration has made, so that it is known from what people added by hand."""

from __future__ import annotations

from typing import Literal

from executor.dataclass import dataclass

Noun = Literal["secret", "source", "policy", "toolkit", "member"]
Origin = Literal["environment", "file"]


@dataclass(frozen=True, slots=True)
class Declaration:
    """`digest` is that of the entry when it was applied, `origin` where the entry was written."""

    noun: Noun
    name: str
    origin: Origin
    resource_id: str
    digest: str

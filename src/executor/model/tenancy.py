"""Who acts, and where. Every row belongs to a workspace; every request acts as an actor in one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Role = Literal["owner", "admin", "member", "viewer"]
ActorKind = Literal["human", "agent"]


@dataclass(frozen=True, slots=True)
class Account:
    id: str
    name: str


@dataclass(frozen=True, slots=True)
class Organization:
    id: str
    name: str


@dataclass(frozen=True, slots=True)
class Workspace:
    id: str
    organization_id: str
    name: str


@dataclass(frozen=True, slots=True)
class Actor:
    """`human` may decide interactions and change settings; `agent` may only execute and discover."""

    id: str
    workspace_id: str
    kind: ActorKind
    name: str

    @property
    def may_decide(self) -> bool:
        return self.kind == "human"

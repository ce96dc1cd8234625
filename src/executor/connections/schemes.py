"""From a document's description of credentials to the inputs that a human enters, and where each will go."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from executor.connections.placement import Placement, inputs_of
from executor.dataclass import dataclass
from executor.model.credentials import Scheme

Auth = Mapping[str, Any]  # `{"name", "type", "description", "details"}` of a source's config
USERNAME = "username"
BEARER: Placement = {"in": "header", "name": "Authorization", "template": "Bearer {token}"}
BASIC: Placement = {"in": "header", "name": "Authorization", "template": "Basic {basic}"}


@dataclass(frozen=True, slots=True)
class Needed:
    """One way to satisfy a source. `oauth` is set when it takes a grant instead of something typed in."""

    name: str
    scheme: Scheme
    placements: tuple[Placement, ...]
    description: str = ""
    oauth: Mapping[str, Any] | None = None
    scopes: tuple[str, ...] = ()

    @property
    def inputs(self) -> list[str]:
        return [] if self.oauth is not None else inputs_of(self.placements)

    def view(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "scheme": self.scheme,
            "description": self.description,
            "inputs": [{"name": name, "label": label(name, self), "secret": name != USERNAME} for name in self.inputs],
            "placements": [dict(one) for one in self.placements],
            "oauth": dict(self.oauth) if self.oauth is not None else None,
            "scopes": list(self.scopes),
        }

    @classmethod
    def read(cls, view: Mapping[str, Any]) -> Needed:
        """From what `view` wrote into an interaction."""
        return cls(
            view["name"],
            view["scheme"],
            tuple(view["placements"]),
            view["description"],
            view["oauth"],
            tuple(view["scopes"]),
        )


def label(name: str, needed: Needed) -> str:
    """What the field of a form is called."""
    if name == USERNAME:
        return "user name"
    if name == "password":
        return "password"
    where = next((one for one in needed.placements if f"{{{name}}}" in one["template"]), None)
    if where is None or where["name"] == "Authorization":
        return "token"
    return f"{where['in']} {where['name']}"


def ways(auth: Sequence[Auth], required: Sequence[Mapping[str, Sequence[str]]]) -> list[Needed]:
    """The alternatives of an operation in the document's order. Empty when it needs nothing.

    An alternative that names several schemes needs all of them at once; one that names an unknown scheme is no way.
    """
    known = {str(one.get("name", "")): one for one in auth}
    found = []
    for alternative in required:
        if not alternative:
            return []
        parts = [one for name, scopes in alternative.items() if (one := way(known.get(name), scopes)) is not None]
        if len(parts) == len(alternative):
            found.append(parts[0] if len(parts) == 1 else together(parts))
    return found


def way(auth: Auth | None, scopes: Sequence[str] = ()) -> Needed | None:
    if auth is None:
        return None
    name, description = str(auth.get("name", "")), str(auth.get("description", ""))
    details: Mapping[str, Any] = auth.get("details") or {}
    type = auth.get("type")
    if type == "apiKey" and details.get("in") in ("header", "query", "cookie") and details.get("name"):
        placement = {"in": details["in"], "name": details["name"], "template": "{key}"}
        return Needed(name, "api_key", (placement,), description)
    if type == "http-bearer":
        return Needed(name, "bearer", (BEARER,), description)
    if type == "http-basic":
        return Needed(name, "basic", (BASIC,), description)
    if type == "http-token":
        placement = {"in": "header", "name": "Authorization", "template": f"{details['scheme']} {{token}}"}
        return Needed(name, "api_key", (placement,), description)
    if type in ("oauth2", "openIdConnect"):
        return Needed(name, "oauth2", (BEARER,), description, details, tuple(scopes))
    return None


def together(parts: Sequence[Needed]) -> Needed:
    """Several keys at once. Inputs of the same name are distinguished by the scheme they belong to."""
    placements: list[Placement] = []
    for part in parts:
        for placement in part.placements:
            prefix = re.sub(r"[^a-z0-9]+", "_", part.name.lower()).strip("_") or "key"
            template = re.sub(r"\{(key|token)\}", f"{{{prefix}}}", placement["template"])
            placements.append({**placement, "template": template})
    oauth = next((part.oauth for part in parts if part.oauth is not None), None)
    return Needed(" + ".join(part.name for part in parts), "headers", tuple(placements), oauth=oauth)

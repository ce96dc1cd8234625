"""The table of docs/reference/roles.md. `python -m tests.surfaces.api.roles_table` writes it; the tests compare."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from starlette.routing import Route

from executor.model.identity.permissions import AGENT, KEY, ROLES, Role
from executor.surfaces.api.app import document
from executor.surfaces.api.route_modules import NAMES, import_routes

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "roles.md"
BEGIN, END = "<!-- routes -->\n", "<!-- end of routes -->"
VISITOR = "visitor"  # the browser of an anonymous workspace, which has no role
OPERATOR = "operator"  # this installation's own account; no role gives what it needs
RANKS: tuple[Role, ...] = ("viewer", "member", "admin", "owner")
SCOPES = ("discover", "execute", "read")
_ROW = re.compile(r"^\| `([A-Z]+) ([^`]+)` \| ([a-z ]+) \| ([a-z]+) \| ([a-z, `]+) \|", re.MULTILINE)


@dataclass(frozen=True)
class Row:
    """`scopes`: a key with any of these may use the route."""

    method: str
    path: str
    least: str
    agents: bool
    scopes: frozenset[str]

    @property
    def is_public(self) -> bool:
        return self.least == "anyone"

    def admits(self, role: str) -> bool:
        if self.is_public or self.least in (OPERATOR, VISITOR):
            return self.is_public
        return RANKS.index(role) >= RANKS.index(self.least)  # type: ignore[arg-type]


def endpoints() -> dict[tuple[str, str], tuple[str, ...] | None]:
    """Every route, and what it says that it needs; None if nothing."""
    found: dict[tuple[str, str], tuple[str, ...] | None] = {
        ("POST", "/mcp"): ("execute",),
        ("POST", "/mcp/anonymous"): ("execute",),
        ("GET", "/v1/openapi.json"): document.needs,  # type: ignore[attr-defined]
    }
    for name in NAMES:
        for route in import_routes(name):
            assert isinstance(route, Route)
            for method in (route.methods or set()) - {"HEAD"}:
                found[method, route.path] = route.endpoint.needs
    return found


def expected_rows() -> list[Row]:
    return [_row(*route, needs) for route, needs in sorted(endpoints().items(), key=lambda item: item[0][::-1])]


def _row(method: str, path: str, needs: tuple[str, ...] | None) -> Row:
    if needs is None:
        return Row(method, path, "anyone", True, frozenset(SCOPES))
    if needs == ("stranger",):
        return Row(method, path, VISITOR, False, frozenset())
    anybody, in_person = "credential" in needs, "human" in needs
    held = [role for role in RANKS if anybody or in_person or ROLES[role] & set(needs)] or [OPERATOR]
    agents = anybody or bool(AGENT & set(needs))
    return Row(method, path, held[0], agents, frozenset(SCOPES) if anybody else frozenset(KEY & set(needs)))


def documented_rows() -> list[Row]:
    found = _ROW.findall(PAGE.read_text(encoding="utf-8"))
    return [
        Row(method, path, least, agents == "yes", frozenset(re.findall(r"\w+", scopes)) & frozenset(SCOPES))
        for method, path, least, agents, scopes in found
    ]


def render() -> str:
    lines = ["| route | least role | agents | keys with |", "| --- | --- | --- | --- |"]
    for row in expected_rows():
        scopes = ", ".join(f"`{scope}`" for scope in SCOPES if scope in row.scopes) or "none"
        lines.append(f"| `{row.method} {row.path}` | {row.least} | {'yes' if row.agents else 'no'} | {scopes} |")
    return "\n".join(lines) + "\n"


def rewrite() -> None:
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    PAGE.write_text(before + BEGIN + render() + END + rest.partition(END)[2], encoding="utf-8")


if __name__ == "__main__":
    rewrite()

"""docs/reference/permissions.md: every act, who may do it, and on which surfaces. Made from the code.

`python -m tests.surfaces.api.permissions_table` writes it; test_permissions.py compares, and does every act.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from executor.execution.builtins.tools import BUILTINS
from executor.model.identity.permissions import ADMIN, AGENT, KEY, NEEDED, OPERATOR, OWNER, ROLES, STRANGER, Permission
from executor.surfaces.mcp.tool_definitions import TOOLS
from tests.surfaces.api.roles_table import endpoints

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "permissions.md"
BEGIN, END = "<!-- matrix -->\n", "<!-- end of the matrix -->"


@dataclass(frozen=True)
class Who:
    """`permissions` within the workspace that the act is about; `in_person` at a terminal or a browser of their own;
    `is_visitor` in a browser without an account."""

    name: str
    permissions: frozenset[Permission]
    in_person: bool = False
    is_visitor: bool = False
    known: bool = True

    def meets(self, needs: tuple[str, ...] | None) -> bool:
        """Any one of `needs`, as a route checks it."""
        if needs is None or not self.known:
            return needs is None
        return any(
            need == "credential"
            or (need == "human" and self.in_person)
            or (need == "stranger" and self.is_visitor)
            or need in self.permissions
            for need in needs
        )


ELSEWHERE = "elsewhere"
# Somebody of another organization has the role there. On the routes that is enough to come in, and what belongs to us
# answers as what does not exist; see test_roles.py.
EVERYBODY = (
    Who("operator", OPERATOR, in_person=True),
    Who("owner", OWNER, in_person=True),
    Who("admin", ADMIN, in_person=True),
    Who("member", ROLES["member"], in_person=True),
    Who("viewer", ROLES["viewer"], in_person=True),
    Who("key", KEY),
    Who("agent", AGENT),
    Who("anonymous", AGENT),
    Who("visitor", STRANGER | {"extend"}, is_visitor=True),
    Who(ELSEWHERE, ADMIN, in_person=True),
    Who("nobody", frozenset(), known=False),
)
SETTLED = ("decide",)
PUBLIC_ADDRESS = "a public address in an anonymous workspace"


@dataclass(frozen=True)
class Row:
    """`needs`: any one of these; `also`: all of these besides. `for_programs`: a human's credential is refused."""

    act: str
    surfaces: str
    needs: tuple[str, ...] | None
    also: tuple[Permission, ...] = ()
    for_programs: bool = False

    def admits(self, who: Who) -> bool:
        if self.for_programs and (who.in_person or who.is_visitor):
            return False
        return who.meets(self.needs) and set(self.also) <= who.permissions

    def mark(self, who: Who) -> str:
        if not self.admits(who):
            return "no"
        return "there" if who.name == ELSEWHERE and self.needs is not None else "yes"


def rows() -> list[Row]:
    found = [*acts(), *built_ins()]
    found += [Row(f"`{tool['name']}`", "MCP", ("execute",)) for tool in TOOLS]
    by_path = sorted(endpoints().items(), key=lambda item: item[0][::-1])
    found += [
        Row(f"`{method} {path}`", surfaces_of(path), needs, for_programs=path == "/mcp/anonymous")
        for (method, path), needs in by_path
    ]
    return found


def acts() -> Iterable[Row]:
    """What a handler looks closer at, besides what its route needs."""
    for act, needed in NEEDED.items():
        yield Row(act, "API, web, CLI", (needed,))


def built_ins() -> Iterable[Row]:
    for tool in BUILTINS.values():
        yield Row(f"call `{tool.path}`", "code", ("execute",))
        if tool.needs:
            yield Row(f"let `{tool.path}` happen", "API, web, CLI", SETTLED, tool.needs)
            yield Row(
                f"let `{tool.path}` run a command or a module", "API, web, CLI", SETTLED, (*tool.needs, "operate")
            )
            yield Row(f"let `{tool.path}` connect {PUBLIC_ADDRESS}", "web", SETTLED, ("extend",))


def surfaces_of(path: str) -> str:
    if path.startswith("/mcp"):
        return "MCP"
    return "API, web, CLI" if path.startswith("/v1") else "API, web"


def render() -> str:
    names = [who.name for who in EVERYBODY]
    lines = [f"| act | surfaces | needs | {' | '.join(names)} |", "| --- " * (len(names) + 3) + "|"]
    for row in rows():
        marks = " | ".join(row.mark(who) for who in EVERYBODY)
        lines.append(f"| {row.act} | {row.surfaces} | {needed_text(row)} | {marks} |")
    return "\n".join(lines) + "\n"


def needed_text(row: Row) -> str:
    if row.needs is None:
        return "nothing"
    any_of = " or ".join(f"`{one}`" if one in get_args(Permission) else f"a {one}" for one in row.needs)
    return ", ".join([any_of, *(f"`{one}`" for one in row.also)])


def read_page() -> str:
    return PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]


def rewrite() -> None:
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    PAGE.write_text(before + BEGIN + render() + END + rest.partition(END)[2], encoding="utf-8")


if __name__ == "__main__":
    rewrite()

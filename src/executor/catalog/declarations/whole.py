"""Definitions of all tools of a source or workspace, as a file for an editor: `.d.ts` or `.pyi`."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.engine import Connection

from executor.catalog.declarations.loader import declarations, definitions
from executor.dataclass import dataclass
from executor.model.language import Language
from executor.model.tool import Tool
from executor.policy.visibility import Visibility
from executor.storage.catalog import tools
from executor.storage.database import Database

ENDINGS: dict[Language, str] = {"typescript": "d.ts", "python": "pyi"}
COMMENTS: dict[Language, str] = {"typescript": "//", "python": "#"}
SANDBOX = "from executor_sandbox import Call, Group\n"
# In place of the import: the file is complete without it.
STANDING_ALONE = """from asyncio import Future
from collections.abc import Coroutine
from typing import TypeVar

_T = TypeVar("_T")

class Call(Future[_T], Coroutine[Any, Any, _T]): ...

class Group:
    def __getitem__(self, name: str, /) -> Any: ...
"""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Of one source, or of all if none is named. What `visibility` hides is left out; `others` are built-in tools."""

    language: Language
    source_id: str = ""
    others: Sequence[Tool] = ()
    visibility: Visibility | None = None

    def includes(self, tool: Tool) -> bool:
        return self.visibility is None or not self.visibility.hides(tool.path, tool.effect)


async def read_definitions(database: Database, workspace_id: str, wanted: Wanted) -> str:
    return await database.read(lambda c: write_definitions(c, workspace_id, wanted))


def write_definitions(c: Connection, workspace_id: str, wanted: Wanted) -> str:
    language = wanted.language
    found = [tool for tool in tools.whole(c, workspace_id, wanted.source_id) if wanted.includes(tool)]
    text = declarations(language, [*found, *wanted.others], definitions(c, workspace_id, found))
    head = f"{COMMENTS[language]} {len(found)} tools of Executor. Written by `executor sources definitions`.\n"
    return head + (stand_alone(text) if language == "python" else text)


def stand_alone(stub: str) -> str:
    before, _, after = stub.partition(SANDBOX)
    names, _, rest = after.partition("\n")
    return f"{before}{names}\n{STANDING_ALONE}{rest}"

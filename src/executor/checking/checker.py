"""The check of a piece of code: what it names, what that is declared as, what a checker finds, and what that means.

Nothing is found out twice: a verdict is kept for the code as long as the catalog stays the same, and findings for the
code and the declarations it was held against.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, TypeVar

from executor.catalog.cache import Recent
from executor.catalog.catalog import Catalog
from executor.catalog.declarations.loader import Declared
from executor.checking import completion
from executor.checking.checkers.python import PythonChecker
from executor.checking.checkers.server_checker import ServerChecker
from executor.checking.checkers.typescript import TypeScriptChecker
from executor.checking.completion import Item
from executor.checking.diagnostics import PASSED, ROOT, Diagnostic, Finding, Lines, Verdict, order_diagnostics, truncate
from executor.checking.path_index import Names
from executor.checking.queue import Unavailable
from executor.checking.source.cursor import Cursor, cursor
from executor.checking.source.lexer import Language, TooLong, words
from executor.checking.source.tool_calls import Outline
from executor.checking.source.typescript_wrapper import remove_fence
from executor.checking.verdict import Case, Library
from executor.dataclass import dataclass
from executor.errors import InvalidRequest
from executor.model.digest import digest_text
from executor.model.event import Announcement
from executor.model.tool import Tool
from executor.policy.visibility import Visibility

LARGE = 20_000  # characters; more is looked through beside the event loop
OUTLINED = 200_000  # of more, no call is looked at: findings are reported without the tool
KEPT_VERDICTS, KEPT_FINDINGS, KEPT_VISIBLE = 1_000, 200, 16
MAX_TOOLS = 1_000_000
FORGET_SECONDS = 30.0  # after which code that the checker failed on may be tried again
SETTLED_SECONDS = 1.0

T = TypeVar("T")

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Kept:
    verdict: Verdict
    revision: int
    until: float


class Checker:
    """`builtins` are the tools of Executor itself; `library` knows them too."""

    def __init__(self, catalog: Catalog, library: Library, builtins: Sequence[Tool]) -> None:
        self._catalog, self._library, self._builtins = catalog, library, tuple(builtins)
        self.typescript = TypeScriptChecker()
        self.python = PythonChecker()
        self._finders: dict[str, ServerChecker] = {"typescript": self.typescript, "python": self.python}
        self._revisions: dict[str, int] = {}
        self._names: dict[str, tuple[int, asyncio.Task[Names]]] = {}
        self._visible: Recent[tuple[str, Hashable], tuple[Names, Names]] = Recent(KEPT_VISIBLE)
        self._verdicts: Recent[tuple[str, str, str, str, str], Kept] = Recent(KEPT_VERDICTS)
        self._found: Recent[tuple[str, str, str], tuple[Finding, ...]] = Recent(KEPT_FINDINGS)
        self._under_way: dict[tuple[str, str, str, str, str], asyncio.Task[Verdict]] = {}

    def on_event(self, announcement: Announcement) -> None:
        """A source that changed may have changed what its tools take, a policy which of them are named. Once more when
        the catalog surely knows."""
        if announcement.type.startswith(("source.", "policy.", "toolkit.")):
            self._change(announcement.workspace_id)
            asyncio.get_running_loop().call_later(SETTLED_SECONDS, self._change, announcement.workspace_id)

    def forget(self) -> None:
        """Anything may have changed."""
        for workspace_id in list(self._revisions):
            self._change(workspace_id)

    def _change(self, workspace_id: str) -> None:
        self._revisions[workspace_id] = self._revision(workspace_id) + 1

    def find_known(
        self, workspace_id: str, language: str, code: str, actor_id: str = "", toolkit_id: str = ""
    ) -> Verdict | None:
        """The verdict if it costs nothing: no tool is named, or it was checked before."""
        if ROOT not in code or language not in self._finders:
            return PASSED
        kept = self._verdicts.get((workspace_id, actor_id, toolkit_id, language, digest_text(code)))
        if kept is None or kept.revision != self._revision(workspace_id) or kept.until < time.monotonic():
            return None
        return kept.verdict

    async def verdict(
        self, workspace_id: str, language: str, code: str, actor_id: str = "", toolkit_id: str = ""
    ) -> Verdict:
        """For an actor: nothing is said of tools that are denied to it, or that its toolkit does not have."""
        known = self.find_known(workspace_id, language, code, actor_id, toolkit_id)
        if known is not None:
            return known
        key = (workspace_id, actor_id, toolkit_id, language, digest_text(code))
        task = self._under_way.get(key)
        if task is None:
            check = self._check(workspace_id, actor_id, toolkit_id, name_language(language), code)
            task = self._under_way[key] = asyncio.create_task(check)
            task.add_done_callback(lambda _: self._under_way.pop(key, None))
        return await asyncio.shield(task)

    async def complete(
        self, workspace_id: str, language: str, code: str, offset: int, actor_id: str = "", toolkit_id: str = ""
    ) -> list[dict[str, Any]]:
        """What could stand at a place: from the catalog where it knows, else from the language server."""
        spoken, lines = name_language(language), Lines(code)
        offset = max(0, min(offset, len(code)))
        try:
            at = await aside(offset, lambda: cursor(code, offset, spoken))
        except TooLong:
            return []
        visibility = await self._library.visibility(workspace_id, actor_id, toolkit_id)
        return [item.to_dict(lines) for item in await self._items(workspace_id, visibility, spoken, code, offset, at)]

    async def _items(
        self, workspace_id: str, visibility: Visibility | None, language: Language, code: str, offset: int, at: Cursor
    ) -> list[Item]:
        if at.kind == "path":
            names = await self._visible_names(workspace_id, visibility)
            return await completion.paths(at, offset, names, self._library, workspace_id)
        if at.kind == "other":
            return await self._properties(workspace_id, visibility, language, code, offset, at)
        tool = await self._library.find(workspace_id, at.prefix)
        if tool is None or (visibility is not None and visibility.hides(tool.path, tool.effect)):
            return []
        schema = await self._library.input_schema(workspace_id, tool)
        offer = completion.fields if at.kind == "field" else completion.values
        return offer(at, offset, schema, language)

    async def _properties(
        self, workspace_id: str, visibility: Visibility | None, language: Language, code: str, offset: int, at: Cursor
    ) -> list[Item]:
        """Of results and of the program's own values, which only the checker knows."""
        declared = await self._declare(workspace_id, visibility, language, code)
        try:
            return await self._finders[language].complete(code, declared.text, offset, at.typed)
        except Unavailable as error:
            logger.warning("no completion: %s", error)
            return []

    async def names(self, workspace_id: str) -> Names:
        revision = self._revision(workspace_id)
        known = self._names.get(workspace_id)
        if known is None or known[0] != revision or (known[1].done() and known[1].exception() is not None):
            task = asyncio.create_task(self._read_names(workspace_id))
            known = self._names[workspace_id] = (revision, task)
        return await asyncio.shield(known[1])

    async def _visible_names(self, workspace_id: str, visibility: Visibility | None) -> Names:
        """Without what the policies deny: that is not offered to anyone who writes code."""
        names = await self.names(workspace_id)
        if visibility is None:
            return names
        known = self._visible.get((workspace_id, visibility.key))
        if known is None or known[0] is not names:
            left = await asyncio.to_thread(lambda: Names(shown_by(visibility, names.effects)))
            known = (names, left)
            self._visible.put((workspace_id, visibility.key), known)
        return known[1]

    async def _declare(
        self, workspace_id: str, visibility: Visibility | None, language: Language, code: str
    ) -> Declared:
        """Of the tools that the code names, those that may be described."""
        names = await self._visible_names(workspace_id, visibility)
        meant = names.match(await aside(len(code), lambda: words(code)))
        own = [one for one in self._builtins if visibility is None or not visibility.hides(one.path, one.effect)]
        return await self._catalog.declarations(workspace_id, language, meant, others=own)

    async def close(self) -> None:
        for task in list(self._under_way.values()):
            task.cancel()
        await asyncio.gather(*self._under_way.values(), return_exceptions=True)
        for finder in self._finders.values():
            await finder.close()

    def _revision(self, workspace_id: str) -> int:
        return self._revisions.get(workspace_id, 0)

    async def _read_names(self, workspace_id: str) -> Names:
        heads = await self._catalog.page(workspace_id, limit=MAX_TOOLS)
        effects: dict[str, str] = {one.path: one.effect for one in self._builtins}
        return await asyncio.to_thread(Names, effects | {one.path: one.effect for one in heads})

    async def _check(self, workspace_id: str, actor_id: str, toolkit_id: str, language: Language, code: str) -> Verdict:
        revision, until = self._revision(workspace_id), float("inf")
        try:
            visibility = await self._library.visibility(workspace_id, actor_id, toolkit_id)
            verdict = await self._run(workspace_id, visibility, language, code)
        except Unavailable as error:
            logger.warning("code was not checked: %s", error, extra={"language": language})
            verdict, until = Verdict(unavailable=str(error)), time.monotonic() + FORGET_SECONDS
        key = (workspace_id, actor_id, toolkit_id, language, digest_text(code))
        self._verdicts.put(key, Kept(verdict, revision, until))
        return verdict

    async def _run(self, workspace_id: str, visibility: Visibility | None, language: Language, code: str) -> Verdict:
        code = remove_fence(code)
        is_narrowed = visibility is not None and visibility.toolkit is not None
        names = await (self._visible_names(workspace_id, visibility) if is_narrowed else self.names(workspace_id))
        declared = await self._declare(workspace_id, visibility, language, code)
        findings = await self._findings(language, code, declared, loose=False)
        if not findings:
            return PASSED
        outline = await self._outline(language, code)
        if outline is None:
            return Verdict(order_diagnostics([plain_warning(one, Lines(code)) for one in findings]))

        async def recheck() -> list[Finding]:
            return await self._findings(language, code, declared, loose=True)

        case = Case(workspace_id, outline, names, self._library, recheck, Lines(code), visibility)
        return Verdict(order_diagnostics(await case.judge(findings)))

    async def _findings(self, language: Language, code: str, declared: Declared, *, loose: bool) -> list[Finding]:
        key = (f"{language}{'-loose' if loose else ''}", digest_text(code), declared.digest)
        found = self._found.get(key)
        if found is None:
            found = tuple(await self._finders[language].check(code, declared.text, loose=loose))
            self._found.put(key, found)
        return list(found)

    async def _outline(self, language: Language, code: str) -> Outline | None:
        if len(code) > OUTLINED:
            return None
        try:
            return await aside(len(code), lambda: outline_code(code, language))
        except TooLong:
            return None


def shown_by(visibility: Visibility, effects: Mapping[str, str]) -> dict[str, str]:
    return {path: effect for path, effect in effects.items() if not visibility.hides(path, effect)}


def outline_code(code: str, language: Language) -> Outline:
    outline = Outline(code, language)
    _ = outline.chains  # here, where it takes no one's time
    return outline


def name_language(language: str) -> Language:
    if language == "typescript":
        return "typescript"
    if language == "python":
        return "python"
    raise InvalidRequest(f"there is no checker for {language!r}", hint="use typescript or python")


def plain_warning(finding: Finding, lines: Lines) -> Diagnostic:
    line, column = lines.place(finding.start)
    end_line, end_column = lines.place(finding.end)
    return Diagnostic("warning", line, column, end_line, end_column, truncate(finding.message), finding.code)


async def aside(size: int, work: Callable[[], T]) -> T:
    return await asyncio.to_thread(work) if size > LARGE else work()

"""Type checks of executions: begun with the sandbox, and asked before anything is sent."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from executor.catalog.catalog import Catalog
from executor.catalog.signatures.signature import COMPACT, signature
from executor.checking.diagnostics import PASSED, ROOT, Diagnostic, Verdict, truncate
from executor.dataclass import dataclass
from executor.execution import failures
from executor.execution.builtins import tools
from executor.execution.calls.pipeline import CallPipeline
from executor.model.execution import Execution, Failure
from executor.model.tool import Tool
from executor.policy.visibility import Visibility

if TYPE_CHECKING:
    from executor.checking.checker import Checker
    from executor.checking.source.lexer import Language

Typecheck = Literal["error", "warn", "off"]
MAX_SIGNATURE = 1_500

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Ruling:
    """What becomes of an execution: it fails with `failure`, or continues with `diagnostics` as warnings."""

    failure: Failure | None = None
    diagnostics: tuple[Diagnostic, ...] = ()


class CheckerTools:
    """The tools as a checker asks for them: those of the catalog and those of Executor itself."""

    def __init__(self, pipeline: CallPipeline, catalog: Catalog) -> None:
        self._pipeline, self._catalog = pipeline, catalog

    async def find(self, workspace_id: str, path: str) -> Tool | None:
        return await self._pipeline.admissions.find(workspace_id, path)

    async def check(self, tool: Tool, arguments: dict[str, Any]) -> None:
        await self._pipeline.admissions.check(tool, arguments)

    async def signature(self, workspace_id: str, tool: Tool, language: Language) -> str:
        if tool.source_id == tools.SOURCE:
            return signature(tool, {}, budget=COMPACT, language=language)
        return truncate(await self._catalog.signature(tool, language), MAX_SIGNATURE)

    async def input_schema(self, workspace_id: str, tool: Tool) -> dict[str, Any]:
        if tool.source_id == tools.SOURCE:
            return tool.input_schema
        described = await self._catalog.describe(workspace_id, tool.path, include_schemas=True)
        found: dict[str, Any] = described["inputSchema"]
        return found

    async def nearest(self, workspace_id: str, path: str, visibility: Visibility | None) -> list[str]:
        return await self._pipeline.admissions.nearest(workspace_id, path, visibility)

    async def visibility(self, workspace_id: str, actor_id: str, toolkit_id: str) -> Visibility | None:
        return await self._pipeline.policies.visibility(workspace_id, actor_id, toolkit_id)


class Checks:
    """`typecheck` and `unavailable` are the settings of the same names; a submission may choose its own `typecheck`.
    `get_checker` imports the checker: that is left to the first code that names a tool."""

    def __init__(self, get_checker: Callable[[], Checker], *, typecheck: str, unavailable: str) -> None:
        self._get_checker = get_checker
        self._typecheck, self._unavailable = typecheck, unavailable

    def begin(self, execution: Execution, typecheck: Typecheck | None) -> asyncio.Task[Ruling] | None:
        """None if there is nothing to wait for: that costs a look at the code, and no more."""
        chosen = typecheck or self._typecheck
        if chosen == "off" or ROOT not in execution.code:
            return None
        known = self._get_checker().find_known(
            execution.workspace_id, execution.language, execution.code, execution.actor_id, execution.toolkit_id
        )
        if known == PASSED:
            return None
        return asyncio.create_task(self._check(execution, chosen))

    async def _check(self, execution: Execution, chosen: str) -> Ruling:
        try:
            verdict = await self._get_checker().verdict(
                execution.workspace_id, execution.language, execution.code, execution.actor_id, execution.toolkit_id
            )
        except Exception as error:  # the edge: whatever is wrong with the check, it is no fault of the code
            logger.error("the type check failed", exc_info=error, extra={"execution": execution.id})
            verdict = Verdict(unavailable=f"the check failed inside Executor: {type(error).__name__}")
        return self.ruling(verdict, chosen)

    def ruling(self, verdict: Verdict, chosen: str) -> Ruling:
        if verdict.unavailable:
            if self._unavailable == "fail" and chosen == "error":
                return Ruling(failures.typecheck_unavailable(verdict.unavailable))
            return Ruling(diagnostics=(not_checked(verdict.unavailable),))
        if verdict.errors and chosen == "error":
            return Ruling(failures.type_error([one.to_dict() for one in verdict.diagnostics]))
        return Ruling(diagnostics=tuple(replace(one, severity="warning") for one in verdict.diagnostics))


def not_checked(why: str) -> Diagnostic:
    return Diagnostic("warning", 1, 1, 1, 1, f"the code ran without a type check: {why}", "unchecked")

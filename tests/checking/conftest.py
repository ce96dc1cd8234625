"""An Executor with a real upstream, asked to check code and to complete it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from executor.checking.checker import Checker
from executor.checking.checkers import typescript
from executor.checking.diagnostics import Diagnostic, Verdict
from tests.execution.conftest import ExecutorHarness, harness, ledger, reopen, settings

__all__ = ["harness", "ledger", "reopen", "settings"]


@dataclass
class CheckerHarness:
    harness: ExecutorHarness

    @property
    def checker(self) -> Checker:
        return self.harness.executor.checker

    @property
    def workspace_id(self) -> str:
        return self.harness.executor.tenancy.workspace.id

    async def verdict(self, code: str, language: str = "typescript") -> Verdict:
        return await self.checker.verdict(self.workspace_id, language, code)

    async def errors(self, code: str, language: str = "typescript") -> list[Diagnostic]:
        verdict = await self.verdict(code, language)
        assert not verdict.unavailable
        return list(verdict.errors)

    async def warnings(self, code: str, language: str = "typescript") -> list[Diagnostic]:
        verdict = await self.verdict(code, language)
        assert not verdict.unavailable and not verdict.errors
        return list(verdict.diagnostics)

    async def labels(self, code: str, language: str = "typescript") -> list[str]:
        """What is offered at the `|` in the code."""
        offset = code.index("|")
        items = await self.checker.complete(self.workspace_id, language, code.replace("|", "", 1), offset)
        return [item["label"] for item in items]


@pytest.fixture
def checks(harness: ExecutorHarness) -> CheckerHarness:
    return CheckerHarness(harness)


@pytest.fixture(autouse=True)
def checker_is_there() -> Iterator[None]:
    if typescript.find_program() is None:
        pytest.skip("this platform has no TypeScript checker")
    yield

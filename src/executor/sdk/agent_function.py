"""`execute` as a plain function, in the form that agent frameworks take: named, typed and described."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from executor.sdk.async_executor import AsyncExecutor
    from executor.sdk.execution import Execution
    from executor.sdk.executor import Executor

DESCRIPTION = """Run TypeScript in a sandbox. The only way out is `tools`.

Find tools with `await tools.discover({query: "app verb object"})`, read one with
`await tools.describe.tool({path})`, call it as `await tools.<path>({...})`, and `return` what you need.
"""
PREVIEW = 2_000


def bind(executor: Executor, wait: float | None) -> Callable[[str], str]:
    def execute(code: str) -> str:
        return render(executor.run(code, wait=wait))

    execute.__doc__ = DESCRIPTION
    return execute


def bind_async(executor: AsyncExecutor, wait: float | None) -> Callable[[str], Coroutine[Any, Any, str]]:
    async def execute(code: str) -> str:
        return render(await executor.run(code, wait=wait))

    execute.__doc__ = DESCRIPTION
    return execute


def render(execution: Execution) -> str:
    """What a model reads: the result, or the beginning of a large one; the error with its hint; who has to decide."""
    shown: dict[str, Any] = {"status": execution.status, "executionId": execution.id}
    if execution.status == "completed" and execution.artifact is None:
        return json.dumps(execution.result, ensure_ascii=False)
    if execution.artifact is not None:
        shown |= {"artifact": execution.artifact["id"], "size": execution.artifact["size"]}
        shown["preview"] = json.dumps(execution.result, ensure_ascii=False)[:PREVIEW]
        shown["hint"] = "this result is large: return less of it, such as some fields or a sum"
    if execution.error is not None:
        shown["error"] = execution.error
    if execution.interactions:
        shown["waitsFor"] = [{"tool": one.tool, "reason": one.reason, "url": one.url} for one in execution.interactions]
        shown["hint"] = "a person has to decide; say so, and don't try it another way"
    return json.dumps(shown, ensure_ascii=False)

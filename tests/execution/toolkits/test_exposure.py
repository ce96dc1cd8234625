"""Exposed tools: kept until something changes, also if that happens while they are read."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from executor.execution.toolkits.exposure import Exposures

TOOLKIT = SimpleNamespace(id="tkt_1", workspace_id="w", pass_through=("shop.*",), updated_at=1)


async def test_tools_that_change_while_they_are_read_are_read_again() -> None:
    listeners: list[Callable[[Any], None]] = []
    answers = [{"before": 1}, {"after": 1}, {"never": 1}]
    changed: Any = SimpleNamespace(type="source.refreshed")

    async def read(_: object) -> Any:
        if len(answers) == 3:
            listeners[0](changed)
        return answers.pop(0)

    async def of(workspace_id: str) -> Any:
        return SimpleNamespace(toolkits={TOOLKIT.id: TOOLKIT})

    async def visibility(*_: object) -> None:
        return None

    database: Any = SimpleNamespace(read=read)
    policies: Any = SimpleNamespace(of=of, visibility=visibility)
    feed: Any = SimpleNamespace(listen=listeners.append)
    actor: Any = SimpleNamespace(id="a", workspace_id="w", toolkit_id=TOOLKIT.id)
    exposures = Exposures(database, policies, feed)
    assert await exposures.of(actor) == {"before": 1}
    assert await exposures.of(actor) == {"after": 1}
    assert await exposures.of(actor) == {"after": 1}

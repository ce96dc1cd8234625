"""`executor.tools.github.issues.list(...)`: one call, on the same road as those of any other code."""

from __future__ import annotations

import json
from collections.abc import Coroutine, Mapping
from typing import TYPE_CHECKING, Any, Generic, overload

from executor.errors import InvalidRequest
from executor.sdk.execution import Options
from executor.sdk.flow import Awaiting, Blocking, Flow, K

if TYPE_CHECKING:
    from executor.sdk.client import Client


class Tool(Generic[K]):
    """A tool, or the beginning of a path to one. Write `tools["a-b"]["list"]` for names that are not identifiers."""

    def __init__(self, client: Client[K], path: str = "") -> None:
        self._client = client
        self._path = path

    def __getattr__(self, name: str) -> Tool[K]:
        if name.startswith("__"):
            raise AttributeError(name)  # no tool: copying and printing look for these
        return self[name]

    def __getitem__(self, name: str) -> Tool[K]:
        return Tool(self._client, f"{self._path}.{name}" if self._path else name)

    @overload
    def __call__(self: Tool[Blocking], arguments: Mapping[str, Any] | None = None, /, **named: Any) -> Any: ...
    @overload
    def __call__(
        self: Tool[Awaiting], arguments: Mapping[str, Any] | None = None, /, **named: Any
    ) -> Coroutine[Any, Any, Any]: ...
    def __call__(self, arguments: Mapping[str, Any] | None = None, /, **named: Any) -> Any:
        """The data that the tool returns. Raises `ExecutionFailed`, or `ExecutionPending` if it needs a decision."""
        return self._client._driver.run(self._call({**(arguments or {}), **named}))

    def __repr__(self) -> str:
        return f"<Tool {self._path or '(all)'}>"

    def _call(self, arguments: dict[str, Any]) -> Flow[Any]:
        code, options = call_code(self._path, arguments), Options(language="python", typecheck="off")
        execution = yield from self._client._run(code, options)
        return execution.raise_for_status().result


def call_code(path: str, arguments: Mapping[str, Any]) -> str:
    """In Python, which keeps integers of any size. The arguments are checked against the tool's schema anyway."""
    try:
        text = json.dumps(arguments, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InvalidRequest(f"an argument can't be expressed as JSON: {error}", hint="pass plain data") from None
    return f"import json\nreturn await tools({path!r}, json.loads({text!r}))"

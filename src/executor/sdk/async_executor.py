"""The client that is awaited: of a daemon, or of everything embedded in this process."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from executor.sdk.async_transport import AwaitingDriver, HttpTransport
from executor.sdk.client import Client
from executor.sdk.flow import Awaiting
from executor.sdk.location import Location

if TYPE_CHECKING:
    from typing import Self

    from executor.sdk.host import Host


class AsyncExecutor(Client[Awaiting]):
    """As `Executor`, with methods to await, in one event loop. An embedded one starts at once, in a thread of its own,
    and the first use waits for it."""

    _driver: AwaitingDriver

    async def close(self) -> None:
        """Closing it again does nothing."""
        await self._driver.transport.close()

    def execute_function(self, *, wait: float | None = None) -> Callable[[str], Coroutine[Any, Any, str]]:
        """`execute(code)` as a function for an agent framework. It returns text for the model, also of errors."""
        from executor.sdk.agent_function import bind_async

        return bind_async(self, wait)

    async def __aenter__(self) -> Self:
        if self._host is not None:
            await self._host.wait_until_ready()
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()

    def _connect(self, location: Location) -> AwaitingDriver:
        return AwaitingDriver(HttpTransport(location))

    def _attach(self, host: Host) -> AwaitingDriver:
        from executor.sdk.host import AwaitingHost

        return AwaitingDriver(AwaitingHost(host))

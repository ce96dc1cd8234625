"""The client that blocks: of a daemon, or of everything embedded in this process."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from executor.sdk.client import Client
from executor.sdk.flow import Blocking
from executor.sdk.location import Location
from executor.sdk.sync_transport import BlockingDriver, HttpTransport

if TYPE_CHECKING:
    from typing import Self

    from executor.sdk.host import Host


class Executor(Client[Blocking]):
    """Runs code through a daemon: the one of this machine, or the one at `url`. Any number of threads may use it."""

    _driver: BlockingDriver

    def close(self) -> None:
        """Closing it again does nothing."""
        self._driver.transport.close()

    def execute_function(self, *, wait: float | None = None) -> Callable[[str], str]:
        """`execute(code)` as a function for an agent framework. It returns text for the model, also of errors."""
        from executor.sdk.agent_function import bind

        return bind(self, wait)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _connect(self, location: Location) -> BlockingDriver:
        return BlockingDriver(HttpTransport(location))

    def _attach(self, host: Host) -> BlockingDriver:
        from executor.sdk.host import BlockingHost

        host.ready.result()
        return BlockingDriver(BlockingHost(host))

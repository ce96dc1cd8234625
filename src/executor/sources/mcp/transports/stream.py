"""Messages to and from a server: one object for both directions, as the SDK's dispatcher reads and writes them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self

from mcp.shared.message import SessionMessage


class MessageStream(ABC):
    @abstractmethod
    async def __anext__(self) -> SessionMessage | Exception:
        """The next message of the server."""

    @abstractmethod
    async def send(self, item: SessionMessage) -> None:
        """Runs in the task of the sender, which then knows whether its request has left."""

    def __aiter__(self) -> Self:
        return self

    async def receive(self) -> SessionMessage | Exception:
        return await anext(self)

    async def aclose(self) -> None:  # noqa: B027 - part of the form, not of the work
        """Nothing to do: both directions end together, when the connection under them closes."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

"""What every part of a client has: a way to send a request."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic
from uuid import uuid4

from executor.errors import AlreadyCreated
from executor.sdk.flow import Flow, K, Part, Request

if TYPE_CHECKING:
    from executor.sdk.client import Client

Body = Mapping[str, Any]
Rows = list  # many parts have a method of that name


class Resource(Part[K], Generic[K]):
    """A part of the API, such as `executor.sources`."""

    def __init__(self, client: Client[K]) -> None:
        self._client = client
        self._driver = client._driver

    def _get(self, path: str, **query: Any) -> Flow[Any]:
        return self._client._exchange.send(Request("GET", path, query, repeatable=True))

    def _post(self, path: str, body: Body | None = None, *, seconds: float = 120.0) -> Flow[Any]:
        return self._client._exchange.send(Request("POST", path, body=_without_none(body or {}), seconds=seconds))

    def _create(self, path: str, body: Body, find: Callable[[str], Flow[Any]], *, seconds: float = 120.0) -> Flow[Any]:
        """With a key of its own, so that it can be sent again. `find` gets what an earlier try created."""
        if self._client._host is not None:  # no connection can break
            return (yield from self._post(path, body, seconds=seconds))
        key = {"Idempotency-Key": str(uuid4())}
        request = Request("POST", path, body=_without_none(body), headers=key, seconds=seconds, repeatable=True)
        try:
            return (yield from self._client._exchange.send(request))
        except AlreadyCreated as error:
            return (yield from find(str(error.details["id"])))

    def _put(self, path: str, body: Body) -> Flow[Any]:
        return self._client._exchange.send(Request("PUT", path, body=_without_none(body)))

    def _patch(self, path: str, body: Body) -> Flow[Any]:
        return self._client._exchange.send(Request("PATCH", path, body=body))

    def _delete(self, path: str, **query: Any) -> Flow[Any]:
        return self._client._exchange.send(Request("DELETE", path, query))


def _without_none(body: Body) -> dict[str, Any]:
    """What was not given is left out; for some fields null means something else."""
    return {name: value for name, value in body.items() if value is not None}

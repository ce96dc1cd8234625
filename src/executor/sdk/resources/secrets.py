"""Secrets. Their values go in and never come out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic

from executor.sdk.flow import Flow, K, Method
from executor.sdk.message import segment
from executor.sdk.resources.resource import Resource, Rows

if TYPE_CHECKING:
    from executor.model.credentials import Provider
    from executor.surfaces.views.credentials import SecretView


class Secrets(Resource[K], Generic[K]):
    @Method
    def list(self) -> Flow[Rows[SecretView]]:
        found: Rows[SecretView] = (yield from self._get("/v1/secrets"))["items"]
        return found

    @Method
    def add(self, name: str, value: str = "", *, provider: Provider = "store", reference: str = "") -> Flow[SecretView]:
        """Store a value, or say under which `reference` another provider has it."""
        body = {"name": name, "value": value, "provider": provider, "reference": reference}
        added: SecretView = yield from self._post("/v1/secrets", body)
        return added

    @Method
    def rotate(self, name: str, value: str = "", *, reference: str = "") -> Flow[SecretView]:
        """Set a new value under the same name."""
        body = {"value": value, "reference": reference}
        rotated: SecretView = yield from self._post(f"/v1/secrets/{segment(name)}/rotate", body)
        return rotated

    @Method
    def remove(self, name: str, *, force: bool = False) -> Flow[SecretView]:
        """`force` even while a connection uses it."""
        removed: SecretView = yield from self._delete(f"/v1/secrets/{segment(name)}", force=force)
        return removed

"""The credential of a call, for the function that is called: `credential()["API_KEY"]`."""

from __future__ import annotations

from contextvars import ContextVar

from executor.model.credentials import Credential

GIVEN: ContextVar[Credential | None] = ContextVar("executor_credential", default=None)


def credential() -> dict[str, str]:
    """The values of the connection that this call uses, by name; empty without one."""
    given = GIVEN.get()
    return dict(given.environment) if given is not None else {}

"""One call on its way out: the credential it carries, and nothing of it in what comes back."""

from __future__ import annotations

from executor.connections.connections import Connections
from executor.connections.resolution import Missing
from executor.errors import CredentialRequired, ToolError
from executor.execution.failures import tool_changed
from executor.model.credentials import DEFAULT_NAME, Connection, Credential
from executor.model.source import Source
from executor.model.tool import Tool
from executor.secrets.redaction import redact, redact_json, redact_value

REFUSED = (401, 403)


class CredentialMissing(ToolError):
    """Nothing was done: a human has to give a credential first.

    `approved`: a human has approved the call, and the credential changes nothing of what they saw.
    """

    def __init__(self, missing: Missing, *, approved: bool = False) -> None:
        super().__init__("credential_required", missing.reason)
        self.missing = missing
        self.approved = approved


class CallCredential:
    def __init__(self, connections: Connections | None) -> None:
        self._connections = connections
        self.source: Source | None = None
        self.connection: Connection | None = None
        self.credential: Credential | None = None
        self._values: tuple[str, ...] = ()

    @property
    def values(self) -> tuple[str, ...]:
        """The secrets that go with the call."""
        return self._values

    async def equip(self, source: Source, tool: Tool, actor_id: str, *, journalled_with: str) -> None:
        """Raises CredentialMissing. What was judged and journalled with one connection is not sent with another."""
        if self._connections is None:
            return
        self.source, self._values = await self._connections.unseal(source)
        use = await self._connections.resolve(source, tool, actor_id)
        if use.missing is not None:
            raise CredentialMissing(use.missing)
        if use.mark != journalled_with:
            raise tool_changed(tool.path)
        if use.connection is not None:
            self.connection = use.connection
            await self._take(self._connections, use.connection, source, tool)

    async def renew(self, tool: Tool, error: ToolError) -> bool:
        """A login whose token the service refused before doing anything gets a new one, once."""
        connections, connection, refused = self._connections, self.connection, self.credential
        if error.http_status != 401 or connections is None or connection is None or self.source is None:
            return False
        if connection.scheme != "oauth2" or refused is None:
            return False
        await self._take(connections, connection, self.source, tool, refused)
        return True

    async def _take(
        self,
        connections: Connections,
        connection: Connection,
        source: Source,
        tool: Tool,
        rejected: Credential | None = None,
    ) -> None:
        try:
            self.credential = await connections.credential(connection, rejected=rejected)
        except CredentialRequired as error:
            raise CredentialMissing(connections.missing(source, tool, error.message, connection.name)) from error
        self._values += self.credential.values

    def clean(self, result: str) -> str:
        return redact_json(result, self._values) if self._values else result

    async def handle_failure(self, tool: Tool, error: ToolError, *, given: bool = False) -> ToolError:
        """The error as the code may see it; a service that refuses the credential is remembered, and never retried.

        One that was `given` for this call is requested again, by CredentialMissing.
        """
        status = error.http_status
        if status in REFUSED and self._connections is not None and self.source is not None:
            if self.connection is not None:
                if consent := self._connections.missing_consent(self.source, tool, self.connection, error.asks):
                    return CredentialMissing(consent)
                await self._connections.note_rejection(self.connection, status)
                if given and status == 401:
                    reason = "the service answered 401 to this credential"
                    return self._missing(tool, error, reason, self.connection.name)
                error.hint = reconnect(self.connection, self.source, status)
            elif status == 401 and not self._values:
                return self._missing(tool, error, "the service answered 401")
        return self.redact_error(error)

    def _missing(self, tool: Tool, error: ToolError, reason: str, connection: str = "") -> ToolError:
        """Only credentials that can be sent are requested."""
        assert self._connections is not None and self.source is not None  # noqa: S101 - asked before
        missing = self._connections.missing(self.source, tool, reason, connection, error.asks)
        if missing.ways or not error.asks:
            return CredentialMissing(missing)
        error.hint = f"{error.asks[0]['description']}; connections are sent as Basic, Bearer, keys and OAuth logins"
        return self.redact_error(error)

    def redact_error(self, error: ToolError) -> ToolError:
        if not self._values:
            return error
        return ToolError(
            error.tool_code,
            redact(error.message, self._values),
            hint=redact(error.hint, self._values),
            status=error.http_status,
            details=redact_value(error.tool_details, self._values),
            retryable=error.retryable,
        )


def reconnect(connection: Connection, source: Source, status: int) -> str:
    if status == 403:
        return f"the credential of the connection {connection.name!r} is not allowed to do this"
    return (
        f"the service refused the credential of the connection {connection.name!r}: {replace_hint(connection, source)}"
    )


def replace_hint(connection: Connection, source: Source) -> str:
    """By name: a connection that is not the default one stays beside it."""
    named = "" if connection.name == DEFAULT_NAME else f", connection {connection.name}"
    act = "log in again" if connection.scheme == "oauth2" else "replace it"
    return f"a person can {act} on the page of the source {source.namespace}{named}"

"""Does a service accept a connection? Asked with calls that change nothing and that the policies let pass.

Accepted means that the service answers with the credential and refuses without it. An answer that everyone gets proves
nothing.
"""

from __future__ import annotations

from functools import partial
from typing import Literal

from sqlalchemy.engine import Connection as Database

from executor.connections.connections import Connections
from executor.connections.origin import origin_of
from executor.connections.resolution import fits, ways_of
from executor.dataclass import dataclass
from executor.errors import DocumentInvalid, ExecutorError, ToolError
from executor.execution.calls.credential import REFUSED, replace_hint
from executor.execution.calls.pipeline import CallPipeline
from executor.execution.calls.subjects import check_following
from executor.model.credentials import Connection, Credential
from executor.model.identity.actor import Actor
from executor.model.source import Source
from executor.model.tool import Tool
from executor.network.slots import HOLDINGS, Holdings
from executor.policy.decide import decide
from executor.secrets.redaction import redact
from executor.storage.catalog import tools
from executor.storage.executions import events

Outcome = Literal["ok", "rejected", "untested", "unusable"]
CALLED = ("openapi", "graphql")  # kinds whose reads are known to be reads
LOOKED_AT, TRIED = 500, 3
READ = "the source was read"


@dataclass(frozen=True, slots=True)
class Verdict:
    """`checked` says what was asked of the service, `error` why it is not ok, `hint` what to do next."""

    outcome: Outcome
    checked: str = "nothing"
    error: str = ""
    hint: str = ""


@dataclass
class ConnectionCheck:
    """Of one connection, for the actor whose policies decide which calls may be made."""

    pipeline: CallPipeline
    connections: Connections
    actor: Actor
    source: Source
    connection: Connection
    tried: int = 0
    withheld: bool = False
    forbidden: str = ""
    doubt: str = ""

    async def run(self) -> Verdict:
        """What the service says is kept with the connection; the trial itself is recorded."""
        found = await self._judge()
        if found.outcome == "ok":
            await self.connections.note_success(self.connection)

        def record(c: Database) -> None:
            data = {"id": self.connection.id, "name": self.connection.name, "source": self.source.namespace}
            data |= {"outcome": found.outcome, "checked": found.checked}
            events.append(c, self.connection.workspace_id, "connection.tested", data, by=self.actor)

        await self.pipeline.database.write(record)
        return found

    async def _judge(self) -> Verdict:
        try:
            credential = await self.connections.credential(self.connection)
        except ExecutorError as error:
            return Verdict("unusable", error=error.message, hint=error.hint)
        for tool in await self._candidates():
            if (found := await self._call(tool, credential)) is not None:
                return found
        found = await self._read(credential) if not self.tried else None
        if found is None or (found.outcome == "untested" and self.connection.status == "rejected"):
            return self._conclude()
        return found

    async def _candidates(self) -> list[Tool]:
        """Reads that take no arguments: those whose document asks for a credential first, then the shortest names."""
        if self.source.kind not in CALLED:
            return []
        source, mine = self.source, self.connection
        reads = await self.pipeline.database.read(lambda c: tools.simple_reads(c, source.id, LOOKED_AT))
        ways = {tool.path: ways_of(source, tool) for tool in reads}
        fitting = [one for one in reads if origin_of(source, one) == mine.origin and fits(mine, source, ways[one.path])]
        fitting.sort(key=lambda one: (not ways[one.path], one.deprecated, len(one.path), one.path))
        found: list[Tool] = []
        for tool in fitting:
            if len(found) == TRIED:
                break
            if await self._is_free(tool):
                found.append(tool)
        return found

    async def _is_free(self, tool: Tool) -> bool:
        """It takes an empty object, and no one has to be asked."""
        policies = (await self.pipeline.policies.of(self.source.workspace_id)).policies
        if decide(await self.pipeline.admissions.subject(tool, self.actor.id, {}), policies).action != "allow":
            self.withheld = True
            return False
        try:
            await self.pipeline.admissions.check(tool, {})
        except ToolError:
            return False
        return True

    async def _call(self, tool: Tool, credential: Credential) -> Verdict | None:
        """None if this tool does not decide it."""
        self.tried += 1
        called = f"{tool.path} was called"
        error = await self._failure(tool, credential)
        if error is not None and error.http_status == 401 and self.connection.scheme == "oauth2":
            try:
                credential = await self.connections.credential(self.connection, rejected=credential)
            except ExecutorError as lost:
                return Verdict("rejected", called, lost.message, lost.hint)
            error = await self._failure(tool, credential)
        if error is None:
            return await self._contrast(tool)
        if error.http_status == 401:
            await self.connections.note_rejection(self.connection, 401)
            return Verdict("rejected", called, "the service answered 401", replace_hint(self.connection, self.source))
        if error.http_status == 403:
            self.forbidden = tool.path
        else:
            self.doubt = f"the answer does not show whether the credential is accepted: {error.message}"
        return None

    async def _contrast(self, tool: Tool) -> Verdict | None:
        without = await self._failure(tool, None)
        if without is not None and without.http_status is not None:
            return Verdict("ok", f"{tool.path} works with the credential and fails without it")
        self.doubt = f"{tool.path} also works without a credential, so this proves nothing"
        if without is not None:
            self.doubt = f"whether {tool.path} works without a credential is unknown: {without.message}"
        return None

    async def _failure(self, tool: Tool, credential: Credential | None) -> ToolError | None:
        """Of a call, with nothing of the credential in it; None if it succeeds. The answer itself is thrown away."""
        opened, values = await self.connections.unseal(self.source)
        values += credential.values if credential is not None else ()
        in_force = await self.pipeline.policies.of(self.source.workspace_id)
        following = partial(check_following, self.pipeline.catalog, in_force, self.actor.id, tool)
        invoke = partial(
            self.pipeline.catalog.invoke, tool, {}, idempotency_key="", source=opened, may_follow=following
        )
        holdings = Holdings()
        held = HOLDINGS.set(holdings)
        try:
            await invoke(credential=credential)
        except ToolError as error:
            return ToolError(error.tool_code, redact(error.message, values), status=error.http_status)
        except ExecutorError as error:
            return ToolError(error.code, redact(error.message, values))
        finally:
            holdings.release()
            HOLDINGS.reset(held)
        return None

    async def _read(self, credential: Credential) -> Verdict | None:
        """Kinds that ask the service when they are read. None if that says nothing."""
        read = partial(self.pipeline.catalog.lifecycle.try_credential, self.source)
        try:
            if not await read(credential):
                return None
        except ExecutorError as error:
            refused = error.details.get("upstream_status") in REFUSED
            message = redact(error.message, credential.values)
            return Verdict("rejected" if refused else "untested", READ, message, error.hint)
        try:
            await read(None)
        except ExecutorError as error:
            if isinstance(error, DocumentInvalid) or error.details.get("upstream_status"):
                return Verdict("ok", "the source can be read with the credential and not without it")
        self.doubt = "the source can also be read without a credential, so this proves nothing"
        return Verdict("untested", READ, self.doubt, self._call_hint)

    def _conclude(self) -> Verdict:
        checked = f"{self.tried} of its tools, by calling them" if self.tried else "nothing"
        if self.forbidden:
            hint = "use a credential with more permissions, or call a tool that it is meant for"
            return Verdict("rejected", checked, f"the service answered 403 to {self.forbidden}", hint)
        if self.connection.status == "rejected":
            return Verdict("rejected", checked, self.connection.error, replace_hint(self.connection, self.source))
        reason = "it has no read without required arguments to call"
        if self.withheld and not self.tried:
            reason = "the policies allow none of its reads without approval"
        return Verdict("untested", checked, self.doubt or reason, self._call_hint)

    @property
    def _call_hint(self) -> str:
        return "call one of its tools"

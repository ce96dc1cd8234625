"""Calls that are sent: rechecked, given their credential, and answered with nothing of it in the answer."""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import replace
from functools import partial

from executor.catalog.catalog import Catalog
from executor.connections.connections import Connections
from executor.errors import ExecutorError, StorageError, ToolError
from executor.execution.approvals.prompt import shown_credential, shown_request
from executor.execution.artifacts import tools as artifact_tools
from executor.execution.artifacts.files import CallFiles, FileStore, reading_files
from executor.execution.builtins import tools as builtins
from executor.execution.calls.admission import Admissions
from executor.execution.calls.arguments import parse_arguments
from executor.execution.calls.binding import Bindings
from executor.execution.calls.credential import CallCredential, CredentialMissing
from executor.execution.calls.subjects import check_following
from executor.execution.failures import AnswerLost, is_lost, tool_changed
from executor.execution.policies.cache import PolicyCache
from executor.execution.quotas import Allowance, check_sources
from executor.model.execution import Call, Execution
from executor.model.ids import new_id
from executor.model.interaction import LISTENER, Binding
from executor.model.language import language_of
from executor.model.source import Source
from executor.model.tool import Tool
from executor.network.departure import check_departure
from executor.network.files import FILES
from executor.network.strangers import only_public
from executor.sources.kind import HIDES
from executor.storage.database import Database
from executor.storage.executions import interactions

RESULT_BYTES = 8 * 1024 * 1024

logger = logging.getLogger(__name__)


class CallSender:
    def __init__(
        self,
        catalog: Catalog,
        policies: PolicyCache,
        admissions: Admissions,
        bindings: Bindings,
        connections: Connections | None,
        database: Database,
        files: FileStore,
        lost_answers: str,
        strangers: Allowance,
    ) -> None:
        self._catalog = catalog
        self._policies = policies
        self._admissions = admissions
        self._bindings = bindings
        self._connections = connections
        self._database = database
        self.files = files
        self.lost_answers = lost_answers
        self._strangers = strangers
        self._turns = artifact_tools.ArtifactQueue()

    async def send(self, execution: Execution, call: Call, tool: Tool, binding: Binding | None = None) -> str:
        """The JSON text of the result, or a ToolError. `binding` is what a human approved.

        Nothing of the credential it was sent with is in either. CredentialMissing means that nothing was done, and
        that a human has to provide one first; AnswerLost that no one knows if a write was done. What can't act twice
        under its key is sent once more before that. Where several processes share the database, a StorageError comes
        out too: the code did nothing wrong, and another process may reach the database.
        """
        try:
            with only_public(applies=execution.is_of_stranger):
                return await self._send_once(execution, call, tool, binding)
        except AnswerLost as lost:
            if tool.idempotent:
                with suppress(ToolError), only_public(applies=execution.is_of_stranger):
                    return await self._send_once(execution, call, tool, binding)
            if self.lost_answers == "error":
                raise lost.as_error() from None
            raise

    async def _send_once(self, execution: Execution, call: Call, tool: Tool, binding: Binding | None) -> str:
        call_credential = CallCredential(self._connections)
        try:
            await self._admissions.recheck(execution, call, tool, binding)
            result = call_credential.clean(await self._send(execution, call, tool, call_credential, binding))
        except CredentialMissing:
            raise
        except ToolError as error:
            given = await self._was_given(call, call_credential, error)
            failure = await call_credential.handle_failure(tool, error, given=given)
            raise (AnswerLost(call.path, failure) if is_lost(tool, failure) else failure) from None
        except ExecutorError as error:
            if isinstance(error, StorageError) and self._database.processes is not None:
                raise
            raise call_credential.redact_error(ToolError(error.code, error.message, hint=error.hint)) from None
        except Exception as error:
            incident = new_id("err")
            logger.exception("call failed inside Executor", extra={"incident": incident, "tool": tool.path})
            hint = f"see the daemon's log for {incident}"
            raise ToolError("internal", "the call failed inside Executor", hint=hint) from error
        if len(result) > RESULT_BYTES:
            raise ToolError(
                "result_too_large",
                f"the result has {len(result)} bytes, more than the limit of {RESULT_BYTES}",
                hint="request less: filter, select fields, or use a smaller page",
            )
        return result

    async def _was_given(self, call: Call, call_credential: CallCredential, error: ToolError) -> bool:
        """The service refuses a credential that a person gave for this call: they may have mistyped it."""
        if error.http_status != 401 or call_credential.connection is None:
            return False
        return await self._database.read(lambda c: interactions.was_given(c, call.execution_id, call.seq))

    async def _send(
        self, execution: Execution, call: Call, tool: Tool, call_credential: CallCredential, binding: Binding | None
    ) -> str:
        arguments, approved = parse_arguments(call.arguments), binding is not None
        if tool.source_id == builtins.SOURCE:  # what goes elsewhere is checked where it leaves
            check_departure()
        if tool.path in artifact_tools.PATHS and tool.source_id == builtins.SOURCE:
            return await artifact_tools.invoke(self.files.contents, self._turns, execution, tool, arguments)
        if tool.source_id == builtins.SOURCE:
            visibility = await self._policies.visibility(
                execution.workspace_id, execution.actor_id, execution.toolkit_id
            )
            return await builtins.invoke(
                self._catalog,
                execution.workspace_id,
                tool,
                arguments,
                approved=approved,
                visibility=visibility,
                by=execution,
                language=language_of(execution.language),
                strangers=partial(check_sources, self._strangers) if execution.is_of_stranger else None,
            )
        source = await self._bindings.source_of(execution.workspace_id, tool)
        if source is not None:
            where, _, mark = call.route.partition(" ")
            if where != await self._bindings.destination(source):
                raise tool_changed(tool.path)
            await call_credential.equip(source, tool, execution.actor_id, journalled_with=mark)
        if (listener := LISTENER.get()) is not None:
            listener.secrets = call_credential.values
        HIDES.set(await self._admissions.hidden_from(execution, tool))
        FILES.set(CallFiles(self._store_for(execution), execution, call.seq, call.path, call_credential.values))
        key = key_of(call)
        following = partial(
            check_following,
            self._catalog,
            await self._policies.within(execution.workspace_id, execution.toolkit_id),
            execution.actor_id,
            tool,
        )
        invoke = partial(
            self._catalog.invoke,
            tool,
            arguments,
            idempotency_key=key,
            source=call_credential.source,
            may_follow=following,
        )
        try:
            return await invoke(credential=call_credential.credential)
        except ToolError as error:
            if not await call_credential.renew(tool, error):
                raise
        return await invoke(credential=call_credential.credential)

    async def outline(self, execution: Execution, call: Call, tool: Tool, source: Source | None) -> dict[str, str]:
        """What a human sees of the request: the request as it will be sent, without any secret."""
        if source is None:
            return {"request": tool.description if tool.source_id == builtins.SOURCE else "", "sentWith": "none"}
        try:
            given = parse_arguments(call.arguments)
            with reading_files(self.files, execution):
                request = await self._catalog.outline(tool, given, idempotency_key=key_of(call))
        except ToolError as error:  # approval is requested anyway: sending it fails with this
            request = f"can't be made: {error.message}"
        use = await self._bindings.use(execution, tool)
        return {"request": shown_request(request), "sentWith": shown_credential(use, source)}

    def _store_for(self, execution: Execution) -> FileStore:
        """An anonymous agent keeps no more than its results may have."""
        if not execution.is_of_stranger:
            return self.files
        return replace(self.files, largest=min(self.files.largest, execution.limits.result_bytes))


def key_of(call: Call) -> str:
    return f"{call.execution_id}:{call.seq}"

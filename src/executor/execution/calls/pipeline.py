"""The pipeline of a call, from the proposal to the answer: admission, binding, sending."""

from __future__ import annotations

from executor.catalog.catalog import Catalog
from executor.connections.connections import Connections
from executor.execution.approvals.pending_limits import OpenApprovals
from executor.execution.approvals.permits import Permits
from executor.execution.artifacts.contents import Contents
from executor.execution.artifacts.files import FileStore
from executor.execution.calls.admission import Admissions
from executor.execution.calls.binding import Bindings
from executor.execution.calls.guards import Guards
from executor.execution.calls.revocations import Revocations
from executor.execution.calls.sender import CallSender
from executor.execution.policies.cache import PolicyCache
from executor.execution.quotas import Allowance
from executor.storage.database import Database


class CallPipeline:
    """`lost_answers` is "ask" or "error": what happens when no one knows whether a write was done. `strangers` is what
    anonymous workspaces may keep. `guards` are there where several processes share the database."""

    def __init__(
        self,
        catalog: Catalog,
        policies: PolicyCache,
        permits: Permits,
        revocations: Revocations,
        open_approvals: OpenApprovals,
        connections: Connections | None = None,
        *,
        database: Database,
        lost_answers: str = "ask",
        retry_seconds: float = 120,
        files: FileStore | None = None,
        strangers: Allowance | None = None,
        guards: Guards | None = None,
    ) -> None:
        self.guards = guards
        self.database = database
        self.retry_seconds = retry_seconds
        self.files = files or FileStore(Contents(database))
        self.catalog = catalog
        self.policies = policies
        self.open_approvals = open_approvals
        self.bindings = Bindings(catalog, policies, connections)
        self.admissions = Admissions(catalog, policies, permits, revocations, self.bindings, self.files)
        self.sender = CallSender(
            catalog,
            policies,
            self.admissions,
            self.bindings,
            connections,
            database,
            self.files,
            lost_answers,
            strangers or Allowance(),
        )

"""Agent sessions, wired when the first one is used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from executor.dataclass import dataclass
from executor.errors import SessionFailed
from executor.model.sessions.model_usage import NANODOLLARS
from executor.model.sessions.session import Session
from executor.sessions.agents.configured import read_agents
from executor.sessions.agents.table import find_agent
from executor.sessions.creation import Creation
from executor.sessions.egress.host_list import read_hosts
from executor.sessions.party import SessionParty
from executor.sessions.permissions.requests import Permissions
from executor.sessions.processes.conversation import ModelAccess
from executor.sessions.processes.launch import Folders, Launcher
from executor.sessions.processes.pool import Pool
from executor.sessions.processes.prepared import PreparedProcesses
from executor.sessions.protocol.host_settings import CustomAgent
from executor.sessions.protocol.messages import ApiKey
from executor.sessions.repositories.checkouts import Checkouts
from executor.sessions.repositories.clones import Clones, CloneTerms
from executor.sessions.sessions import Sessions
from executor.sessions.tasks.runner import Parts
from executor.sessions.unix_users import UnixUsers
from executor.settings import Settings

if TYPE_CHECKING:
    from executor.daemon.wiring.executor import Executor
    from executor.sessions.model_proxy.session_models import SessionModels


@dataclass(frozen=True, slots=True)
class Access:
    """What a session reaches: models, unless its agent uses none, and the hosts that its sandbox may reach."""

    executor: Executor
    session: Session
    models: SessionModels | None = None
    egress: Path | None = None

    @property
    def socket(self) -> Path | None:
        return self.models.socket if self.models else None

    def take_budget_refusal(self) -> str:
        return self.models.take_budget_refusal() if self.models else ""

    async def issue(self, service: str) -> ApiKey:
        if self.models is None:
            raise SessionFailed(f"this agent uses no model of {service}", hint="use another agent")
        return await self.models.issue(service)

    async def close(self) -> None:
        if self.models is not None:
            await self.models.close()
        if self.egress is not None:
            await self.executor.session_proxies.egress.close_session(self.session.id)


class Models:
    """The proxies are imported and started for the first session that needs one."""

    def __init__(self, executor: Executor, configured: Mapping[str, CustomAgent]) -> None:
        self._executor = executor
        self._configured = configured

    async def open(self, session: Session) -> ModelAccess:
        uses_models = find_agent(session.agent, self._configured).service is not None
        entries = self._executor.settings.session_hosts if session.isolation == "sandbox" else ()
        hosts = read_hosts(entries)  # first: an entry that can't be read must leave nothing open
        models = await self._open_models(session) if uses_models else None
        access = Access(self._executor, session, models)
        if not entries:
            return access
        try:
            return replace(access, egress=await self._executor.session_proxies.egress.open(party_of(session), hosts))
        except BaseException:
            await access.close()
            raise

    async def _open_models(self, session: Session) -> SessionModels:
        from executor.sessions.model_proxy.access import Terms
        from executor.sessions.model_proxy.session_models import open_models

        usd = session.budget.usd
        terms = Terms(budget=None if usd is None else round(usd * NANODOLLARS))
        return await open_models(self._executor.session_proxies.model, party_of(session), terms)


def party_of(session: Session) -> SessionParty:
    return SessionParty(session.id, session.workspace_id, session.actor_id)


def sessions_of(executor: Executor) -> Sessions:
    settings, database = executor.settings, executor.database
    folders = Folders(settings.data_dir, settings.state_dir / "sessions", settings.data_dir / "agents")
    permissions = Permissions(database, executor.policies)
    executor.engine.on_settled.append(permissions.on_settled)
    configured = read_agents(settings.session_agents)
    models = Models(executor, configured.agents)
    prepared = PreparedProcesses(settings.session_warm, folders.sessions / "prepared", settings.session_idle_seconds)
    checkouts = Checkouts(dict(settings.session_repositories), folders)
    clones = Clones(database, checkouts, clone_terms(settings))
    launcher = Launcher(
        database, permissions, models, folders, f"{settings.base_url}/mcp", configured.agents, prepared,
        settings.session_silent_seconds, clones, executor.open_mcp,
    )  # fmt: skip
    parts = Parts(
        database,
        Pool(settings.session_limit, settings.session_idle_seconds),
        permissions,
        launcher,
        settings.session_task_seconds * 1000,
        lambda session: answer_seconds(settings, session),
    )
    unix_users = UnixUsers(dict(settings.session_unix_users), executor.tenancy.account.id)
    creation = Creation(database, executor.policies, settings, launcher, checkouts, folders, unix_users, clones)
    found = Sessions(database, parts, launcher, checkouts, creation, folders, configured, clones)
    executor.feed.listen(found.on_announcement, found.on_gap)
    return found


def clone_terms(settings: Settings) -> CloneTerms:
    known = dict(settings.session_repositories)
    return CloneTerms(
        {known[name]: script for name, script in settings.session_setup_scripts if name in known},
        settings.session_setup_seconds,
        settings.session_clone_bytes,
        settings.session_clones_bytes,
        settings.session_clone_days,
    )


def answer_seconds(settings: Settings, session: Session) -> int:
    """How long a permission request stays open."""
    return settings.approval_ttl_seconds if session.unattended == "wait" else settings.session_answer_seconds

"""What is wrong in the settings of agent sessions: `up` and `doctor` report it, before anyone starts a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from executor.errors import InvalidRequest
from executor.settings import Settings

if TYPE_CHECKING:
    from executor.execution.configuration.document import Problem


def check_hosts(settings: Settings) -> None:
    """Raises InvalidRequest: a list that is not what its author meant decides nothing."""
    if not settings.session_hosts:
        return
    from executor.sessions.egress.host_list import read_hosts

    try:
        read_hosts(settings.session_hosts)
    except InvalidRequest as error:
        raise InvalidRequest(f"setting session_hosts: {error.message}", hint=error.hint) from None


def read_problems(settings: Settings) -> list[Problem]:
    """Entries that are left out; the others work."""
    if not settings.session_agents:
        return []
    from executor.sessions.agents.configured import read_agents

    return list(read_agents(settings.session_agents).problems)

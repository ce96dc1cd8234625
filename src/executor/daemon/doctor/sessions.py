"""What agent sessions need: an isolation that holds, and agents. Neither is needed for anything else."""

from __future__ import annotations

from executor.daemon.doctor.check import Check
from executor.daemon.session_settings import read_problems
from executor.settings import Settings


def check_sessions(settings: Settings) -> list[Check]:
    from executor.sessions.agents.configured import read_agents
    from executor.sessions.agents.installation import agents_directory, detect
    from executor.sessions.isolation.probes import probe_limits, probe_sandbox

    checks = []
    for layer in (probe_sandbox(), probe_limits()):
        status = "warning" if layer.problem else "ok"
        checks.append(Check(f"sessions: {layer.name}", status, layer.problem or layer.detail, layer.hint))  # type: ignore[arg-type]
    configured = read_agents(settings.session_agents).agents
    found = [one for one in detect(agents_directory(settings.data_dir), configured) if one.agent.name != "fake"]
    there = [one for one in found if one.version or (one.agent.command and not one.problem)]
    listed = ", ".join(f"{one.agent.title} {one.version}".strip() for one in there) or "no agent is installed"
    checks.append(Check("sessions: agents", "ok", listed))
    checks += [
        Check(f"sessions: {one.agent.name}", "warning", one.problem, one.hint)
        for one in found
        if one.problem and (one.version or one.agent.name in configured)
    ]
    checks += [Check(f"sessions: {one.place}", "warning", one.message, one.hint) for one in read_problems(settings)]
    return checks

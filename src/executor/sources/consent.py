"""What runs on this machine: only what its operator has seen and agreed to."""

from __future__ import annotations

from executor.errors import ConsentRequired
from executor.model.authority import refused
from executor.sources.kind import Kind, SourceRequest


def check_consent(kind: Kind, request: SourceRequest) -> None:
    """Nothing is run on this machine that its operator has not seen."""
    if request.again or not (request.command or getattr(kind, "runs_code", False)):
        return
    agreed_by_nobody = request.by_code and not request.consent
    if not request.by_operator and not agreed_by_nobody:
        raise refused("running a command" if request.command else "importing a module into the daemon")
    if request.consent:
        return
    if request.command:
        raise ConsentRequired(
            "connecting this runs a command on this machine, which nobody has agreed to",
            hint="look at the command, then repeat with --yes (API: `consent: true`)",
            command=list(request.command),
        )
    raise ConsentRequired(
        f"connecting {request.location[:200]!r} imports and runs its code inside the daemon",
        hint="look at that code, then repeat with --yes (API: `consent: true`)",
        location=request.location,
    )

"""Other people: invited, in a browser of their own."""

from __future__ import annotations

from typing import Any

from tests.surfaces.api.daemon_server import Daemon
from tests.surfaces.web.conftest import Open


def invitation(daemon: Daemon, role: str) -> str:
    made = daemon.post("/v1/invitations", {"role": role})
    assert made.status == 201, made.body
    return str(made.json["url"])


def guest(visit: Open, daemon: Daemon, role: str, name: str) -> Any:
    """The page of somebody who has just accepted an invitation."""
    page = visit(invitation(daemon, role), signed_in=False)
    page.get_by_label("Your name").fill(name)
    page.get_by_role("button", name="Accept the invitation").click()
    page.get_by_role("heading", level=1, name="Sources").wait_for()
    return page

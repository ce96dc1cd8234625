"""A login that is spread over several servers, as the terminal asks about it."""

from __future__ import annotations

from typing import Any

import pytest

from executor.connections.oauth.endpoints import check_origins, confirmed_origins
from executor.errors import InvalidRequest, OAuthFailed
from executor.surfaces.cli.commands.credentials import connections_login

ENDPOINTS = {"authorization": "https://accounts.example/auth", "token": "https://tokens.example:443/token"}


class Daemon:
    """Refuses until both servers are confirmed, as the API does."""

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []

    def post(self, path: str, body: dict[str, Any]) -> dict[str, str]:
        self.bodies.append(dict(body))
        check_origins(ENDPOINTS, confirmed_origins(body["confirmServers"], []))
        return {"authorizationUrl": "https://accounts.example/auth"}


@pytest.mark.parametrize("answer", [True, False])
def test_the_terminal_names_every_server_and_asks(
    answer: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    daemon: Any = Daemon()
    monkeypatch.setattr(connections_login, "interactive", lambda: True)
    monkeypatch.setattr(connections_login.click, "confirm", lambda *_, **__: answer)
    body: dict[str, Any] = {"confirmServers": []}
    if answer:
        assert connections_login.begin(daemon, "start", body, False)["authorizationUrl"]
        assert daemon.bodies[-1]["confirmServers"] == ["https://accounts.example", "https://tokens.example:443"]
    else:
        with pytest.raises(OAuthFailed, match="several servers"):
            connections_login.begin(daemon, "start", body, False)
        assert len(daemon.bodies) == 1
    shown = capsys.readouterr().err
    assert "https://accounts.example" in shown and "https://tokens.example" in shown


@pytest.mark.parametrize("as_json", [True, False])
def test_nothing_is_confirmed_where_no_one_can_be_asked(as_json: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    daemon: Any = Daemon()
    monkeypatch.setattr(connections_login, "interactive", lambda: as_json)
    with pytest.raises(OAuthFailed, match="several servers"):
        connections_login.begin(daemon, "start", {"confirmServers": []}, as_json)
    assert len(daemon.bodies) == 1


def test_servers_are_confirmed_by_host_or_address_in_any_spelling() -> None:
    check_origins(ENDPOINTS, confirmed_origins(["ACCOUNTS.example", "https://tokens.example/any"], []))
    before = [{"token_endpoint": "https://tokens.example/t", "authorization_endpoint": "https://accounts.example/a"}]
    check_origins(ENDPOINTS, confirmed_origins([], before))
    for given in ([], ["accounts.example"], ["http://accounts.example", "tokens.example"], ["evil.example"]):
        with pytest.raises(OAuthFailed, match="several servers"):
            check_origins(ENDPOINTS, confirmed_origins(given, []))
    with pytest.raises(InvalidRequest):
        confirmed_origins(["javascript://x"], [])

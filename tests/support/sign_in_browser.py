"""A browser that signs in at an identity provider on loopback, redirect by redirect, with cookies of its own."""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit

import pytest

from tests.support.token_issuer import TokenIssuer
from tests.surfaces.api.daemon_server import Answer, Daemon, running_daemon

CLIENT = "executor-client"
SECRET = "s3cr3t/with+signs:&"
START, CALLBACK = "/v1/auth/oidc/start", "/v1/auth/oidc/callback"


@contextmanager
def running_daemon_with(authority: TokenIssuer, directory: Path) -> Iterator[Daemon]:
    """A daemon at which people sign in through `authority`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EXECUTOR_SECRET_OIDC", SECRET)
        with running_daemon(directory, **settings_of(authority)) as daemon:
            authority.register_client(CLIENT, f"{daemon.url}{CALLBACK}", secret=SECRET)
            yield daemon


@dataclass
class Browser:
    daemon: Daemon
    cookies: dict[str, str] = field(default_factory=dict)

    def get(self, path: str, **headers: str) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.daemon.port, timeout=60)
        sent = {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items()), **headers}
        try:
            connection.request("GET", path, headers=sent)
            response = connection.getresponse()
            for name, value in response.getheaders():
                if name.lower() == "set-cookie":
                    key, _, rest = value.partition("=")
                    self.cookies[key] = rest.partition(";")[0]
            found = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, found, response.read())
        finally:
            connection.close()

    def start(self, return_to: str = "") -> str:
        """The address at the provider."""
        answer = self.get(START + (f"?return_to={quote(return_to, safe='')}" if return_to else ""))
        assert answer.status == 303, answer.body
        return answer.headers["location"]

    def come_back(self, url: str) -> Answer:
        """As a browser does: a navigation that another site began."""
        parts = urlsplit(url)
        fetched = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
        return self.get(f"{parts.path}?{parts.query}", **fetched)

    def sign_in(self, return_to: str = "") -> Answer:
        return self.come_back(consent(self.start(return_to)))

    def whoami(self) -> Any:
        return self.get("/v1/auth/whoami").json


def consent(url: str) -> str:
    """What the provider answers to somebody who says yes: where the browser goes next."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
    try:
        connection.request("GET", f"{parts.path}?{parts.query}")
        response = connection.getresponse()
        response.read()
        location = response.getheader("Location")
        assert location, response.status
        return location
    finally:
        connection.close()


def query_of(url: str) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(url).query))


def settings_of(authority: TokenIssuer) -> dict[str, str]:
    return {
        "oidc_issuer": authority.issuer,
        "oidc_client_id": CLIENT,
        "oidc_client_secret": "env:EXECUTOR_SECRET_OIDC",
    }

"""Everybody who may come to a daemon, each with a credential of their own, made the way users make it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.surfaces.api.daemon_server import Answer, Daemon


@dataclass(frozen=True)
class Caller:
    """Somebody with a token, a cookie, or neither."""

    daemon: Daemon
    name: str
    token: str | None = field(default=None, repr=False)
    cookie: str = field(default="", repr=False)
    workspace: str = ""
    account: str = ""

    def request(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        sent = dict(headers)
        if self.cookie:
            sent = {"Cookie": self.cookie, "Origin": self.daemon.url, **sent}
        if self.workspace:
            sent.setdefault("X-Executor-Workspace", self.workspace)
        return self.daemon.request(method, path, body, role=self.token, headers=sent)

    def get(self, path: str, **headers: str) -> Answer:
        return self.request("GET", path, **headers)

    def post(self, path: str, body: Any = None, **headers: str) -> Answer:
        return self.request("POST", path, {} if body is None else body, **headers)

    def patch(self, path: str, body: Any) -> Answer:
        return self.request("PATCH", path, body)

    def delete(self, path: str) -> Answer:
        return self.request("DELETE", path)


def expect_created(answer: Answer) -> Any:
    assert answer.status == 201, answer.body
    return answer.json


def operator(daemon: Daemon, workspace: str = "") -> Caller:
    return Caller(daemon, "operator", daemon.tokens.operator, workspace=workspace)


def nobody(daemon: Daemon) -> Caller:
    return Caller(daemon, "nobody")


def fragment(url: str) -> str:
    return url.partition("#")[2]


def browser(daemon: Daemon, name: str, answer: Answer) -> Caller:
    """Whoever has just signed in."""
    assert answer.status == 200, answer.body
    return Caller(daemon, name, cookie=answer.headers["set-cookie"].partition(";")[0], account=answer.json["accountId"])


def signed_in(daemon: Daemon) -> Caller:
    """A browser of the operator."""
    link = expect_created(operator(daemon).post("/v1/auth/links"))
    return browser(daemon, "browser", nobody(daemon).post("/v1/auth/sign-in", {"token": fragment(link["url"])}))


def invite(daemon: Daemon, role: str, by: Caller | None = None) -> Caller:
    """Somebody new, in a browser, with a role in the organization of whoever invites."""
    invitation = expect_created((by or operator(daemon)).post("/v1/invitations", {"role": role}))
    body = {"token": fragment(invitation["url"]), "name": role.title()}
    return browser(daemon, role, nobody(daemon).post("/v1/invitations/accept", body))


def create_key(daemon: Daemon, *scopes: str, by: Caller | None = None) -> Caller:
    key = expect_created((by or operator(daemon)).post("/v1/keys", {"name": "program", "scopes": list(scopes)}))
    return Caller(daemon, f"key {' '.join(scopes)}", key["token"])


def agent(daemon: Daemon, name: str) -> Caller:
    return Caller(daemon, name, expect_created(operator(daemon).post("/v1/agents", {"name": name}))["token"])


def anonymous(daemon: Daemon) -> Caller:
    daemon.executor.anonymous.starts.clear()
    session = expect_created(nobody(daemon).post("/v1/auth/anonymous/bootstrap"))
    token = nobody(daemon).post("/v1/auth/anonymous/token", {"sessionId": session["sessionId"]}).json["accessToken"]
    return Caller(daemon, "anonymous", token)


def visitor(daemon: Daemon, cookie: str = "") -> Caller:
    """A browser without an account, in the workspace that it opened."""
    daemon.executor.anonymous.starts.clear()
    sent = {"Origin": daemon.url, "Sec-Fetch-Site": "same-origin", **({"Cookie": cookie} if cookie else {})}
    entered = nobody(daemon).post("/v1/auth/anonymous/browser", **sent)
    assert entered.status == 200, entered.body
    return Caller(daemon, "visitor", cookie=entered.headers.get("set-cookie", cookie).partition(";")[0])


def agent_of(visitor: Caller) -> Caller:
    """The agent that a visitor handed its key."""
    return Caller(visitor.daemon, "its agent", expect_created(visitor.post("/v1/auth/anonymous/key"))["accessToken"])


def stranger(daemon: Daemon) -> Caller:
    """The owner of another organization, who has nothing to do with ours."""
    place = expect_created(operator(daemon).post("/v1/organizations", {"name": "Elsewhere"}))
    return invite(daemon, "owner", operator(daemon, place["id"]))

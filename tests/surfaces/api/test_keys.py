"""Keys, agents and their tokens."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.surfaces.api import identities
from tests.surfaces.api.daemon_server import Daemon, running_daemon
from tests.surfaces.api.identities import Caller, expect_created, operator


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running_daemon(tmp_path_factory.mktemp("keys")) as daemon:
        yield daemon


def events(daemon: Daemon, kind: str) -> list[Any]:
    from executor.storage.executions import events

    workspace = daemon.executor.tenancy.workspace.id
    found = daemon.run(daemon.executor.database.read(lambda c: events.after(c, workspace, limit=10_000)))
    return [event for event in found if event.type == kind]


def test_a_keys_token_is_shown_once_and_kept_nowhere(daemon: Daemon) -> None:
    key = expect_created(operator(daemon).post("/v1/keys", {"name": "laptop"}))
    assert key["token"].startswith("exk_") and key["token"].startswith(key["prefix"])
    shown = operator(daemon).get("/v1/keys").body + operator(daemon).get("/v1/events?limit=1000").body
    assert key["token"].encode() not in shown
    files = [path for path in daemon.executor.settings.data_dir.rglob("executor.db*") if path.is_file()]
    assert files and not any(key["token"].encode() in path.read_bytes() for path in files)


def test_a_key_acts_for_its_owner_within_its_scopes(daemon: Daemon) -> None:
    reader = identities.create_key(daemon, "read")
    mine = daemon.execute("return 1", role="operator")
    assert reader.get(f"/v1/executions/{mine['executionId']}").json["result"] == 1
    assert reader.post("/v1/executions", {"code": "return 1"}).status == 403
    runner = identities.create_key(daemon, "execute")
    ran = expect_created(runner.post("/v1/executions", {"code": "return 2"}))
    assert operator(daemon).get(f"/v1/executions/{ran['executionId']}").json["result"] == 2
    assert runner.get("/v1/auth/whoami").json["actorId"] == operator(daemon).get("/v1/auth/whoami").json["actorId"]


def test_a_key_tells_when_it_was_last_used(daemon: Daemon) -> None:
    key = expect_created(operator(daemon).post("/v1/keys", {"name": "used"}))
    assert key["lastUsedAt"] is None
    Caller(daemon, "used", key["token"]).get("/v1/auth/whoami")
    [shown] = [one for one in operator(daemon).get("/v1/keys").json["items"] if one["id"] == key["id"]]
    assert shown["lastUsedAt"] is not None


def test_a_revoked_key_opens_nothing_from_that_moment(daemon: Daemon) -> None:
    key = expect_created(operator(daemon).post("/v1/keys", {"name": "gone"}))
    holder = Caller(daemon, "gone", key["token"])
    assert holder.get("/v1/auth/whoami").status == 200
    assert operator(daemon).delete(f"/v1/keys/{key['id']}").status == 204
    assert holder.get("/v1/auth/whoami").status == 401
    assert operator(daemon).delete(f"/v1/keys/{key['id']}").status == 409


def test_an_expired_key_opens_nothing(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    from executor.identity import authentication
    from executor.model.ids import now_ms

    holder = Caller(
        daemon, "old", expect_created(operator(daemon).post("/v1/keys", {"name": "old", "expiresInDays": 1}))["token"]
    )
    assert holder.get("/v1/auth/whoami").status == 200
    later = now_ms() + 86_400_000
    monkeypatch.setattr(authentication, "now_ms", lambda: later)
    assert holder.get("/v1/auth/whoami").status == 401


def test_no_one_gives_a_key_what_they_may_not_do_themselves(daemon: Daemon) -> None:
    viewer = identities.invite(daemon, "viewer")
    refused = viewer.post("/v1/keys", {"name": "k", "scopes": ["read", "execute"]})
    assert (refused.status, refused.json["code"]) == (403, "forbidden")
    assert viewer.post("/v1/keys", {"name": "k", "scopes": ["read"]}).status == 201
    for scope in ("decide", "connect", "administer", "manage", "own"):
        assert operator(daemon).post("/v1/keys", {"name": "k", "scopes": [scope]}).status == 400


def test_a_key_loses_what_its_owner_loses(daemon: Daemon) -> None:
    member = identities.invite(daemon, "member")
    key = identities.create_key(daemon, "execute", "read", by=member)
    assert key.post("/v1/executions", {"code": "return 1"}).status == 201
    operator(daemon).patch(f"/v1/members/{member.account}", {"role": "viewer"})
    assert key.post("/v1/executions", {"code": "return 1"}).status == 403
    assert key.get("/v1/executions").status == 200
    operator(daemon).delete(f"/v1/members/{member.account}")
    assert key.get("/v1/executions").status == 401


def test_everyone_sees_and_revokes_their_own_keys_and_an_admin_everyones(daemon: Daemon) -> None:
    one, other = identities.invite(daemon, "member"), identities.invite(daemon, "member")
    key = expect_created(one.post("/v1/keys", {"name": "mine"}))
    assert [shown["id"] for shown in one.get("/v1/keys").json["items"]] == [key["id"]]
    assert other.get("/v1/keys").json["items"] == []
    assert other.delete(f"/v1/keys/{key['id']}").status == 404
    admin = identities.invite(daemon, "admin")
    assert key["id"] in admin.get("/v1/keys").body.decode()
    assert admin.delete(f"/v1/keys/{key['id']}").status == 204


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "a\x1b[2K", "x" * 101, "a\u202eb"])
def test_a_name_that_could_pass_for_something_else_is_refused(daemon: Daemon, name: str) -> None:
    assert operator(daemon).post("/v1/keys", {"name": name}).status == 400
    assert operator(daemon).post("/v1/agents", {"name": name}).status == 400


def test_agents_can_be_distinguished_and_see_only_their_own(daemon: Daemon) -> None:
    one, other = identities.agent(daemon, "one"), identities.agent(daemon, "two")
    ran = expect_created(one.post("/v1/executions", {"code": "return 1"}))
    assert one.get(f"/v1/executions/{ran['executionId']}").status == 200
    assert other.get(f"/v1/executions/{ran['executionId']}").status == 404
    who = one.get("/v1/auth/whoami").json
    assert (who["name"], who["kind"], who["permissions"]) == ("one", "agent", ["discover", "execute"])
    created = [event for event in events(daemon, "execution.created") if event.execution_id == ran["executionId"]]
    assert created[0].data["actor"] == who["actorId"]


def test_a_name_of_an_agent_is_taken_until_it_is_revoked_and_then_the_same_agent(daemon: Daemon) -> None:
    first = expect_created(operator(daemon).post("/v1/agents", {"name": "again"}))
    assert operator(daemon).post("/v1/agents", {"name": "again"}).status == 409
    assert operator(daemon).post("/v1/agents", {"name": "agent"}).status == 409
    assert operator(daemon).delete(f"/v1/agents/{first['id']}").status == 204
    assert Caller(daemon, "again", first["token"]).get("/v1/auth/whoami").status == 401
    second = expect_created(operator(daemon).post("/v1/agents", {"name": "again"}))
    assert (second["id"], second["token"] != first["token"]) == (first["id"], True)
    assert Caller(daemon, "again", first["token"]).get("/v1/auth/whoami").status == 401


def test_the_installations_own_agent_is_listed_and_stays(daemon: Daemon) -> None:
    own = daemon.executor.tenancy.agent.id
    assert operator(daemon).get("/v1/agents").json["items"][0]["id"] == own
    assert operator(daemon).delete(f"/v1/agents/{own}").status == 409


def test_making_and_ending_credentials_is_recorded_with_who_and_from_where(daemon: Daemon) -> None:
    browser = identities.signed_in(daemon)
    key = expect_created(browser.post("/v1/keys", {"name": "audited"}))
    browser.delete(f"/v1/keys/{key['id']}")
    for kind in ("key.created", "key.revoked"):
        [event] = [event for event in events(daemon, kind) if event.data["keyId"] == key["id"]]
        assert event.actor_id == daemon.executor.tenancy.operator.id
        via, session, address = event.origin.split()
        assert (via, session[:4], address) == ("browser", "brs_", "127.0.0.1")

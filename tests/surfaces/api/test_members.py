"""Organizations, workspaces, members and invitations."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.tool_results import about
from tests.surfaces.api import identities
from tests.surfaces.api.daemon_server import Daemon, running_daemon
from tests.surfaces.api.identities import expect_created, fragment, nobody, operator


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running_daemon(tmp_path_factory.mktemp("members")) as daemon:
        yield daemon


@pytest.fixture(autouse=True)
def forgiven(daemon: Daemon) -> None:
    daemon.executor.authenticator.attempts.clear()


def test_an_invitation_makes_one_person_a_member_with_the_role_it_names(daemon: Daemon) -> None:
    invitation = expect_created(operator(daemon).post("/v1/invitations", {"role": "viewer", "email": "vi@example.com"}))
    token = fragment(invitation["url"])
    assert token.encode() not in operator(daemon).get("/v1/invitations").body
    joined = nobody(daemon).post("/v1/invitations/accept", {"token": token, "name": "Vi"})
    assert (joined.status, joined.json["role"]) == (200, "viewer")
    assert nobody(daemon).post("/v1/invitations/accept", {"token": token, "name": "Eve"}).status == 401
    [vi] = [one for one in operator(daemon).get("/v1/members").json["items"] if one["name"] == "Vi"]
    assert (vi["role"], vi["email"]) == ("viewer", "vi@example.com")
    [shown] = [one for one in operator(daemon).get("/v1/invitations").json["items"] if one["id"] == invitation["id"]]
    assert shown["status"] == "accepted"


def test_a_revoked_or_old_invitation_lets_no_one_in(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    from executor.identity import invitations
    from executor.model.ids import now_ms

    revoked, old = (expect_created(operator(daemon).post("/v1/invitations")) for _ in range(2))
    assert operator(daemon).delete(f"/v1/invitations/{revoked['id']}").status == 204
    assert operator(daemon).delete(f"/v1/invitations/{revoked['id']}").status == 409
    assert nobody(daemon).post("/v1/invitations/accept", {"token": fragment(revoked["url"])}).status == 401
    later = now_ms() + 7 * 86_400_000 + 1000
    monkeypatch.setattr(invitations, "now_ms", lambda: later)
    assert nobody(daemon).post("/v1/invitations/accept", {"token": fragment(old["url"])}).status == 401


def test_anyone_who_is_signed_in_joins_with_the_account_they_have(daemon: Daemon) -> None:
    member = identities.invite(daemon, "member")
    place = expect_created(operator(daemon).post("/v1/organizations", {"name": "Second"}))
    invitation = expect_created(operator(daemon, place["id"]).post("/v1/invitations", {"role": "admin"}))
    joined = member.post("/v1/invitations/accept", {"token": fragment(invitation["url"])})
    assert (joined.status, joined.json["accountId"]) == (200, member.account)
    both = {one["organization"]["name"]: one["role"] for one in member.get("/v1/workspaces").json["items"]}
    assert both == {"personal": "member", "Second": "admin"}
    again = expect_created(operator(daemon, place["id"]).post("/v1/invitations", {"role": "admin"}))
    assert member.post("/v1/invitations/accept", {"token": fragment(again["url"])}).status == 409
    somebody = nobody(daemon).post("/v1/invitations/accept", {"token": fragment(again["url"]), "name": "Sam"})
    assert somebody.status == 200, "an invitation that could not be used is still good"


def test_no_one_gives_or_takes_a_role_above_their_own(daemon: Daemon) -> None:
    admin, member = identities.invite(daemon, "admin"), identities.invite(daemon, "member")
    owner = identities.invite(daemon, "owner")
    assert admin.patch(f"/v1/members/{member.account}", {"role": "owner"}).status == 403
    assert admin.patch(f"/v1/members/{owner.account}", {"role": "viewer"}).status == 403
    assert admin.delete(f"/v1/members/{owner.account}").status == 403
    assert admin.post("/v1/invitations", {"role": "owner"}).status == 403
    invitation = expect_created(operator(daemon).post("/v1/invitations", {"role": "owner"}))
    assert admin.delete(f"/v1/invitations/{invitation['id']}").status == 403
    assert admin.patch(f"/v1/members/{admin.account}", {"role": "owner"}).status == 403
    assert admin.patch(f"/v1/members/{member.account}", {"role": "admin"}).json["role"] == "admin"


def test_the_last_owner_stays(daemon: Daemon) -> None:
    stranger = identities.stranger(daemon)
    [other] = [one for one in stranger.get("/v1/members").json["items"] if one["accountId"] != stranger.account]
    assert stranger.delete(f"/v1/members/{other['accountId']}").status == 204
    for answer in (
        stranger.delete(f"/v1/members/{stranger.account}"),
        stranger.patch(f"/v1/members/{stranger.account}", {"role": "admin"}),
    ):
        assert (answer.status, answer.json["code"]) == (409, "conflict")
    assert stranger.patch(f"/v1/members/{stranger.account}", {"role": "owner"}).status == 200


def test_the_installations_own_account_stays_its_owner(daemon: Daemon) -> None:
    owner = identities.invite(daemon, "owner")
    own = daemon.executor.tenancy.account.id
    assert owner.delete(f"/v1/members/{own}").status == 409
    assert owner.patch(f"/v1/members/{own}", {"role": "viewer"}).status == 409


def test_anyone_who_was_removed_has_nothing_left_and_gets_nothing_back_by_return(daemon: Daemon) -> None:
    member = identities.invite(daemon, "member")
    key = identities.create_key(daemon, "read", by=member)
    link = expect_created(operator(daemon).post("/v1/auth/links", {"accountId": member.account}))
    assert operator(daemon).delete(f"/v1/members/{member.account}").status == 204
    assert {member.get("/v1/status").status, key.get("/v1/executions").status} == {401}
    assert nobody(daemon).post("/v1/auth/sign-in", {"token": fragment(link["url"])}).status == 401

    def rejoin() -> None:
        from executor.storage.identity import members

        organization = daemon.executor.tenancy.organization.id
        daemon.run(daemon.executor.database.write(lambda c: members.add(c, organization, member.account, "member")))

    rejoin()
    assert {member.get("/v1/status").status, key.get("/v1/executions").status} == {401}


def test_workspaces_are_made_and_named_and_keep_apart(daemon: Daemon) -> None:
    place = expect_created(operator(daemon).post("/v1/workspaces", {"name": "lab"}))
    assert operator(daemon).post("/v1/workspaces", {"name": "lab"}).status == 409
    lab = operator(daemon, place["id"])
    ran = expect_created(lab.post("/v1/executions", {"code": "return 1"}))
    assert operator(daemon).get(f"/v1/executions/{ran['executionId']}").status == 404
    assert lab.get(f"/v1/executions/{ran['executionId']}").status == 200
    assert lab.get("/v1/status").json["workspace"]["name"] == "lab"
    renamed = operator(daemon).patch(f"/v1/workspaces/{place['id']}", {"name": "laboratory"})
    assert renamed.json["name"] == "laboratory"
    assert operator(daemon).patch(f"/v1/workspaces/{place['id']}", {"name": "default"}).status == 409


def test_the_operators_token_over_mcp_stays_in_the_workspace_it_names(daemon: Daemon) -> None:
    place = expect_created(operator(daemon).post("/v1/workspaces", {"name": "apart"}))
    call = {"name": "execute", "arguments": {"code": "return 1"}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"}
    answer = operator(daemon, place["id"]).post("/mcp", message, **headers).json
    execution_id = about(answer["result"])["executionId"]
    assert operator(daemon, place["id"]).get(f"/v1/executions/{execution_id}").status == 200
    assert operator(daemon).get(f"/v1/executions/{execution_id}").status == 404


def test_an_organization_is_renamed_by_its_owner(daemon: Daemon) -> None:
    stranger = identities.stranger(daemon)
    [own] = stranger.get("/v1/organizations").json["items"]
    assert stranger.patch(f"/v1/organizations/{own['id']}", {"name": "Ours"}).json["name"] == "Ours"
    admin = identities.invite(daemon, "admin", stranger)
    assert admin.patch(f"/v1/organizations/{own['id']}", {"name": "Mine"}).status == 403

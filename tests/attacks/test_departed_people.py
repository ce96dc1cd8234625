"""Attacks 266 and 267: what someone prepared while they still might, used after their role was taken from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import pytest

from tests.connections.oauth.test_login import Place, running_place, with_cookie
from tests.support.login_harness import visit
from tests.surfaces.api import identities
from tests.surfaces.api.daemon_server import Answer, Daemon, running_daemon
from tests.surfaces.api.identities import Caller, expect_created, fragment, nobody, operator

Loss = Callable[[Caller], Answer]


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running_daemon(tmp_path_factory.mktemp("departed")) as daemon:
        yield daemon


@pytest.fixture(autouse=True)
def forgive(daemon: Daemon) -> None:
    daemon.executor.authenticator.attempts.clear()


@pytest.fixture
def place(daemon: Daemon) -> Iterator[Place]:
    with running_place(daemon) as place:
        yield place


def removal(who: Caller) -> Answer:
    return operator(who.daemon).delete(f"/v1/members/{who.account}")


def demotion(to: str) -> Loss:
    return lambda who: operator(who.daemon).patch(f"/v1/members/{who.account}", {"role": to})


LOSSES: list[tuple[str, str, Loss]] = [
    ("admin", "admin", removal),
    ("admin", "viewer", removal),
    ("admin", "admin", demotion("member")),
    ("admin", "viewer", demotion("viewer")),
    ("owner", "owner", demotion("admin")),
    ("owner", "member", removal),
]


@pytest.mark.parametrize(("was", "invited", "lose"), LOSSES)
def test_266_an_invitation_does_not_outlive_the_role_of_who_made_it(
    daemon: Daemon, was: str, invited: str, lose: Loss
) -> None:
    """Defence: `refuse_departed` in `identity/invitations.py`, in the transaction that uses the invitation."""
    who = identities.invite(daemon, was)
    kept = expect_created(who.post("/v1/invitations", {"role": invited}))
    assert lose(who).status in (200, 204)
    for joining in (nobody(daemon), who):
        joined = joining.post("/v1/invitations/accept", {"token": fragment(kept["url"]), "name": "Back"})
        assert joined.status in (401, 409), joined.body
    names = [one["name"] for one in operator(daemon).get("/v1/members").json["items"]]
    assert "Back" not in names


def test_266_what_they_may_still_give_is_still_good(daemon: Daemon) -> None:
    who = identities.invite(daemon, "owner")
    kept = expect_created(who.post("/v1/invitations", {"role": "member"}))
    assert demotion("admin")(who).status == 200
    joined = nobody(daemon).post("/v1/invitations/accept", {"token": fragment(kept["url"]), "name": "Ann"})
    assert (joined.status, joined.json["role"]) == (200, "member")


@pytest.mark.parametrize("lose", [removal, demotion("admin"), demotion("viewer")])
def test_266_a_link_into_anothers_account_does_not_outlive_the_role_of_who_made_it(daemon: Daemon, lose: Loss) -> None:
    """Defence: `members.change` and `members.remove` forget the links that an owner may have made."""
    who, other = identities.invite(daemon, "owner"), identities.invite(daemon, "member")
    link = expect_created(who.post("/v1/auth/links", {"accountId": other.account}))
    assert lose(who).status in (200, 204)
    assert nobody(daemon).post("/v1/auth/sign-in", {"token": fragment(link["url"])}).status == 401


def begin_login(place: Place, who: Caller, **wish: str) -> tuple[str, dict[str, str]]:
    """A login that has come as far as the way back, and its browser's headers."""
    given = {"source": "shop", **wish}
    started = who.post("/v1/connections/oauth/start", given)
    assert started.status == 200, started.body
    if "set-cookie" in started.headers:
        gone, headers = started.json["authorizationUrl"], with_cookie(started)
    else:
        answer = place.daemon.get(f"{urlsplit(started.json['authorizationUrl']).path}/go", role=None)
        gone, headers = answer.headers["location"], with_cookie(answer)
    return visit(gone).headers["Location"].removeprefix(place.daemon.url), headers


@pytest.mark.parametrize(
    ("was", "scope", "lose"),
    [
        ("admin", "workspace", removal),
        ("admin", "workspace", demotion("member")),
        ("member", "actor", removal),
        ("member", "actor", demotion("viewer")),
    ],
)
def test_267_a_login_does_not_end_for_someone_who_may_no_longer_connect(
    place: Place, was: str, scope: str, lose: Loss
) -> None:
    """Defence: `check_still_permitted` in `connections/oauth/new_connection.py`, in the transaction that connects."""
    assert place.browse(place.start().json["authorizationUrl"]).status == 200
    [before] = place.daemon.get("/v1/connections").json["items"]
    who = identities.invite(place.daemon, was)
    path, headers = begin_login(place, who, scope=scope)
    assert lose(who).status in (200, 204)
    refused = place.daemon.get(path, role=None, headers=headers)
    assert refused.status in (400, 403), refused.body
    assert place.daemon.get("/v1/connections").json["items"] == [before]

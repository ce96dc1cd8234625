"""The login of a person in a browser, against a strict authorization server."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest

from executor.errors import Forbidden, InvalidRequest, NotFound, OAuthFailed
from executor.model.actor import Actor
from executor.model.ids import now_ms
from executor.model.permissions import MEMBER
from executor.storage.credentials import connections
from executor.storage.executions import events
from tests.support.logins import BASE, World, browse


async def test_a_login_ends_in_a_ready_connection_whose_token_the_service_takes(world: World) -> None:
    done = await world.login()
    connection = await world.connection()
    assert (connection.status, connection.scheme, connection.name) == ("ready", "oauth2", "default")
    assert connection.origin == world.service.origin
    assert done.connection == connection
    assert world.told == [done]
    token = await world.logins.grants.access_token(connection)
    assert world.authority.ledger.token(token)
    credential = await world.connections.credential(connection)
    assert credential.headers == (("Authorization", f"Bearer {token}"),)


async def test_the_request_is_minimal_and_complete(world: World) -> None:
    begun = await world.begin(scopes=("read",))
    asked = dict(parse_qsl(urlsplit(begun.url).query))
    assert set(asked) == {
        "response_type", "client_id", "redirect_uri", "state", "code_challenge", "code_challenge_method", "scope",
    }  # fmt: skip
    assert asked["code_challenge_method"] == "S256"
    assert asked["redirect_uri"] == f"{BASE}/oauth/callback"
    assert asked["scope"] == "read offline_access"
    assert len(asked["state"]) >= 43
    assert 0 < begun.expires_at - now_ms() <= 600_000


async def test_a_resource_that_the_service_publishes_is_named_in_both_requests(world: World) -> None:
    world.service.publishes = True
    world.authority.ledger.resource = world.service.resource
    begun = await world.begin()
    assert dict(parse_qsl(urlsplit(begun.url).query))["resource"] == world.service.resource
    await world.come_back(begun, browse(begun.url))
    assert world.authority.ledger.forms[-1]["resource"] == world.service.resource


async def test_consent_given_again_replaces_the_grant_and_raises_the_revision(world: World) -> None:
    await world.login()
    before = await world.connection()
    old = await world.logins.grants.access_token(before)
    await world.login()
    after = await world.connection()
    assert (after.id, after.created_at) == (before.id, before.created_at)
    assert after.revision == before.revision + 1
    assert await world.logins.grants.access_token(after) != old


async def test_a_client_is_registered_once_and_reused(world: World) -> None:
    await world.login()
    await world.login(name="second")
    assert world.authority.ledger.asked["registration"] == 1


async def test_a_client_given_by_an_operator_is_used_with_its_secret(world: World) -> None:
    from tests.support.authorization import Client

    world.authority.metadata["registration_endpoint"] = None
    own = Client("app-1", "s3cret", (f"{BASE}/oauth/callback",), "client_secret_basic")
    world.authority.ledger.clients["app-1"] = own
    with pytest.raises(OAuthFailed, match="does not support automatic client registration") as refused:
        await world.login()
    assert f"{BASE}/oauth/callback" in refused.value.hint
    await world.login(client_id="app-1", client_secret="s3cret")
    assert world.authority.ledger.tokens[-1].client_id == "app-1"
    await world.login()
    assert world.authority.ledger.tokens[-1].client_id == "app-1"


async def test_a_registration_that_the_server_forgot_is_made_anew_by_the_next_login(world: World) -> None:
    begun = await world.begin()
    query = browse(begun.url)
    world.authority.ledger.clients.clear()
    with pytest.raises(OAuthFailed, match="invalid_client"):
        await world.come_back(begun, query)
    await world.login()
    assert world.authority.ledger.asked["registration"] == 2


async def test_the_servers_own_error_is_shown_word_for_word_with_a_next_step(world: World) -> None:
    world.authority.consents = False
    begun = await world.begin()
    with pytest.raises(OAuthFailed) as refused:
        await world.come_back(begun, browse(begun.url))
    assert refused.value.details["error"] == "access_denied"
    assert "access_denied" in refused.value.message
    assert "start the login again" in refused.value.hint


async def test_fewer_scopes_than_asked_are_kept_as_granted(world: World) -> None:
    world.authority.ledger.grants_scope = "read"
    done = await world.login(scopes=("read", "write"))
    assert done.granted == ("read",)


async def test_a_connection_of_ones_own_needs_no_admin_but_the_workspaces_does(world: World) -> None:
    member = Actor(world.operator.id, world.operator.workspace_id, "human", "Bo", MEMBER)
    await world.login()  # so that the private server is allowed for this source
    with pytest.raises(Forbidden):
        await world.logins.begin(member, world.wish(allow=""), in_browser=True)
    with pytest.raises(Forbidden):
        await world.logins.begin(member, world.wish(scope="actor"), in_browser=True)
    begun = await world.logins.begin(member, world.wish(allow="", scope="actor"), in_browser=True)
    done = await world.come_back(begun, browse(begun.url))
    assert done.connection.actor_id == member.id


async def test_another_workspaces_source_is_not_there(world: World) -> None:
    stranger = Actor("act_x", "wsp_other", "human", "Eve")
    with pytest.raises(NotFound):
        await world.logins.begin(stranger, world.wish(), in_browser=True)


async def test_a_name_that_is_none_is_refused(world: World) -> None:
    with pytest.raises(InvalidRequest):
        await world.begin(name="../x")


async def test_a_private_server_is_refused_until_an_operator_allows_it(world: World) -> None:
    with pytest.raises(OAuthFailed, match="private network") as refused:
        await world.begin(allow="")
    assert "--allow-server" in refused.value.hint
    assert not world.authority.ledger.asked


async def test_a_link_for_another_browser_is_taken_up_once(world: World) -> None:
    begun = await world.logins.begin(world.operator, world.wish(), in_browser=False)
    assert not begun.browser
    asked = await world.logins.look(begun.ticket)
    assert (asked.source, asked.by) == ("shop", world.operator.name)
    assert asked.page == asked.token == world.authority.origin
    taken = await world.logins.code.take_up(begun.ticket)
    with pytest.raises(OAuthFailed, match="already used"):
        await world.logins.code.take_up(begun.ticket)
    done = await world.come_back(taken, browse(taken.url))
    assert done.connection.status == "ready"


async def test_client_credentials_connect_without_a_person(world: World) -> None:
    from tests.support.authorization import Client

    with pytest.raises(OAuthFailed, match="a client with a secret"):
        await world.logins.by_credentials(world.operator, world.wish())
    world.authority.ledger.clients["app-2"] = Client("app-2", "s3cret", (), "client_secret_basic")
    wish = world.wish(client_id="app-2", client_secret="s3cret", scopes=("read",))
    done = await world.logins.by_credentials(world.operator, wish)
    assert done.granted == ("read",)
    first = await world.logins.grants.access_token(done.connection)
    world.authority.ledger.tokens.clear()
    second = await world.logins.grants.access_token(done.connection, rejected=first)
    assert second != first
    assert world.authority.ledger.token(second)


async def test_a_login_and_its_connection_are_in_the_audit(world: World) -> None:
    await world.login()
    found = await world.database.read(lambda c: events.after(c, world.operator.workspace_id))
    by_type = {one.type: one for one in found}
    assert by_type["login.started"].actor_id == world.operator.id
    assert by_type["connection.added"].actor_id == world.operator.id
    assert by_type["connection.added"].data["issuer"] == world.authority.issuer


async def test_tokens_verifiers_and_client_secrets_are_nowhere_in_the_clear(world: World) -> None:
    from tests.support.authorization import Client

    world.authority.ledger.clients["app"] = Client(
        "app", "client-s3cret-value", (f"{BASE}/oauth/callback",), "client_secret_post"
    )
    begun = await world.begin(client_id="app", client_secret="client-s3cret-value", client_method="client_secret_post")
    query = browse(begun.url)
    await world.come_back(begun, query)
    form = world.authority.ledger.forms[-1]
    token = world.authority.ledger.tokens[-1]
    files = Path(str(world.database.engine.url.database)).parent.glob("executor.db*")
    everything = b"".join(file.read_bytes() for file in files)
    secret = (token.access, token.refresh, form["code_verifier"], form["code"], query["state"], begun.browser,
              "client-s3cret-value")  # fmt: skip
    assert [value for value in secret if value.encode() in everything] == []


async def test_a_new_master_key_opens_grants_and_clients_as_before(world: World) -> None:
    await world.login()
    connection = await world.connection()
    before = await world.logins.grants.access_token(connection)
    [old] = await world.database.read(connections.every_grant)
    await world.secrets.rotate_key()
    [new] = await world.database.read(connections.every_grant)
    assert old.key_id != new.key_id
    assert await (await world.another()).grants.access_token(connection) == before

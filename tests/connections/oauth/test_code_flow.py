"""The login of a person in a browser, against a strict authorization server."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest

from executor.errors import Forbidden, InvalidRequest, NotFound, OAuthFailed
from executor.model.identity.actor import Actor
from executor.model.identity.permissions import MEMBER
from executor.model.ids import now_ms
from executor.storage.credentials import connections
from executor.storage.executions import events
from tests.support.login_harness import BASE, LoginHarness, browse


async def test_a_login_ends_in_a_ready_connection_whose_token_the_service_takes(harness: LoginHarness) -> None:
    done = await harness.login()
    connection = await harness.connection()
    assert (connection.status, connection.scheme, connection.name) == ("ready", "oauth2", "default")
    assert connection.origin == harness.service.origin
    assert done.connection == connection
    assert harness.told == [done]
    token = await harness.logins.grants.access_token(connection)
    assert harness.authority.ledger.token(token)
    credential = await harness.connections.credential(connection)
    assert credential.headers == (("Authorization", f"Bearer {token}"),)


async def test_the_request_is_minimal_and_complete(harness: LoginHarness) -> None:
    begun = await harness.begin(scopes=("read",))
    asked = dict(parse_qsl(urlsplit(begun.url).query))
    assert set(asked) == {
        "response_type", "client_id", "redirect_uri", "state", "code_challenge", "code_challenge_method", "scope",
    }  # fmt: skip
    assert asked["code_challenge_method"] == "S256"
    assert asked["redirect_uri"] == f"{BASE}/oauth/callback"
    assert asked["scope"] == "read offline_access"
    assert len(asked["state"]) >= 43
    assert 0 < begun.expires_at - now_ms() <= 600_000


async def test_a_resource_that_the_service_publishes_is_named_in_both_requests(harness: LoginHarness) -> None:
    harness.service.publishes = True
    harness.authority.ledger.resource = harness.service.resource
    begun = await harness.begin()
    assert dict(parse_qsl(urlsplit(begun.url).query))["resource"] == harness.service.resource
    await harness.come_back(begun, browse(begun.url))
    assert harness.authority.ledger.forms[-1]["resource"] == harness.service.resource


async def test_consent_given_again_replaces_the_grant_and_raises_the_revision(harness: LoginHarness) -> None:
    await harness.login()
    before = await harness.connection()
    old = await harness.logins.grants.access_token(before)
    await harness.login()
    after = await harness.connection()
    assert (after.id, after.created_at) == (before.id, before.created_at)
    assert after.revision == before.revision + 1
    assert await harness.logins.grants.access_token(after) != old


async def test_a_client_is_registered_once_and_reused(harness: LoginHarness) -> None:
    await harness.login()
    await harness.login(name="second")
    assert harness.authority.ledger.asked["registration"] == 1


async def test_a_client_given_by_an_operator_is_used_with_its_secret(harness: LoginHarness) -> None:
    from tests.support.authorization import Client

    harness.authority.metadata["registration_endpoint"] = None
    own = Client("app-1", "s3cret", (f"{BASE}/oauth/callback",), "client_secret_basic")
    harness.authority.ledger.clients["app-1"] = own
    with pytest.raises(OAuthFailed, match="does not support automatic client registration") as refused:
        await harness.login()
    assert f"{BASE}/oauth/callback" in refused.value.hint
    await harness.login(client_id="app-1", client_secret="s3cret")
    assert harness.authority.ledger.tokens[-1].client_id == "app-1"
    await harness.login()
    assert harness.authority.ledger.tokens[-1].client_id == "app-1"


async def test_a_registration_that_the_server_forgot_is_made_again_by_the_next_login(harness: LoginHarness) -> None:
    begun = await harness.begin()
    query = browse(begun.url)
    harness.authority.ledger.clients.clear()
    with pytest.raises(OAuthFailed, match="invalid_client"):
        await harness.come_back(begun, query)
    await harness.login()
    assert harness.authority.ledger.asked["registration"] == 2


async def test_the_servers_own_error_is_shown_word_for_word_with_a_next_step(harness: LoginHarness) -> None:
    harness.authority.consents = False
    begun = await harness.begin()
    with pytest.raises(OAuthFailed) as refused:
        await harness.come_back(begun, browse(begun.url))
    assert refused.value.details["error"] == "access_denied"
    assert "access_denied" in refused.value.message
    assert "start the login again" in refused.value.hint


async def test_fewer_scopes_than_asked_are_kept_as_granted(harness: LoginHarness) -> None:
    harness.authority.ledger.grants_scope = "read"
    done = await harness.login(scopes=("read", "write"))
    assert done.granted == ("read",)


async def test_a_connection_of_ones_own_needs_no_admin_but_the_workspaces_does(harness: LoginHarness) -> None:
    member = Actor(harness.operator.id, harness.operator.workspace_id, "human", "Bo", MEMBER)
    await harness.login()  # so that the private server is allowed for this source
    with pytest.raises(Forbidden):
        await harness.logins.begin(member, harness.wish(allow=""), in_browser=True)
    with pytest.raises(Forbidden):
        await harness.logins.begin(member, harness.wish(scope="actor"), in_browser=True)
    begun = await harness.logins.begin(member, harness.wish(allow="", scope="actor"), in_browser=True)
    done = await harness.come_back(begun, browse(begun.url))
    assert done.connection.actor_id == member.id


async def test_another_workspaces_source_is_not_there(harness: LoginHarness) -> None:
    stranger = Actor("act_x", "wsp_other", "human", "Eve")
    with pytest.raises(NotFound):
        await harness.logins.begin(stranger, harness.wish(), in_browser=True)


async def test_a_name_that_is_none_is_refused(harness: LoginHarness) -> None:
    with pytest.raises(InvalidRequest):
        await harness.begin(name="../x")


async def test_a_private_server_is_refused_until_an_operator_allows_it(harness: LoginHarness) -> None:
    with pytest.raises(OAuthFailed, match="private network") as refused:
        await harness.begin(allow="")
    assert "allowServer" in refused.value.hint
    assert not harness.authority.ledger.asked


async def test_a_link_for_another_browser_is_taken_up_once(harness: LoginHarness) -> None:
    begun = await harness.logins.begin(harness.operator, harness.wish(), in_browser=False)
    assert not begun.browser
    asked = await harness.logins.look(begun.ticket)
    assert (asked.source, asked.by) == ("shop", harness.operator.name)
    assert asked.page == asked.token == harness.authority.origin
    taken = await harness.logins.code.take_up(begun.ticket)
    with pytest.raises(OAuthFailed, match="already used"):
        await harness.logins.code.take_up(begun.ticket)
    done = await harness.come_back(taken, browse(taken.url))
    assert done.connection.status == "ready"


async def test_client_credentials_connect_without_a_person(harness: LoginHarness) -> None:
    from tests.support.authorization import Client

    with pytest.raises(OAuthFailed, match="a client with a secret or a private key"):
        await harness.logins.by_credentials(harness.operator, harness.wish())
    harness.authority.ledger.clients["app-2"] = Client("app-2", "s3cret", (), "client_secret_basic")
    wish = harness.wish(client_id="app-2", client_secret="s3cret", scopes=("read",))
    done = await harness.logins.by_credentials(harness.operator, wish)
    assert done.granted == ("read",)
    first = await harness.logins.grants.access_token(done.connection)
    harness.authority.ledger.tokens.clear()
    second = await harness.logins.grants.access_token(done.connection, rejected=first)
    assert second != first
    assert harness.authority.ledger.token(second)


async def test_a_login_and_its_connection_are_in_the_audit(harness: LoginHarness) -> None:
    await harness.login()
    found = await harness.database.read(lambda c: events.after(c, harness.operator.workspace_id))
    by_type = {one.type: one for one in found}
    assert by_type["login.started"].actor_id == harness.operator.id
    assert by_type["connection.added"].actor_id == harness.operator.id
    assert by_type["connection.added"].data["issuer"] == harness.authority.issuer


async def test_tokens_verifiers_and_client_secrets_are_nowhere_in_the_clear(harness: LoginHarness) -> None:
    from tests.support.authorization import Client

    harness.authority.ledger.clients["app"] = Client(
        "app", "client-s3cret-value", (f"{BASE}/oauth/callback",), "client_secret_post"
    )
    begun = await harness.begin(
        client_id="app", client_secret="client-s3cret-value", client_method="client_secret_post"
    )
    query = browse(begun.url)
    await harness.come_back(begun, query)
    form = harness.authority.ledger.forms[-1]
    token = harness.authority.ledger.tokens[-1]
    files = Path(str(harness.database.engine.url.database)).parent.glob("executor.db*")
    everything = b"".join(file.read_bytes() for file in files)
    secret = (token.access, token.refresh, form["code_verifier"], form["code"], query["state"], begun.browser,
              "client-s3cret-value")  # fmt: skip
    assert [value for value in secret if value.encode() in everything] == []


async def test_a_new_master_key_opens_grants_and_clients_as_before(harness: LoginHarness) -> None:
    await harness.login()
    connection = await harness.connection()
    before = await harness.logins.grants.access_token(connection)
    [old] = await harness.database.read(connections.every_grant)
    await harness.secrets.rotate_key()
    [new] = await harness.database.read(connections.every_grant)
    assert old.key_id != new.key_id
    assert await (await harness.another()).grants.access_token(connection) == before

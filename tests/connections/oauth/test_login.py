"""The whole way: a call pauses for a login, a person logs in with a browser, and the call goes on."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.support.conditions import wait_for
from tests.support.login_harness import visit
from tests.support.loopback import Authority, Service, listening
from tests.surfaces.api.daemon_server import Answer, Daemon, running_daemon

CODE = "return await tools.shop.me.getMe({})"


@dataclass
class Place:
    daemon: Daemon
    authority: Authority
    service: Service

    def start(self, **body: Any) -> Answer:
        given = {"source": "shop", "allowServer": self.authority.origin, **body}
        return self.daemon.post("/v1/connections/oauth/start", given)

    def browse(self, link: str) -> Answer:
        """From the printed link to the last page, in one browser."""
        path = urlsplit(link).path
        page = self.daemon.get(path, role=None)
        assert page.status == 200
        assert "Continue" in page.body.decode()
        gone = self.daemon.get(f"{path}/go", role=None)
        assert gone.status == 303
        back = visit(gone.headers["location"]).headers["Location"]
        return self.daemon.get(back.removeprefix(self.daemon.url), role=None, headers=with_cookie(gone))


def with_cookie(answer: Answer) -> dict[str, str]:
    set_cookie = answer.headers["set-cookie"]
    assert re.search(r"httponly", set_cookie, re.IGNORECASE)
    assert "SameSite=lax" in set_cookie
    assert "Path=/oauth" in set_cookie
    return {"Cookie": set_cookie.partition(";")[0], "Sec-Fetch-Site": "cross-site"}


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running_daemon(tmp_path_factory.mktemp("daemon")) as daemon:
        yield daemon


@contextmanager
def running_place(daemon: Daemon) -> Iterator[Place]:
    with (
        listening(Authority) as authority,
        listening(lambda origin: Service(origin, authority)) as service,
    ):
        added = daemon.post("/v1/sources", {"location": f"{service.origin}/openapi.json", "namespace": "shop"})
        assert added.status == 201, added.body
        yield Place(daemon, authority, service)
        daemon.request("DELETE", "/v1/sources/shop")


@pytest.fixture
def place(daemon: Daemon) -> Iterator[Place]:
    with running_place(daemon) as place:
        yield place


def test_a_call_waits_for_a_login_and_goes_on_after_it(place: Place) -> None:
    daemon = place.daemon
    view = daemon.execute(CODE)
    assert view["status"] == "paused"
    [asked] = view["interactions"]
    assert asked["kind"] == "oauth"
    started = place.start(interactionId=asked["id"])
    assert started.status == 200, started.body
    assert "set-cookie" not in started.headers
    page = place.browse(started.json["authorizationUrl"])
    assert (page.status, "Connected" in page.body.decode()) == (200, True), page.body
    assert "default-src 'none'" in page.headers["content-security-policy"]
    done = wait_for(lambda: find_ended(daemon, view["executionId"]))
    assert (done["status"], done["result"]) == ("completed", {"name": "Ann", "scope": "read offline_access"}), done


def test_no_token_comes_out_anywhere(place: Place) -> None:
    daemon = place.daemon
    place.browse(place.start().json["authorizationUrl"])
    assert daemon.execute(CODE)["status"] == "completed"
    [token] = place.authority.ledger.tokens
    told = [daemon.get(path).body.decode() for path in ("/v1/connections", "/v1/sources", "/v1/events", "/v1/secrets")]
    assert not [text for text in told if token.access in text or token.refresh in text]
    echoed = daemon.execute(f"return await tools.shop.me.getMe({{}}) && {json.dumps('fine')}")
    assert echoed["result"] == "fine"


def test_a_token_that_the_service_stopped_taking_is_renewed_within_the_call(place: Place) -> None:
    daemon, ledger = place.daemon, place.authority.ledger
    place.browse(place.start().json["authorizationUrl"])
    assert daemon.execute(CODE)["status"] == "completed"
    ledger.tokens[-1].expires_at = 0
    assert daemon.execute(CODE)["status"] == "completed"
    assert ledger.asked["refresh_token"] == 1


def test_a_revoked_grant_becomes_a_new_interaction_and_not_an_error(place: Place) -> None:
    daemon, ledger = place.daemon, place.authority.ledger
    place.browse(place.start().json["authorizationUrl"])
    assert daemon.execute(CODE)["status"] == "completed"
    ledger.revoked.add(ledger.tokens[-1].family)
    view = daemon.execute(CODE)
    assert view["status"] == "paused", view
    [asked] = view["interactions"]
    assert asked["kind"] == "oauth"
    assert place.browse(place.start(interactionId=asked["id"]).json["authorizationUrl"]).status == 200
    assert wait_for(lambda: find_ended(daemon, view["executionId"]))["status"] == "completed"


def test_a_call_that_needs_another_scope_asks_for_both(place: Place) -> None:
    daemon = place.daemon
    daemon.post("/v1/policies", {"pattern": "shop.*", "action": "allow"})
    place.browse(place.start(scopes=["read"]).json["authorizationUrl"])
    assert daemon.execute(CODE)["result"]["scope"] == "read offline_access"
    view = daemon.execute("return await tools.shop.me.setMe({})")
    [asked] = view["interactions"]
    assert asked["kind"] == "oauth"
    assert "lacks consent for write" in asked["reason"]
    place.browse(place.start(interactionId=asked["id"], scopes=["write"]).json["authorizationUrl"])
    done = wait_for(lambda: find_ended(daemon, view["executionId"]))
    assert set(done["result"]["scope"].split()) == {"read", "write", "offline_access"}, done
    assert daemon.execute(CODE)["status"] == "completed"


def test_a_server_that_refuses_is_quoted_on_the_page_and_harmless_there(place: Place) -> None:
    started = place.start().json["authorizationUrl"]
    gone = place.daemon.get(f"{urlsplit(started).path}/go", role=None)
    state = re.search(r"state=([^&]+)", gone.headers["location"])
    assert state is not None
    query = f"state={state[1]}&iss={place.authority.issuer}&error=access_denied"
    query += "&error_description=%3Cscript%3Ealert(1)%3C%2Fscript%3E"
    page = place.daemon.get(f"/oauth/callback?{query}", role=None, headers=with_cookie(gone))
    text = page.body.decode()
    assert page.status == 400
    assert "access_denied: &lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "<script" not in text
    assert "start the login again" in text


def test_a_browser_that_has_signed_in_goes_straight_to_the_server_and_back(place: Place) -> None:
    daemon = place.daemon
    link = daemon.post("/v1/auth/links", {}).json["url"]
    signed_in = daemon.post(
        "/v1/auth/sign-in", {"token": link.partition("#")[2]}, role=None, headers={"Origin": daemon.url}
    )
    assert signed_in.status == 200, signed_in.body
    session = {"Cookie": signed_in.headers["set-cookie"].partition(";")[0], "Origin": daemon.url}
    body = {"source": "shop", "allowServer": place.authority.origin}
    started = daemon.post("/v1/connections/oauth/start", body, role=None, headers=session)
    assert started.status == 200, started.body
    assert started.json["authorizationUrl"].startswith(f"{place.authority.issuer}/authorize?")
    back = visit(started.json["authorizationUrl"]).headers["Location"].removeprefix(daemon.url)
    assert daemon.get(back, role=None, headers=with_cookie(started)).status == 200
    assert daemon.get(back, role=None, headers=with_cookie(started)).status == 400


def test_an_agent_can_neither_start_a_login_nor_ask_for_one(place: Place) -> None:
    for path in ("start", "device", "credentials", "device/ask"):
        answer = place.daemon.post(f"/v1/connections/oauth/{path}", {"source": "shop", "flow": "x"}, role="agent")
        assert answer.status == 403, (path, answer.body)


def test_a_login_by_device_connects_when_the_person_has_agreed(place: Place) -> None:
    given = {"source": "shop", "allowServer": place.authority.origin}
    shown = place.daemon.post("/v1/connections/oauth/device", given).json
    assert shown["verificationUrl"] == f"{place.authority.issuer}/device"
    ask = {"flow": shown["flow"]}
    pending = place.daemon.post("/v1/connections/oauth/device/ask", ask).json
    assert (pending["status"], pending["connection"]) == ("pending", None)
    assert len(shown["userCode"]) >= 8


def test_the_client_document_is_served_only_behind_https(place: Place, tmp_path: Path) -> None:
    assert place.daemon.get("/oauth/client.json", role=None).status == 404


def find_ended(daemon: Daemon, execution_id: str) -> Any:
    view = daemon.get(f"/v1/executions/{execution_id}").json
    return view if view["status"] in ("completed", "failed") else None

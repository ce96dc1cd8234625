"""What an operator opens by adding a source, and what stays closed."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from executor.errors import EgressRefused, SourceUnreachable, ToolError
from executor.model.source import Loaded, Source
from executor.network.client import Egress, Outgoing
from executor.sources.graphql.kind import GraphQL
from executor.sources.mcp.kind import Mcp
from executor.sources.openapi.kind import OpenApi
from executor.sources.source_request import Consent, Previous, SourceRequest
from tests.sources.openapi.documents import document
from tests.sources.upstream import Upstream, as_json

Names = dict[str, list[str]]
DOCUMENT = document({"/thing": {"get": {}}})


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Callable[[], Names]:
    """A name service whose answers a test changes as it goes."""

    def install() -> Names:
        known: Names = {}

        async def getaddrinfo(host: str, port: int, **_: Any) -> list[Any]:
            if host not in known:
                raise socket.gaierror(socket.EAI_NONAME, "unknown")
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in known[host]]

        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", getaddrinfo)
        return known

    return install


@pytest.fixture
def kind(egress: Egress) -> OpenApi:
    return OpenApi(egress, load_seconds=60.0, call_seconds=60.0)


def at(upstream: Upstream, host: str) -> str:
    return upstream.url.replace("127.0.0.1", host)


def source_of(loaded: Loaded) -> Source:
    return Source("src", "ws", "openapi", loaded.namespace, loaded.name, loaded.config)


async def call(kind: OpenApi, loaded: Loaded) -> Any:
    return json.loads(await kind.invoke(source_of(loaded), loaded.tools[0], {}, ""))


def upload(location: str, server: str = "", **more: Any) -> SourceRequest:
    servers = {"servers": [{"url": server}]} if server else {}
    text = json.dumps({**DOCUMENT, **servers}).encode()
    return SourceRequest(**{"location": location, "document": text, "consented": Consent(private_network=True), **more})


async def test_a_name_that_was_public_can_not_be_turned_to_this_machine_later(
    kind: OpenApi, upstream: Upstream, names: Callable[[], Names]
) -> None:
    known = names()
    known["evil.test"] = ["93.184.216.34"]
    loaded = await kind.load(upload(at(upstream, "evil.test") + "/o.json"))
    assert loaded.config["origins"] == []
    known["evil.test"] = ["127.0.0.1"]
    with pytest.raises(ToolError) as caught:
        await call(kind, loaded)
    assert caught.value.tool_code == "egress_refused"
    assert upstream.connections == 0


async def test_a_private_name_is_reached_at_the_address_it_had(
    kind: OpenApi, upstream: Upstream, names: Callable[[], Names]
) -> None:
    known = names()
    known["nas.test"] = ["127.0.0.1"]
    upstream.routes |= {"/o.json": as_json(DOCUMENT), "/thing": as_json({"ok": True})}
    loaded = await kind.load(
        SourceRequest(location=at(upstream, "nas.test") + "/o.json", consented=Consent(private_network=True))
    )
    assert await call(kind, loaded) == {"ok": True}
    again = await kind.load(replace(kind.reload_request(source_of(loaded)), previous=Previous()))
    assert again.config["origins"] == loaded.config["origins"]


@pytest.mark.parametrize("later", [["127.0.0.1"], ["169.254.169.254"], ["93.184.216.34"]])
async def test_a_private_name_that_moves_is_no_longer_followed(
    kind: OpenApi, upstream: Upstream, names: Callable[[], Names], later: list[str]
) -> None:
    known = names()
    known["nas.test"] = ["10.0.0.5"]
    loaded = await kind.load(upload(at(upstream, "nas.test") + "/o.json"))
    known["nas.test"] = later
    with pytest.raises(ToolError) as caught:
        await call(kind, loaded)
    assert caught.value.tool_code == "egress_refused"
    assert upstream.connections == 0


async def test_of_a_names_new_addresses_only_the_granted_ones_are_used(
    kind: OpenApi, names: Callable[[], Names], monkeypatch: pytest.MonkeyPatch
) -> None:
    known = names()
    known["nas.test"] = ["10.0.0.5", "10.0.0.6"]
    loaded = await kind.load(upload("http://nas.test/o.json"))
    known["nas.test"] = ["127.0.0.1", "10.0.0.6"]
    used: list[str] = []

    async def start_connection(addr_infos: Any, **_: Any) -> Any:
        used.extend(info[4][0] for info in addr_infos)
        raise OSError("no network in tests")

    monkeypatch.setattr("aiohttp.connector.aiohappyeyeballs.start_connection", start_connection)
    with pytest.raises(ToolError):
        await call(kind, loaded)
    assert set(used) == {"10.0.0.6"}


@pytest.mark.parametrize(
    "addresses",
    [
        ["169.254.169.254"],
        ["10.0.0.1", "169.254.1.1"],
        ["::ffff:169.254.169.254"],
        ["fd00:ec2::254"],
        ["100.100.100.200"],
        ["64:ff9b::169.254.169.254"],
        ["93.184.216.34", "127.0.0.1"],
    ],
)
async def test_no_name_opens_metadata_services_or_a_mix_of_networks(
    kind: OpenApi, names: Callable[[], Names], addresses: list[str]
) -> None:
    names()["odd.test"] = addresses
    loaded = await kind.load(upload("http://odd.test/o.json"))
    assert loaded.config["origins"] == []
    with pytest.raises(ToolError) as caught:
        await call(kind, loaded)
    assert caught.value.tool_code == "egress_refused"


async def test_the_literal_address_an_operator_wrote_is_granted(kind: OpenApi) -> None:
    agreed = Consent(private_network=True, by_operator=True)
    loaded = await kind.load(upload("/home/me/o.json", base_url="http://169.254.169.254", consented=agreed))
    assert loaded.config["origins"] == ["http://169.254.169.254:80"]


async def test_localhost_is_reached_and_only_at_loopback(
    kind: OpenApi, egress: Egress, upstream: Upstream, monkeypatch: pytest.MonkeyPatch, names: Callable[[], Names]
) -> None:
    upstream.routes |= {"/o.json": as_json(DOCUMENT), "/thing": as_json(1)}
    known = names()
    known["localhost"] = ["127.0.0.1"]
    loaded = await kind.load(
        SourceRequest(location=at(upstream, "localhost") + "/o.json", consented=Consent(private_network=True))
    )
    assert await call(kind, loaded) == 1
    await egress.close()
    known["localhost"] = ["10.0.0.1"]
    with pytest.raises(ToolError) as caught:
        await call(kind, loaded)
    assert caught.value.tool_code == "egress_refused"


async def test_a_grant_without_addresses_opens_nothing_for_a_name(
    egress: Egress, upstream: Upstream, names: Callable[[], Names]
) -> None:
    names()["nas.test"] = ["127.0.0.1"]
    url = at(upstream, "nas.test")
    with pytest.raises(EgressRefused):
        await egress.send(Outgoing("GET", url + "/"), origins=frozenset({url}))
    assert upstream.connections == 0


async def test_an_unknown_name_is_said_to_be_unknown(kind: OpenApi, names: Callable[[], Names]) -> None:
    names()
    with pytest.raises(SourceUnreachable, match="could not be found"):
        await kind.load(SourceRequest(location="http://nobody.test/o.json", consented=Consent(private_network=True)))


async def test_what_code_asked_for_opens_only_what_was_shown(kind: OpenApi, upstream: Upstream) -> None:
    server = {"servers": [{"url": "http://10.1.2.3:8080/x"}]}
    upstream.routes["/o.json"] = as_json({**DOCUMENT, **server})
    location = upstream.url + "/o.json"
    with pytest.raises(EgressRefused, match=r"10\.1\.2\.3") as caught:
        await kind.load(SourceRequest(location=location, consented=Consent(private_network=True, by_code=True)))
    assert "baseUrl" in caught.value.hint
    shown = SourceRequest(
        location=location, base_url="http://10.1.2.3:8080/x", consented=Consent(private_network=True, by_code=True)
    )
    assert (await kind.load(shown)).config["origins"] == [upstream.url, "http://10.1.2.3:8080"]


async def test_for_code_another_port_of_the_same_host_must_be_shown_too(kind: OpenApi, upstream: Upstream) -> None:
    upstream.routes["/o.json"] = as_json({**DOCUMENT, "servers": [{"url": "http://127.0.0.1:9"}]})
    location = upstream.url + "/o.json"
    with pytest.raises(EgressRefused, match=r"127\.0\.0\.1:9"):
        await kind.load(SourceRequest(location=location, consented=Consent(private_network=True, by_code=True)))


@pytest.mark.parametrize(
    ("server", "granted"),
    [("http://127.0.0.1:9", True), ("http://10.1.2.3:8080", False), ("http://localhost:9", False)],
)
async def test_an_operators_private_document_opens_its_own_host_and_no_other(
    kind: OpenApi, upstream: Upstream, server: str, granted: bool
) -> None:
    upstream.routes["/o.json"] = as_json({**DOCUMENT, "servers": [{"url": server}]})
    request = SourceRequest(location=upstream.url + "/o.json", consented=Consent(private_network=True))
    if granted:
        assert (await kind.load(request)).config["origins"] == [upstream.url, server]
    else:
        with pytest.raises(EgressRefused, match=server.removeprefix("http://")) as caught:
            await kind.load(request)
        assert "baseUrl" in caught.value.hint


async def test_a_name_in_a_document_that_leads_to_a_private_address_is_refused(
    kind: OpenApi, names: Callable[[], Names]
) -> None:
    names().update({"docs.test": ["93.184.216.34"], "inner.test": ["10.0.0.9"]})
    with pytest.raises(EgressRefused, match=r"inner\.test"):
        await kind.load(upload("https://docs.test/o.json", server="http://inner.test"))


async def test_a_closed_installation_needs_no_grants(upstream: Upstream) -> None:
    egress = Egress(allow_private=True)
    kind = OpenApi(egress)
    upstream.routes |= {"/o.json": as_json({**DOCUMENT, "servers": [{"url": at(upstream, "localhost")}]})}
    upstream.routes["/thing"] = as_json(1)
    try:
        loaded = await kind.load(
            SourceRequest(location=upstream.url + "/o.json", consented=Consent(private_network=True))
        )
        assert await call(kind, loaded) == 1
    finally:
        await egress.close()


async def test_a_tool_goes_where_it_was_loaded_for_even_if_its_source_has_moved(
    kind: OpenApi, upstream: Upstream, elsewhere: Upstream
) -> None:
    upstream.routes |= {"/o.json": as_json(DOCUMENT), "/thing": as_json("here")}
    elsewhere.routes |= {"/o.json": as_json(DOCUMENT), "/thing": as_json("there")}
    old = await kind.load(SourceRequest(location=upstream.url + "/o.json", consented=Consent(private_network=True)))
    new = await kind.load(SourceRequest(location=elsewhere.url + "/o.json", consented=Consent(private_network=True)))
    assert old.tools[0].schema_digest != new.tools[0].schema_digest
    with pytest.raises(ToolError) as caught:
        await kind.invoke(source_of(new), old.tools[0], {}, "")
    assert caught.value.tool_code == "egress_refused"
    assert [got.target for got in elsewhere.requests] == ["/o.json"]


HELLO = {"data": {"__schema": {
    "queryType": {"name": "Query"}, "mutationType": None, "subscriptionType": None, "directives": [],
    "types": [
        {"kind": "OBJECT", "name": "Query", "interfaces": [], "fields": [
            {"name": "hello", "args": [], "isDeprecated": False, "type": {"kind": "SCALAR", "name": "String"}},
        ]},
        {"kind": "SCALAR", "name": "String"},
    ],
}}}  # fmt: skip


@pytest.mark.parametrize("later", ["127.0.0.2", "169.254.169.254", "93.184.216.34"])
async def test_graphql_keeps_to_the_addresses_that_were_granted(
    egress: Egress, upstream: Upstream, names: Callable[[], Names], later: str
) -> None:
    known = names()
    known["nas.test"] = ["127.0.0.1"]
    upstream.routes["/graphql"] = as_json(HELLO)
    kind = GraphQL(egress)
    loaded = await kind.load(
        SourceRequest(location=at(upstream, "nas.test") + "/graphql", consented=Consent(private_network=True))
    )
    assert loaded.config["origins"] == [f"{at(upstream, 'nas.test')} 127.0.0.1"]
    await egress.close()
    known["nas.test"] = [later]
    with pytest.raises(ToolError) as caught:
        await kind.invoke(source_of(loaded), loaded.tools[0], {}, "")
    assert caught.value.tool_code == "egress_refused"


async def test_graphql_that_no_one_opened_stays_closed(
    egress: Egress, upstream: Upstream, names: Callable[[], Names]
) -> None:
    names()["nas.test"] = ["127.0.0.1"]
    with pytest.raises(EgressRefused):
        await GraphQL(egress).load(SourceRequest(location=at(upstream, "nas.test") + "/graphql"))
    assert upstream.connections == 0


@pytest.mark.parametrize("later", ["127.0.0.2", "169.254.169.254", "93.184.216.34"])
async def test_mcp_keeps_to_the_addresses_that_were_granted(
    egress: Egress, upstream: Upstream, names: Callable[[], Names], later: str
) -> None:
    known = names()
    known["nas.test"] = ["127.0.0.1"]
    url = at(upstream, "nas.test") + "/mcp"
    request = SourceRequest(location=url, options={"transport": "http"}, consented=Consent(private_network=True))
    endpoint = await Mcp(egress)._endpoint(request)
    assert endpoint.origins == (f"{at(upstream, 'nas.test')} 127.0.0.1",)
    known["nas.test"] = [later]
    again = SourceRequest(
        location=url, previous=Previous(), consented=Consent(granted=endpoint.origins, private_network=True)
    )
    with pytest.raises(EgressRefused, match="did not when this source was added"):
        await Mcp(egress).load(again)
    assert upstream.connections == 0


async def test_mcp_that_no_one_opened_stays_closed(
    egress: Egress, upstream: Upstream, names: Callable[[], Names]
) -> None:
    names()["nas.test"] = ["127.0.0.1"]
    with pytest.raises(EgressRefused):
        await Mcp(egress).load(SourceRequest(location=at(upstream, "nas.test") + "/mcp"))
    assert upstream.connections == 0

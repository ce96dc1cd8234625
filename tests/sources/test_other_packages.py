"""A kind from another package: written for the names of today, and for those of before requests had parts."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from executor.model.credentials import Credential
from executor.model.source import Source
from executor.model.tool import Tool
from executor.schemas.digests import with_digests
from executor.sources import Consent, Loaded, Previous, Probe, ReadContext, SourceRequest, Unchanged
from tests.support.catalogs import open_catalog

LOCATION = "pigeon:home"
KEY = Credential("main", "https://a", "d")


class Pigeon:
    """Keeps whatever JSON it likes, and notes what it was asked."""

    name = "pigeon"
    version = "1"

    def __init__(self) -> None:
        self.readings: list[dict[str, Any]] = []

    async def probe(self, request: SourceRequest) -> Probe | None:
        return Probe(self.name, request.location) if request.location.startswith("pigeon:") else None

    async def load(self, request: SourceRequest) -> Loaded:
        reading = self.note_request(request)
        self.readings.append(reading)
        if reading["validators"].get("version") == self.version:
            raise Unchanged
        tool = Tool(
            path=f"birds.{reading['names'].get('fly', 'flight')}",
            source_id="",
            description="Sends a pigeon.",
            effect="read",
            input_schema={"type": "object"},
            binding={"operation": "fly", "wings": [2, {"left": True}]},
        )
        config = {"location": request.location, "validators": {"version": self.version}, "headers": "none"}
        return Loaded("Birds", "birds", with_digests([tool], {}), {}, (), self.version, config)

    def note_request(self, request: SourceRequest) -> dict[str, Any]:
        request.context.progress("flying")
        return {
            "again": request.previous is not None,
            "validators": request.validators,
            "names": request.names,
            "origins": request.consented.origins,
            "private": request.consented.private_network,
        }

    def reload_request(self, source: Source) -> SourceRequest:
        previous = Previous(source.id, validators=source.config["validators"])
        agreed = Consent(private_network=True, granted=("http://loft.test:80",))
        return SourceRequest(self.name, source.config["location"], previous=previous, consented=agreed)

    def strict_schema(self, tool: Tool) -> Any:
        return tool.input_schema

    def arrange(self, tool: Tool, arguments: dict[str, Any]) -> dict[str, Any]:
        return arguments

    async def invoke(
        self, source: Source, tool: Tool, arguments: dict[str, Any], key: str, *, credential: Any = None
    ) -> str:
        assert source.config["headers"] == "none" and source.config["location"] == LOCATION
        return str(tool.binding["wings"][0])

    async def close(self) -> None: ...


class OldPigeon(Pigeon):
    def note_request(self, request: Any) -> dict[str, Any]:
        request.progress("flying")
        assert request.redact(b"x") == b"x" and request.credential is None and request.consent is False
        names = {"again": request.again, "validators": request.validators, "names": request.names}
        return {**names, "origins": request.origins, "private": request.allow_private}

    def reload_request(self, source: Source) -> SourceRequest:
        make: Any = SourceRequest
        made = make(kind=self.name, location=source.config["location"], allow_private=True, again=True)
        old: Any = {"origins": ("http://loft.test:80",), "validators": source.config["validators"]}
        return replace(made, **old)


@pytest.mark.filterwarnings("ignore:.* of a SourceRequest is deprecated:DeprecationWarning")
@pytest.mark.parametrize("kind", [Pigeon(), OldPigeon()], ids=["new", "old"])
async def test_a_kind_of_another_package_is_added_called_and_read_again(kind: Pigeon, tmp_path: Path) -> None:
    async with open_catalog(tmp_path, {"pigeon": kind}) as home:
        told: list[str] = []
        request = SourceRequest("pigeon", LOCATION, context=ReadContext(told.append))
        source = await home.catalog.add_source(home.workspace, request)
        tool = await home.catalog.tool(home.workspace, "birds.flight")
        assert tool is not None and tool.binding == {"operation": "fly", "wings": [2, {"left": True}]}
        assert await home.catalog.invoke(tool, {}, idempotency_key="key") == "2"
        assert (await home.catalog.lifecycle.refresh(home.workspace, source.id)).unchanged
        kind.version = "2"
        assert not (await home.catalog.lifecycle.refresh(home.workspace, source.id)).unchanged
    first = {"again": False, "validators": {}, "names": {}, "origins": (), "private": False}
    second = {"again": True, "names": {"fly": "flight"}, "origins": ("http://loft.test:80",), "private": True}
    assert kind.readings == [first, *[{**second, "validators": {"version": "1"}}] * 2]
    assert "flying" in told


OLD: list[tuple[dict[str, Any], SourceRequest]] = [
    ({"allow_private": True, "by_code": True}, SourceRequest(consented=Consent(private_network=True, by_code=True))),
    ({"consent": True, "by_operator": True}, SourceRequest(consented=Consent(runs_code=True, by_operator=True))),
    ({"inherit_rules": True}, SourceRequest(consented=Consent(inherit_policies=True))),
    ({"again": True}, SourceRequest(previous=Previous())),
    ({"again": False}, SourceRequest()),
    ({"names": {"a": "b"}, "again": True}, SourceRequest(previous=Previous(names={"a": "b"}))),
    ({"progress": print}, SourceRequest(context=ReadContext(print))),
    ({"credential": KEY}, SourceRequest(context=ReadContext(credential=KEY))),
]  # fmt: skip


@pytest.mark.parametrize(("old", "request_now"), OLD)
def test_old_names_make_and_read_a_request_and_warn(old: dict[str, Any], request_now: SourceRequest) -> None:
    make: Any = SourceRequest
    with pytest.warns(DeprecationWarning, match="of a SourceRequest is deprecated: use `"):
        assert make(**old) == request_now
    with pytest.warns(DeprecationWarning):
        assert replace(SourceRequest(), **old) == request_now  # type: ignore[arg-type]
    for name, value in old.items():
        if name != "names":
            with pytest.warns(DeprecationWarning):
                assert getattr(request_now, name) == value


def test_a_request_has_no_other_names_and_survives_the_way_to_another_process() -> None:
    request = SourceRequest("openapi", headers=(("a", "b"),), previous=Previous(names={"a": "b"}))
    assert pickle.loads(pickle.dumps(request)) == request  # noqa: S301 - made here
    with pytest.raises(AttributeError, match="wings"):
        request.wings  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(TypeError, match="wings"):
        SourceRequest(wings=2)  # type: ignore[call-arg]

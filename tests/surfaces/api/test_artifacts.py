"""/v1/artifacts: who sees what, parts of content, and that a stranger's content stays inert."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from typing import Any

import pytest

from tests.surfaces.api import identities
from tests.surfaces.api.daemon_server import Daemon, running_daemon, running_upstream

PAGE = b"<!doctype html><script>window.hacked = 1</script>" + b"<p>x</p>" * 800
PICTURE = b'<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)">' + b"<g/>" * 1_500 + b"</svg>"


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running_daemon(tmp_path_factory.mktemp("artifacts")) as daemon:
        yield daemon


@pytest.fixture(scope="module")
def large(daemon: Daemon) -> Any:
    return daemon.execute("return Array.from({length: 9000}, (_, i) => ({id: i, name: `customer ${i}`}))")


def file(daemon: Daemon, data: bytes, media_type: str, name: str) -> Any:
    """An artifact that a hostile tool could have brought about."""
    told = f'contentType: {media_type!r}, filename: {name!r}, base64: "{base64.b64encode(data).decode()}"'
    view = daemon.execute(f"return {{{told}}}")
    listed = daemon.get(f"/v1/artifacts?execution={view['executionId']}").json["items"]
    return next(one for one in listed if one["id"] != view["artifact"]["id"])


def test_an_execution_is_shown_whole_unless_a_preview_is_asked_for(daemon: Daemon, large: Any) -> None:
    path = f"/v1/executions/{large['executionId']}"
    whole, cut = daemon.get(path).json, daemon.get(f"{path}?result=preview").json
    assert len(large["result"]) == len(whole["result"]) == 9_000
    assert 0 < len(cut["result"]) < 100 and cut["result"] == whole["result"][: len(cut["result"])]
    assert whole["artifact"] == cut["artifact"] == large["artifact"]
    assert cut["artifact"]["cut"] == [{"at": "", "what": "items", "shown": len(cut["result"]), "total": 9_000}]
    resumed = daemon.post(f"{path}/resume", {"result": "preview"}).json
    assert resumed["result"] == cut["result"]
    assert daemon.get(f"{path}?result=some").status == 400
    assert daemon.execute("return 1", result="preview")["artifact"] is None


def test_it_is_listed_shown_and_handed_out(daemon: Daemon, large: Any) -> None:
    [listed] = daemon.get(f"/v1/artifacts?execution={large['executionId']}").json["items"]
    shown = daemon.get(f"/v1/artifacts/{listed['id']}").json
    assert shown["preview"][0] == {"id": 0, "name": "customer 0"} and listed["preview"] is None
    answer = daemon.get(f"/v1/artifacts/{listed['id']}/content")
    assert answer.json == large["result"]
    assert hashlib.sha256(answer.body).hexdigest() == shown["digest"]
    assert len(answer.body) == shown["size"]


def test_pages_follow_each_other(daemon: Daemon) -> None:
    for _ in range(3):
        daemon.execute("return 'x'.repeat(40000)")
    seen, before = [], ""
    while before is not None:
        page = daemon.get(f"/v1/artifacts?limit=2&before={before}").json
        seen += [one["id"] for one in page["items"]]
        before = page["next"]
    assert len(seen) == len(set(seen)) >= 3 and seen == sorted(seen, reverse=True)


def test_large_results_of_calls_are_shown_whole_or_as_a_preview(daemon: Daemon) -> None:
    with running_upstream() as (address, made):
        identities.expect_created(
            daemon.post("/v1/sources", {"location": f"{address}/openapi.json", "namespace": "shop"})
        )
        made[:] = [{"name": f"thing {number}"} for number in range(3_000)]
        view = daemon.execute("return (await tools.shop.things.listThings()).length")
    path = f"/v1/executions/{view['executionId']}"
    [whole] = daemon.get(f"{path}/calls").json["items"]
    [cut] = daemon.get(f"{path}/calls?result=preview").json["items"]
    assert (view["result"], len(whole["result"]), whole["artifact"]) == (3_000, 3_000, cut["artifact"])
    assert cut["artifact"]["call"] == 1 and cut["result"] == whole["result"][: cut["artifact"]["cut"][0]["shown"]]
    assert daemon.get(f"{path}?include=calls&result=preview").json["calls"] == [cut]


@pytest.mark.parametrize(
    ("asked", "status", "part"),
    [
        ("bytes=0-0", 206, slice(0, 1)),
        ("bytes=10-19", 206, slice(10, 20)),
        ("bytes=-5", 206, slice(-5, None)),
        ("bytes=100-", 206, slice(100, None)),
        ("bytes=0-99999999999", 206, slice(0, None)),
        ("bytes=-99999999999", 206, slice(0, None)),
        ("bytes=262140-262150", 206, slice(262140, 262151)),
        ("bytes=5-1", 200, slice(0, None)),
        ("bytes=0-1,4-5", 200, slice(0, None)),
        ("bytes=-", 200, slice(0, None)),
        ("bytes=a-b", 200, slice(0, None)),
        ("bytes=٣-٤", 200, slice(0, None)),
        ("lines=0-1", 200, slice(0, None)),
        ("bytes=99999999-", 416, slice(0, 0)),
        ("bytes=-0", 416, slice(0, 0)),
    ],
)
def test_a_range_is_given_exactly(daemon: Daemon, large: Any, asked: str, status: int, part: slice) -> None:
    path = f"/v1/artifacts/{large['artifact']['id']}/content"
    whole = daemon.get(path).body
    answer = daemon.get(path, headers={"Range": asked.encode().decode("latin-1")})
    assert answer.status == status
    assert answer.body == whole[part]
    if status == 206:
        start, end, _ = part.indices(len(whole))
        assert answer.headers["content-range"] == f"bytes {start}-{end - 1}/{len(whole)}"
    if status == 416:
        assert answer.headers["content-range"] == f"bytes */{len(whole)}"


def test_a_range_of_another_content_is_the_whole(daemon: Daemon, large: Any) -> None:
    path = f"/v1/artifacts/{large['artifact']['id']}/content"
    tag = daemon.get(path).headers["etag"]
    assert daemon.get(path, headers={"Range": "bytes=0-1", "If-Range": tag}).status == 206
    assert daemon.get(path, headers={"Range": "bytes=0-1", "If-Range": '"other"'}).status == 200


@pytest.mark.parametrize(
    ("data", "media_type", "name"),
    [
        (PAGE, "text/html", "page.html"),
        (PICTURE, "image/svg+xml", "x.svg"),
        (PAGE, "application/xhtml+xml", "../../x.xhtml"),
        (PAGE, "text/javascript", 'a"; filename=evil.js\r\nX-Evil: 1'),
        (PAGE, "text/html\r\nX-Evil: 1", "\u202egnp.exe"),
    ],
)
def test_content_that_could_run_is_handed_out_as_bytes_to_save(
    daemon: Daemon, data: bytes, media_type: str, name: str
) -> None:
    kept = file(daemon, data, media_type, name)
    answer = daemon.get(f"/v1/artifacts/{kept['id']}/content")
    assert answer.body == data
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"] == f'attachment; filename="{kept["name"]}"'
    assert answer.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"
    assert "x-evil" not in answer.headers
    assert set(kept["name"]) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


def test_who_may_not_read_everything_sees_its_own_alone(daemon: Daemon, large: Any) -> None:
    kept = large["artifact"]["id"]
    own, other = identities.Caller(daemon, "agent", daemon.tokens.agent), identities.agent(daemon, "somebody")
    for path in ("/v1/artifacts/{}", "/v1/artifacts/{}/content"):
        assert own.get(path.format(kept)).status == 200
        there, nowhere = other.get(path.format(kept)), other.get(path.format("art_none"))
        assert (there.status, nowhere.status) == (404, 404)
        assert there.body.replace(kept.encode(), b"art_none") == nowhere.body
    assert other.get("/v1/artifacts").json["items"] == []
    assert identities.create_key(daemon, "read").get(f"/v1/artifacts/{kept}/content").status == 200
    assert identities.invite(daemon, "viewer").get(f"/v1/artifacts/{kept}").status == 200


def test_only_a_human_deletes_and_only_what_no_journal_needs(daemon: Daemon) -> None:
    view = daemon.execute("return 'z'.repeat(50000)")
    path = f"/v1/artifacts/{view['artifact']['id']}"
    assert daemon.request("DELETE", path, role="agent").status == 403
    assert identities.invite(daemon, "viewer").delete(path).status == 403
    gone = daemon.request("DELETE", path)
    assert gone.status == 200 and gone.json["deletedAt"]
    assert daemon.request("DELETE", path).json["deletedAt"] == gone.json["deletedAt"]
    assert daemon.get(f"{path}/content").status == 404
    assert daemon.get(path).json["preview"] is None
    told = daemon.get(f"/v1/executions/{view['executionId']}").json
    assert (told["status"], told["result"], told["artifact"]["id"]) == ("completed", None, view["artifact"]["id"])
    refused = daemon.post(f"/v1/executions/{view['executionId']}/replay")
    assert (refused.status, refused.json["code"]) == (409, "conflict")
    [event] = [one for one in daemon.get("/v1/audit?type=artifact.*").json["items"] if one["data"]["id"] in path]
    assert event["actorId"] and event["data"]["size"] == 50_000


def test_what_a_paused_execution_needs_can_not_be_deleted(daemon: Daemon) -> None:
    source = identities.expect_created(
        daemon.post("/v1/sources", {"document": _document(), "location": "http://127.0.0.1:9/o.json"})
    )
    code = f"await tools.executor.sources.list(); return await tools.{source['namespace']}.things.createThing({{}})"
    paused = daemon.execute(code)
    assert paused["status"] == "paused", paused
    kept = daemon.run(_keep(daemon, paused["executionId"]))
    refused = daemon.request("DELETE", f"/v1/artifacts/{kept}")
    assert (refused.status, refused.json["code"]) == (409, "conflict")
    assert "cancel" in refused.json["hint"]


def _document() -> str:
    import json

    operation = {"operationId": "createThing", "tags": ["things"], "responses": {"200": {"description": "made"}}}
    servers = [{"url": "http://127.0.0.1:9"}]
    return json.dumps({"openapi": "3.1.0", "info": {"title": "t", "version": "1"}, "servers": servers,
                       "paths": {"/things": {"post": operation}}})  # fmt: skip


async def _keep(daemon: Daemon, execution_id: str) -> str:
    from sqlalchemy.engine import Connection

    from executor.execution.artifacts.storage import keep
    from executor.storage.executions import executions

    def job(c: Connection) -> str:
        execution = executions.get(c, daemon.executor.tenancy.workspace.id, execution_id)
        assert execution is not None
        return keep(c, execution, '["x"]', seq=1, path="executor.sources.list").id

    return await daemon.executor.database.write(job)

"""Large files: from a service to an artifact and from there to a service, outside the sandbox."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Any

import pytest
import pytest_asyncio

from executor.daemon.wiring.executor import Executor
from executor.errors import ToolError
from executor.execution.artifacts.contents import Contents
from executor.execution.artifacts.files import CallFiles, FileStore
from executor.model.ids import now_ms
from executor.settings import Settings
from executor.sources.source_request import Consent, SourceRequest
from executor.storage.executions import artifacts, files
from tests.execution.conftest import ExecutorHarness, shared_state, value
from tests.sources.openapi.documents import document
from tests.sources.upstream import Got, Handler, Reply, Upstream, as_json, serving

BINARY = {"type": "string", "format": "binary"}
OK = {"200": {"description": ""}}
PATHS = {
    "/files/{id}": {
        "get": {
            "operationId": "download",
            "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}],
            "responses": {"200": {"description": "", "content": {"application/zip": {"schema": BINARY}}}},
        }
    },
    "/upload": {
        "post": {
            "operationId": "upload",
            "requestBody": {
                "content": {
                    "multipart/form-data": {
                        "schema": {"type": "object", "properties": {"file": BINARY, "note": {"type": "string"}}}
                    }
                }
            },
            "responses": OK,
        }
    },
    "/raw": {
        "put": {
            "operationId": "replace",
            "requestBody": {"required": True, "content": {"application/octet-stream": {"schema": BINARY}}},
            "responses": OK,
        }
    },
}
CONTENT = bytes(range(256)) * 20_000 + b"the end"
DIGEST = hashlib.sha256(CONTENT).hexdigest()
ZIP = {"Content-Type": "application/zip", "Content-Disposition": 'attachment; filename="../big one.zip"'}
DOWNLOAD = 'const f = await tools.drive.files.download({id: "1"});'


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture(scope="module")
def service() -> Iterator[Upstream]:
    with serving() as server:
        server.routes["/openapi.json"] = as_json(document(PATHS))
        server.routes["/upload"] = server.routes["/raw"] = describe_body
        yield server


@pytest.fixture
def upstream(service: Upstream) -> Upstream:
    service.routes["/files/1"] = Reply(200, CONTENT, ZIP)
    return service


def describe_body(got: Got, handler: Handler) -> Reply:
    return as_json({"size": len(got.body), "hasIt": CONTENT in got.body, "length": got.headers.get("content-length")})


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def files_harness(service: Upstream, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ExecutorHarness]:
    """Calls of `drive` are asked about, those of `open` are allowed."""
    folder = tmp_path_factory.mktemp("files")
    environ = {"EXECUTOR_DATA_DIR": str(folder), "EXECUTOR_STATE_DIR": str(shared_state(tmp_path_factory))}
    executor = await Executor.open(Settings.load({**environ, "EXECUTOR_WORKERS": "1", "EXECUTOR_SLOTS": "8"}))
    for namespace in ("drive", "open"):
        request = SourceRequest(
            location=f"{service.url}/openapi.json", namespace=namespace, consented=Consent(private_network=True)
        )
        await executor.catalog.add_source(executor.tenancy.workspace.id, request)
    harness = ExecutorHarness(executor, None)  # type: ignore[arg-type]
    await harness.policy("open.**", "allow")
    yield harness
    await executor.close()


@pytest.fixture
def harness(files_harness: ExecutorHarness, upstream: Upstream) -> ExecutorHarness:
    return files_harness


async def rows(harness: ExecutorHarness) -> list[Any]:
    workspace_id = harness.executor.tenancy.workspace.id
    return list(await harness.executor.database.read(lambda c: artifacts.page(c, workspace_id)))


async def test_a_large_file_becomes_an_artifact_and_is_sent_on_from_there(
    harness: ExecutorHarness, upstream: Upstream
) -> None:
    for language, code in {
        "typescript": f"{DOWNLOAD} return [f, await tools.open.upload.upload({{file: f, note: 'n'}}), "
        "await tools.open.raw.replace({body: {artifact: f.artifact!}})]",
        "python": 'f = await tools.drive.files.download({"id": "1"})\n'
        'return [f, await tools.open.upload.upload({"file": f, "note": "n"}), '
        'await tools.open.raw.replace({"body": {"artifact": f["artifact"]}})]',
    }.items():
        handle, uploaded, replaced = value(await harness.run(code, language=language))
        assert handle["contentType"] == "application/zip"
        assert (handle["name"], handle["size"]) == ("big_one.zip", len(CONTENT))
        assert uploaded["hasIt"] and uploaded["length"] == str(uploaded["size"])
        assert replaced == {"size": len(CONTENT), "hasIt": True, "length": str(len(CONTENT))}
        part = next(got.body for got in reversed(upstream.requests) if got.target == "/upload")
        assert b'filename="big_one.zip"\r\nContent-Type: application/zip\r\n\r\n\x00\x01' in part
        (kept,) = [one for one in await rows(harness) if one.id == handle["artifact"]]
        assert kept.digest == DIGEST


async def test_a_small_file_is_given_to_the_code_as_before(harness: ExecutorHarness, upstream: Upstream) -> None:
    upstream.routes["/files/1"] = Reply(200, b"small", ZIP)
    assert value(await harness.run(f"{DOWNLOAD} return f")) == {"contentType": "application/zip", "base64": "c21hbGw="}


async def test_a_compressed_file_is_kept_as_what_it_is(
    harness: ExecutorHarness, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    upstream.routes["/files/1"] = Reply(200, gzip.compress(CONTENT), {**ZIP, "Content-Encoding": "gzip"})
    assert value(await harness.run(f"{DOWNLOAD} return f"))["size"] == len(CONTENT)
    bomb = Reply(200, gzip.compress(b"\0" * 30_000_000), {**ZIP, "Content-Encoding": "gzip"})
    upstream.routes["/files/1"] = bomb
    monkeypatch.setattr(
        harness.executor.pipeline.sender, "files", FileStore(harness.executor.contents, None, 8_000_000)
    )
    outcome = await harness.run(f"{DOWNLOAD} return f")
    assert outcome.execution.failure is not None
    assert outcome.execution.failure.code == "result_too_large"


async def test_nothing_is_left_of_a_file_that_does_not_come_whole(
    harness: ExecutorHarness, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(got: Got, handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "application/zip")
        handler.send_header("Content-Length", str(len(CONTENT)))
        handler.end_headers()
        handler.wfile.write(CONTENT[:-5])

    before = await rows(harness)
    for reply, code in [(breaks, "upstream_unreachable"), (Reply(200, b"x" * 20_000_000, ZIP), "result_too_large")]:
        upstream.routes["/files/1"] = reply
        monkeypatch.setattr(
            harness.executor.pipeline.sender, "files", FileStore(harness.executor.contents, None, 10_000_000)
        )
        outcome = await harness.run(f"{DOWNLOAD} return f")
        assert outcome.execution.failure is not None
        assert outcome.execution.failure.code == code
    assert await rows(harness) == before
    assert await harness.executor.database.read(lambda c: files.left_over(c, now_ms() + 1)) == []


async def test_an_approval_shows_the_file_and_holds_for_it(harness: ExecutorHarness, upstream: Upstream) -> None:
    paused = await harness.run(f"{DOWNLOAD} return await tools.drive.upload.upload({{file: f}})")
    shown = str(paused.interactions[0])
    assert "big_one.zip" in shown
    assert f"{len(CONTENT):,} bytes of application/zip, SHA-256 {DIGEST}" in shown
    await harness.settle(paused, "approve")
    assert value(await harness.wait(paused.execution.id))["hasIt"]


async def test_a_file_that_may_not_be_read_is_refused_before_anybody_is_asked(harness: ExecutorHarness) -> None:
    call = "try { await tools.drive.upload.upload({file: FILE}) } catch (e) { return [e.code, e.message] }"
    code, message = value(await harness.run(call.replace("FILE", '{artifact: "art_nothing"}')))
    assert (code, "art_nothing" in message) == ("not_found", True)
    mine = value(await harness.run(f"{DOWNLOAD} return f"))
    code, _ = value(await harness.run(call.replace("FILE", f'{{artifact: "{mine["artifact"]}", size: 5}}')))
    assert code == "invalid_arguments"
    code, _ = value(await harness.run(call.replace("FILE", '{filename: "x"}')))
    assert code == "invalid_arguments"
    stranger = await harness.executor.database.read(
        lambda c: artifacts.get(c, harness.executor.tenancy.workspace.id, mine["artifact"])
    )
    assert stranger is not None
    execution = (await harness.wait(stranger.execution_id)).execution
    store = harness.executor.pipeline.files
    for other in (replace(execution, actor_id="act_other"), replace(execution, workspace_id="ws_other")):
        with pytest.raises(ToolError, match="there is no artifact"):
            await CallFiles(store, other).find(mine["artifact"])


async def test_what_was_damaged_is_not_sent_whole(harness: ExecutorHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = value(await harness.run(f"{DOWNLOAD} return f"))
    workspace_id = harness.executor.tenancy.workspace.id
    kept = await harness.executor.database.read(lambda c: artifacts.get(c, workspace_id, mine["artifact"]))
    assert kept is not None
    execution = (await harness.wait(kept.execution_id)).execution
    reading = CallFiles(harness.executor.pipeline.files, execution)
    file = await reading.find(kept.id)
    whole = artifacts.content
    monkeypatch.setattr(
        artifacts, "content", lambda c, artifact, start=0, end=None: whole(c, artifact, start, end)[::-1]
    )
    came = 0
    with pytest.raises(ToolError, match="damaged"):
        async for piece in reading.read(file):
            came += len(piece)
    assert came < len(CONTENT)


async def test_a_file_with_the_credential_in_it_is_not_kept(harness: ExecutorHarness) -> None:
    execution = (await harness.run("return 1")).execution
    writer = CallFiles(harness.executor.pipeline.files, execution, 1, "p", ("s3cret-token",)).begin(
        "application/zip", "", None
    )
    await writer.write(b"x" * 100 + b"s3cret")
    with pytest.raises(ToolError, match="credential"):
        await writer.write(b"-token" + b"x")


async def test_code_reads_parts_of_a_file(harness: ExecutorHarness) -> None:
    read = f"{DOWNLOAD} return await tools.executor.artifacts.read({{id: f.artifact!ARGUMENTS}})"
    page = value(await harness.run(read.replace("ARGUMENTS", ", offset: 5120000, limit: 3")))
    assert (page["value"], page["total"], page["next"]) == ("dGhl", len(CONTENT), 5_120_003)
    outcome = await harness.run(read.replace("ARGUMENTS", ""))
    assert outcome.execution.failure is not None
    assert outcome.execution.failure.code == "result_too_large"


async def test_what_a_crash_left_goes_at_the_next_start(harness: ExecutorHarness) -> None:
    database = harness.executor.database
    mine = value(await harness.run(f"{DOWNLOAD} return f"))
    workspace_id = harness.executor.tenancy.workspace.id
    kept = await database.read(lambda c: artifacts.get(c, workspace_id, mine["artifact"]))
    assert kept is not None
    await database.write(lambda c: artifacts.delete(c, kept))
    assert len(await database.read(lambda c: files.left_over(c, now_ms() + 1))) == 1
    await Contents(database).remove_left_over(now_ms() + 1)
    assert await database.read(lambda c: files.left_over(c, now_ms() + 1)) == []
    query = f"select count(*) from chunks where digest = '{kept.id}'"  # noqa: S608 - an id of ours
    assert await database.read(lambda c: c.exec_driver_sql(query).scalar()) == 0

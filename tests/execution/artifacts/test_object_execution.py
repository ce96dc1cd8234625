"""Executions whose artifacts are in an object store: the code, the API and a replay notice nothing of it."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from executor.daemon.wiring.executor import Executor
from executor.errors import ArtifactUnavailable
from executor.execution import history
from executor.execution.artifacts import access
from executor.execution.artifacts.objects import maintenance
from executor.settings import Settings
from executor.sources.source_request import Consent, SourceRequest
from executor.storage.executions import artifacts
from tests.execution.conftest import ExecutorHarness, shared_state, value
from tests.execution.test_artifact_files import PATHS, ZIP, describe_body
from tests.sources.openapi.documents import document
from tests.sources.upstream import Reply, Upstream, as_json, serving
from tests.support import object_store
from tests.support.object_store import FaultyProxy

pytestmark = pytest.mark.asyncio(loop_scope="module")
CONTENT = bytes(range(256)) * 20_000 + b"the end"
DOWNLOAD = 'const f = await tools.open.files.download({id: "1"});'


@pytest.fixture(scope="module")
def service() -> Iterator[Upstream]:
    with serving() as server:
        server.routes["/openapi.json"] = as_json(document(PATHS))
        server.routes["/upload"] = server.routes["/raw"] = describe_body
        server.routes["/files/1"] = Reply(200, CONTENT, ZIP)
        yield server


@pytest.fixture(scope="module")
def shared_proxy(moto: str) -> Iterator[FaultyProxy]:
    made = FaultyProxy(moto)
    yield made
    made.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def harness(
    service: Upstream, shared_proxy: FaultyProxy, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[ExecutorHarness]:
    folder = tmp_path_factory.mktemp("objects")
    (folder / "credentials").write_text("[default]\naws_access_key_id = S3RVER\naws_secret_access_key = S3RVER\n")
    url = f"s3://{object_store.BUCKET}/{secrets.token_hex(4)}?endpoint={shared_proxy.url}&region=us-east-1"
    environ = {
        "EXECUTOR_DATA_DIR": str(folder / "data"),
        "EXECUTOR_STATE_DIR": str(shared_state(tmp_path_factory)),
        "EXECUTOR_WORKERS": "1",
        "EXECUTOR_ARTIFACTS_URL": url,
        "EXECUTOR_ARTIFACTS_OBJECT_BYTES": "200000",
        "EXECUTOR_ARTIFACTS_CREDENTIALS_FILE": str(folder / "credentials"),
    }
    executor = await Executor.open(Settings.load(environ))
    consent = Consent(private_network=True)
    request = SourceRequest(location=f"{service.url}/openapi.json", namespace="open", consented=consent)
    await executor.catalog.add_source(executor.tenancy.workspace.id, request)
    made = ExecutorHarness(executor, None)  # type: ignore[arg-type]
    await made.policy("open.**", "allow")
    yield made
    await executor.close()


async def test_code_downloads_reads_and_uploads_a_file_that_is_an_object(harness: ExecutorHarness) -> None:
    code = f"""{DOWNLOAD}
        const page = await tools.executor.artifacts.read({{id: f.artifact!, offset: 1000000, limit: 300}});
        return [f, page, await tools.open.upload.upload({{file: f, note: "n"}})]"""
    handle, page, uploaded = value(await harness.run(code))
    by, database = harness.executor.tenancy.agent, harness.executor.database
    found = await access.find(database, by, handle["artifact"])
    assert found.object_key is not None and found.digest == hashlib.sha256(CONTENT).hexdigest()
    assert (page["total"], page["next"]) == (len(CONTENT), 1_000_300)
    assert uploaded["hasIt"] is True
    stream = access.read_content(harness.executor.contents, found, 0, found.size)
    assert b"".join([piece async for piece in stream]) == CONTENT


async def test_a_result_that_was_moved_reads_and_replays_as_before(
    harness: ExecutorHarness, shared_proxy: FaultyProxy
) -> None:
    done = await harness.run("return 'x'.repeat(300_000)")
    executor, by = harness.executor, harness.executor.tenancy.agent
    assert done.artifact is not None
    await maintenance.maintain(executor.contents)
    moved = await access.find(executor.database, by, done.artifact.id)
    assert moved.object_key is not None
    again = await executor.engine.outcome(by, done.execution.id)
    assert again.execution.result == f'"{"x" * 300_000}"'
    assert await history.read_calls(executor.contents, by, done.execution.id, whole=True) == []
    assert (await executor.engine.replay(by, done.execution.id)).matches
    read = f'return (await tools.executor.artifacts.read({{id: "{moved.id}"}})).value.length'
    assert value(await harness.run(read)) == 300_000
    shared_proxy.fail("refuse")
    try:
        with pytest.raises(ArtifactUnavailable, match="can't be read from"):
            await executor.engine.outcome(by, done.execution.id)
        assert (await executor.engine.outcome(by, done.execution.id, whole=False)).artifact is not None
        failed = await harness.run(read)
        assert failed.execution.failure is not None and "can't be read from" in failed.execution.failure.message
        kept = value(await harness.run("return 'y'.repeat(300_000)"))  # a result never depends on the store
        assert kept == "y" * 300_000
    finally:
        shared_proxy.fail("")


async def test_nothing_that_code_or_the_api_sees_names_the_store(harness: ExecutorHarness) -> None:
    from executor.surfaces.views.artifacts import artifact_view

    handle = value(await harness.run(f"{DOWNLOAD} return f"))
    workspace_id = harness.executor.tenancy.workspace.id
    found = await harness.executor.database.read(lambda c: artifacts.get(c, workspace_id, handle["artifact"]))
    assert found is not None and found.object_key is not None
    shown = str(artifact_view(found, preview=True)) + str(handle)
    assert found.object_key not in shown and object_store.BUCKET not in shown

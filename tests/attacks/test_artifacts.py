"""18, 19, 22 and 24 once more: a large answer that echoes a credential is kept without it, in every form.

And 62 and 67: results that are made to exhaust or to trip whoever keeps, searches and reads them.
"""

from __future__ import annotations

import sqlite3
import tracemalloc
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from executor.daemon.wiring.executor import Executor
from executor.execution.artifacts import tools
from executor.execution.artifacts.pages import occurrences
from executor.execution.artifacts.preview import preview
from executor.execution.artifacts.storage import files_in
from executor.secrets.redaction import MARK
from executor.settings import Settings
from executor.storage.executions import artifacts
from tests.attacks.test_secrets import CANARY, writings
from tests.execution.conftest import shared_state
from tests.support.connection_harness import ConnectionHarness
from tests.support.cpu import cpu_seconds
from tests.support.echo_service import leaking
from tests.support.protected_service import ProtectedService


@pytest.fixture
def service() -> Iterator[ProtectedService]:
    with leaking() as server:
        yield server


@pytest.fixture
async def harness(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, service: ProtectedService
) -> AsyncIterator[ConnectionHarness]:
    environ = {"EXECUTOR_DATA_DIR": str(tmp_path / "data"), "EXECUTOR_STATE_DIR": str(shared_state(tmp_path_factory))}
    executor = await Executor.open(Settings.load({**environ, "EXECUTOR_WORKERS": "1", "EXECUTOR_SLOTS": "8"}))
    harness = ConnectionHarness(executor, service)
    await harness.add_source()
    yield harness
    await executor.close()


async def test_a_large_echo_is_redacted_before_it_is_kept(harness: ConnectionHarness, tmp_path: Path) -> None:
    """Defence: `CallCredential.clean` comes before the journal, and only the journal keeps artifacts."""
    await harness.connect("token", {"token": CANARY})
    done = await harness.run("return [await tools.guarded.use.hugeBearer({})]")
    assert done.execution.status == "completed", done.execution.failure
    found = await harness.executor.database.read(lambda c: artifacts.page(c, harness.workspace_id))
    assert sorted(one.call_seq for one in found) == [0, 1]
    for one in found:
        content = await harness.executor.database.read(lambda c, one=one: artifacts.content(c, one))  # type: ignore[misc]
        assert MARK.encode() in content
        assert not writings(content.decode()) and not writings(one.preview)
    await harness.executor.database.compact()
    assert not writings(_dump(tmp_path / "data" / "executor.db"))


def _dump(path: Path) -> str:
    with sqlite3.connect(path) as database:
        return "".join(row[0].decode("latin-1") for row in database.execute("select data from chunks"))


HUGE_KEY = "k" * 1_000_000


def test_62_a_search_holds_no_place_for_each_of_many_items() -> None:
    """`paging.leaves` goes from item to item, and `previewing.below` gives up places of megabytes."""
    value = {HUGE_KEY: [0] * 1_000, "last": "needle"}
    tracemalloc.start()
    try:
        assert list(occurrences(value, "needle")) == [{"pointer": "/last", "text": "needle"}]
        assert tracemalloc.get_traced_memory()[1] < 30_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("look", [lambda value: list(files_in(value)), lambda value: preview(value, 4_000)])
def test_62_a_key_of_megabytes_is_not_copied_for_everything_below_it(look: Callable[[Any], Any]) -> None:
    """`previewing.below`: this runs in the thread that writes for everybody, and took an hour for eight megabytes."""
    inside = [[[{str(n): [n]}] for n in range(50)] for _ in range(200)]
    plain = cpu_seconds(lambda: look({"k": inside}))
    assert cpu_seconds(lambda: look({HUGE_KEY: inside})) < 20 * max(0.02, plain)


def test_62_matches_below_a_long_key_are_reported_without_their_place() -> None:
    """The same in what is answered: two hundred places of a megabyte each would be an answer of 200 MB."""
    found = list(occurrences({HUGE_KEY: ["needle"] * 200}, "needle"))
    assert len(orjson.dumps(found)) < 20_000 and len(found) == 200


@pytest.mark.parametrize(
    "arguments",
    [
        'pointer: "/0000000001000000000"',
        f'pointer: "/{"0" * 5_000}1"',
        "offset: 1e21, limit: 1e21",
        'pointer: "/" + "/x".repeat(5000)',
    ],
)
async def test_67_odd_places_and_numbers_are_no_errors_inside_executor(
    harness: ConnectionHarness, arguments: str
) -> None:
    """`paging.at_pointer` reads a number of nine digits at most, and counts are whole numbers before they cut."""
    made = await harness.run("return Array(20000).fill(1)")
    assert made.artifact is not None
    read = f'tools.executor.artifacts.read({{id: "{made.artifact.id}", {arguments}}})'
    done = await harness.run(f"try {{ return (await {read}).kind }} catch (error) {{ return error.code }}")
    assert done.execution.status == "completed", done.execution.failure
    assert done.execution.result in ('"array"', '"not_found"', '"invalid_arguments"')


async def test_62_a_thousand_reads_at_once_take_turns(
    harness: ConnectionHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`artifact_tools.Turns`: side by side they would hold a thousand values of megabytes, and every thread."""
    made = await harness.run("return Array(20000).fill(1)")
    assert made.artifact is not None
    reading, most = 0, 0
    read = tools._readable

    def count_read(*given: Any) -> Any:
        nonlocal reading, most
        reading += 1
        most = max(most, reading)
        return read(*given)

    answer = tools._search

    def count_answer(*given: Any) -> Any:
        nonlocal reading
        reading -= 1
        return answer(*given)

    monkeypatch.setattr(tools, "_readable", count_read)
    monkeypatch.setattr(tools, "_search", count_answer)
    search = f'tools.executor.artifacts.search({{id: "{made.artifact.id}", query: "2"}})'
    done = await harness.run(f"return (await Promise.all(Array.from({{length: 40}}, () => {search}))).length")
    assert done.execution.result == "40", done.execution.failure
    assert most == 1

"""Old and new version side by side: two builds that differ by an added column."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import executor
from executor.storage import migrate
from tests.support import postgres
from tests.support.cluster import Cluster
from tests.support.conditions import wait_for
from tests.support.daemon import Daemon, Refused
from tests.support.ledger import effects, running_ledger

MIGRATION = """
import sqlalchemy as sa
from alembic import op
revision, down_revision, branch_labels, depends_on = "9001", "{}", None, None
def upgrade() -> None:
    op.add_column("policies", sa.Column("added", sa.String, nullable=False, server_default="by the migration"))
"""
COLUMN = """
from executor.storage.tables.core import policies as _policies
_policies.append_column(sa.Column("added", sa.String, nullable=False, default="by the new version"))
"""
PARKED = "await tools.ledger.transfers.transfer({key: 'parked'}); return 'resumed'"
LARGE = 100_000  # bytes


def build_next(root: Path) -> Path:
    """The next version: as this one, with another revision. The folder to import it from."""
    source = Path(executor.__file__).parent
    package = root / "executor"
    shutil.copytree(source, package, copy_function=place, ignore=shutil.ignore_patterns("__pycache__"))
    head = migrate.HEAD
    edit(package / "storage" / "migrate.py", [
        (f'HEAD = "{head}"', 'HEAD = "9001"'),
        (f'"{head}"),\n)', f'"{head}", "9001"),\n)'),
    ])  # fmt: skip
    edit(package / "storage" / "tables" / "cluster.py", [("", COLUMN)])
    (package / "storage" / "migrations" / "versions" / "9001_added.py").write_text(MIGRATION.format(head))
    return root


def place(source: str, target: str) -> None:
    shutil.copy2(source, target) if Path(source).stat().st_size < LARGE else Path(target).symlink_to(source)


def edit(file: Path, changes: list[tuple[str, str]]) -> None:
    text = file.read_text()
    for before, after in changes:
        assert text.count(before) == 1 or not before, before
        text = text.replace(before, after) if before else text + after
    file.write_text(text)


@pytest.fixture
def upstream(tmp_path: Path) -> Iterator[str]:
    with running_ledger(tmp_path / "effects") as address:
        yield address


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    made = Cluster(tmp_path, postgres.server(), apis=1, workers=2, lease=10)
    try:
        yield made
    finally:
        made.stop()


def test_a_version_that_only_adds_to_the_schema_is_rolled_out_while_everything_runs(
    cluster: Cluster, upstream: str, tmp_path: Path
) -> None:
    api, (old, new) = cluster.apis[0], cluster.workers
    cluster.start(workers=1)
    api.post("/v1/sources", {"location": f"{upstream}/openapi.json", "namespace": "ledger"})
    add_policy(api, "first")
    parked = api.post("/v1/executions", {"code": PARKED, "wait": 60})
    assert parked["status"] == "paused"

    next_version = {"PYTHONPATH": str(build_next(tmp_path / "next"))}
    early = cluster.run("worker", **{**new.environ, **next_version})
    assert early.returncode != 0 and "executor db migrate" in early.stderr
    migrated = cluster.run("db", "migrate", **next_version)
    assert migrated.returncode == 0, migrated.stderr
    add_policy(api, "second")
    assert api.post("/v1/executions", {"code": "return 'old'", "wait": 60})["result"] == "old"

    new.environ |= next_version
    cluster.start_member(new)
    old.stop()
    ended = wait_for(lambda: approve(api, parked["executionId"]), "it has ended")
    assert ended["result"] == "resumed", ended
    assert effects(tmp_path / "effects") == [("transfers", "parked")]

    restart(cluster, api)  # still of the old version, on the new schema
    restart(cluster, api, **next_version)
    add_policy(api, "third")
    added = cluster.query("SELECT pattern, added FROM policies WHERE pattern LIKE '%.example' ORDER BY pattern")
    by_migration = [(f"{name}.example", "by the migration") for name in ("first", "second")]
    assert added == [*by_migration, ("third.example", "by the new version")]


def approve(api: Daemon, execution_id: str) -> Any:
    """More than once, since the policies have changed. None until the execution has ended."""
    for asked in api.get("/v1/interactions?status=pending")["items"]:
        with suppress(Refused):  # another one has taken its place
            api.post(f"/v1/interactions/{asked['id']}/approve")
    state = api.get(f"/v1/executions/{execution_id}?wait=5")
    return state if state["status"] in ("completed", "failed") else None


def add_policy(api: Daemon, name: str) -> None:
    api.post("/v1/policies", {"pattern": f"{name}.example", "action": "allow"})


def restart(cluster: Cluster, member: Daemon, **variables: str) -> None:
    member.stop()
    member.environ |= variables
    cluster.start_member(member)

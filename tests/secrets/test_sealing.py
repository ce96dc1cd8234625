from __future__ import annotations

import asyncio
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.errors import DataDirectoryUnusable, ExecutorError, SecretUnavailable
from executor.secrets.master import NEXT, FileKeeper, Master
from executor.secrets.master_keys import KeptKeys
from executor.secrets.sealing import Sealed, Sealing
from executor.storage.tables.access import data_keys, secrets
from tests.secrets.conftest import SecretsHarness, open_secrets


async def test_a_value_comes_back_as_it_was_set(place: SecretsHarness) -> None:
    await place.secrets.set(place.workspace_id, "mail", "pässword ✓", by=place.by)
    assert await place.secrets.value(place.workspace_id, "mail") == "pässword ✓"


async def test_a_sealed_value_does_not_open_in_another_row(place: SecretsHarness) -> None:
    await place.secrets.set(place.workspace_id, "one", "value-one", by=place.by)
    await place.secrets.set(place.workspace_id, "two", "value-two", by=place.by)

    def swap(c: Connection) -> None:
        row = c.execute(sa.select(secrets).where(secrets.c.name == "one")).one()
        c.execute(sa.update(secrets).where(secrets.c.name == "two").values(sealed=row.sealed, key_id=row.key_id))

    await place.database.write(swap)
    with pytest.raises(SecretUnavailable, match="can't be decrypted"):
        await place.secrets.value(place.workspace_id, "two")


async def test_a_key_that_was_rolled_back_with_another_job_is_never_used(place: SecretsHarness) -> None:
    sealing = place.secrets.sealing

    def fails(c: Connection) -> None:
        sealing.seal(c, b"x", "a")
        raise ExecutorError("undone")

    def seals(c: Connection) -> Sealed:
        return sealing.seal(c, b"kept", "b")

    undone, kept = place.database.write(fails), place.database.write(seals)
    with pytest.raises(ExecutorError, match="undone"):
        await undone
    sealed = await kept
    fresh = Sealing(KeptKeys(FileKeeper(place.folder)))
    assert await place.database.read(lambda c: fresh.unseal(c, sealed, "b")) == b"kept"


async def test_rotating_the_key_seals_everything_again(place: SecretsHarness) -> None:
    for number in range(20):
        await place.secrets.set(place.workspace_id, f"s{number}", f"value {number}", by=place.by)
    before = FileKeeper(place.folder).read("current")
    assert await place.secrets.rotate_key() == 20
    after = FileKeeper(place.folder).read("current")
    assert before is not None and after is not None and before.id != after.id
    assert FileKeeper(place.folder).read(NEXT) is None
    keys = await place.database.read(lambda c: c.execute(sa.select(data_keys)).all())
    assert {key.master_id for key in keys} == {after.id}
    [newest] = [key.id for key in keys if key.retired_at is None]
    used = await place.database.read(lambda c: set(c.execute(sa.select(secrets.c.key_id)).scalars()))
    assert used == {newest}
    again = await open_secrets(place.folder)
    assert [await again.secrets.value(place.workspace_id, f"s{n}") for n in (0, 19)] == ["value 0", "value 19"]
    await again.database.close()


async def test_a_rotation_that_was_committed_but_not_finished_is_finished_before_the_next(
    place: SecretsHarness,
) -> None:
    await place.secrets.set(place.workspace_id, "mail", "value", by=place.by)
    await place.database.write(lambda c: place.secrets.sealing.rotate_master(c))  # and then the power fails
    await place.secrets.rotate_key()
    again = await open_secrets(place.folder)
    assert await again.secrets.value(place.workspace_id, "mail") == "value"
    await again.database.close()


async def test_a_rotation_that_never_committed_leaves_the_old_key_in_use(place: SecretsHarness) -> None:
    await place.secrets.set(place.workspace_id, "mail", "value", by=place.by)
    FileKeeper(place.folder).write(NEXT, Master.new())
    again = await open_secrets(place.folder)
    assert FileKeeper(place.folder).read(NEXT) is None
    assert await again.secrets.value(place.workspace_id, "mail") == "value"
    await again.database.close()


async def test_rotations_at_the_same_time_follow_one_another(place: SecretsHarness) -> None:
    await place.secrets.set(place.workspace_id, "mail", "value", by=place.by)
    await asyncio.gather(*(place.secrets.rotate_key() for _ in range(8)))
    again = await open_secrets(place.folder)
    assert await again.secrets.value(place.workspace_id, "mail") == "value"
    await again.database.close()


ROTATING = """
import asyncio, sys
from pathlib import Path
from tests.secrets.conftest import open_secrets
async def main():
    place = await open_secrets(Path(sys.argv[1]))
    print("ready", flush=True)
    while True:
        await place.secrets.rotate_key()
asyncio.run(main())
"""


async def test_kill_9_in_the_middle_of_a_rotation_leaves_everything_readable(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    first = await open_secrets(folder)
    for number in range(40):
        await first.secrets.set(first.workspace_id, f"s{number}", f"value {number}", by=first.by)
    await first.database.close()
    root = Path(__file__).parents[2]
    environ = {**os.environ, "PYTHONPATH": f"{root / 'src'}{os.pathsep}{root}"}
    for round_ in range(6):
        command = [sys.executable, "-c", ROTATING, str(folder)]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, env=environ)  # noqa: ASYNC220 - nothing else runs
        assert child.stdout is not None and child.stdout.readline() == b"ready\n"
        await asyncio.sleep(0.013 * round_)  # somewhere else in the loop each time
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()
        after = await open_secrets(folder)
        found = [await after.secrets.value(after.workspace_id, f"s{number}") for number in range(40)]
        assert found == [f"value {number}" for number in range(40)]
        await after.database.close()


async def test_a_database_whose_master_key_is_gone_says_so_and_makes_no_new_one(place: SecretsHarness) -> None:
    await place.secrets.set(place.workspace_id, "mail", "value", by=place.by)
    (place.folder / "secret.key").unlink()
    again = await open_secrets(place.folder)
    with pytest.raises(SecretUnavailable):
        await again.secrets.value(place.workspace_id, "mail")
    with pytest.raises(SecretUnavailable):
        await again.secrets.set(place.workspace_id, "other", "value", by=place.by)
    assert not (place.folder / "secret.key").exists()
    await again.database.close()


async def test_the_key_file_is_private_and_refused_once_others_could_read_it(place: SecretsHarness) -> None:
    await place.secrets.set(place.workspace_id, "mail", "value", by=place.by)
    key = place.folder / "secret.key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    key.chmod(0o644)
    again = await open_secrets(place.folder)
    with pytest.raises(DataDirectoryUnusable, match="other users"):
        await again.secrets.value(place.workspace_id, "mail")
    await again.database.close()


def test_the_cryptography_library_is_not_imported_before_it_is_needed() -> None:
    code = (
        "import executor.secrets.secrets, executor.connections.connections, sys; print('cryptography' in sys.modules)"
    )
    environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")}
    done = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"

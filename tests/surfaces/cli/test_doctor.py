"""`executor doctor` finds what `executor up` would refuse, before anyone starts it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from executor.daemon.doctor.checks import examine_place
from executor.settings import Settings
from tests.surfaces.cli.conftest import Cli

Break = Callable[[Cli], dict[str, str]]


def unknown_scheme(cli: Cli) -> dict[str, str]:
    return {"EXECUTOR_DATABASE_URL": "oracle://db.invalid/executor"}


def below_a_file(cli: Cli) -> dict[str, str]:
    (cli.home / "file").touch()
    return {"EXECUTOR_DATABASE_URL": f"sqlite:///{cli.home}/file/executor.db"}


def a_folder(cli: Cli) -> dict[str, str]:
    (cli.home / "folder").mkdir()
    return {"EXECUTOR_DATABASE_URL": f"sqlite:///{cli.home}/folder"}


def no_database(cli: Cli) -> dict[str, str]:
    (cli.home / "other.db").write_text("this is not a database, and never was one")
    return {"EXECUTOR_DATABASE_URL": f"sqlite:///{cli.home}/other.db"}


def lost_database(cli: Cli) -> dict[str, str]:
    (cli.data_dir / "installation.json").write_text(json.dumps({"organization": "org_1", "heads": {}}))
    return {}


def newer_schema(cli: Cli) -> dict[str, str]:
    with sqlite3.connect(cli.data_dir / "executor.db") as c:
        c.execute("CREATE TABLE alembic_version (version_num VARCHAR(32))")
        c.execute("INSERT INTO alembic_version VALUES ('9999')")
    c.close()
    return {}


def readable_token(cli: Cli) -> dict[str, str]:
    (cli.data_dir / "operator.token").write_text("exo_" + "a" * 43)
    (cli.data_dir / "operator.token").chmod(0o644)
    (cli.data_dir / "installation.json").write_text(json.dumps({"organization": "", "heads": {}}))
    return {}


def token_without_content(cli: Cli) -> dict[str, str]:
    (cli.data_dir / "agent.token").write_text("nothing\n")
    (cli.data_dir / "agent.token").chmod(0o600)
    return {}


def open_folder_of_someone(cli: Cli) -> dict[str, str]:
    cli.data_dir.chmod(0o755)
    (cli.data_dir / "photos").mkdir()
    return {"EXECUTOR_STATE_DIR": str(cli.home / "state")}


def linked_log(cli: Cli) -> dict[str, str]:
    (cli.state_dir / "daemon.log").symlink_to(cli.home / "elsewhere.log")
    return {}


def unsafe_key(cli: Cli) -> dict[str, str]:
    (cli.data_dir / "secret.key.next").write_text("no key")
    return {}


def odd_issuer(cli: Cli) -> dict[str, str]:
    return {"EXECUTOR_MCP_ISSUER": "https://login.example:99999/realm"}


def files(cli: Cli) -> list[str]:
    """Without those that SQLite keeps beside a database while it is read."""
    return sorted(path.name for path in cli.data_dir.iterdir() if not path.name.startswith("executor.db-"))


@pytest.mark.parametrize(
    "damage",
    [unknown_scheme, below_a_file, a_folder, no_database, lost_database, newer_schema, readable_token,
     token_without_content, open_folder_of_someone, linked_log, unsafe_key, odd_issuer],
)  # fmt: skip
def test_what_a_start_refuses_is_a_failure_of_a_check(own: Cli, damage: Break) -> None:
    environment = damage(own)
    refused = own("up", **environment)
    assert refused.code != 0, refused.out
    settings = Settings.load({**own.environment, **environment})
    before = files(own)
    failed = [check for check in examine_place(settings) if check.status == "failure"]
    assert failed, refused.err
    assert all(check.message and check.hint for check in failed), failed
    assert files(own) == before


def test_the_command_shows_the_database_url_that_can_not_be_used(own: Cli) -> None:
    done = own("doctor", EXECUTOR_DATABASE_URL="oracle://db.invalid/executor")
    assert done.code == 1
    assert "FAILURE  database: EXECUTOR_DATABASE_URL starts with `oracle:`" in done.out
    assert "sqlite:///" in done.out and "postgresql://" in done.out


def test_a_postgresql_server_that_can_not_be_reached_is_a_failure(own: Cli) -> None:
    done = own("doctor", EXECUTOR_DATABASE_URL="postgresql://me:canary-pw@127.0.0.1:1/executor")
    assert done.code == 1
    assert (
        "FAILURE  database: the connection to PostgreSQL was lost or can't be made: PostgreSQL 127.0.0.1:1/executor"
        in done.out
    )
    assert "canary" not in done.out + done.err


def test_the_state_directory_of_another_daemon_is_a_failure(shared: Cli, tmp_path: Path) -> None:
    environment = {
        **shared.environment,
        "EXECUTOR_DATA_DIR": str(tmp_path),
        "EXECUTOR_STATE_DIR": str(shared.state_dir),
    }
    failed = [check for check in examine_place(Settings.load(environment)) if check.status == "failure"]
    assert any(f"is used by the daemon of {shared.data_dir}" in check.message for check in failed)


def test_a_sound_installation_has_no_failures(shared: Cli) -> None:
    settings = Settings.load(shared.environment)
    assert [check for check in examine_place(settings) if check.status == "failure"] == []

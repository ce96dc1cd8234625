from __future__ import annotations

import click

from executor.settings import Settings
from executor.surfaces.cli import exit_codes
from executor.surfaces.cli.commands.daemon.doctor import show_checks
from executor.surfaces.cli.main import group
from executor.surfaces.cli.output import emit_result, interactive, say

command = group("db")


@command.command("migrate")
def migrate(as_json: bool) -> int:
    """Bring the database to this version's schema. Stop the daemon first.

    A new PostgreSQL database gets its tables. SQLite needs this never: the daemon does it when it starts.
    """
    from executor.daemon import database_setup

    changed = database_setup.migrate(Settings.load())
    emit_result({"changed": changed}, "migrated" if changed else "nothing to do", as_json)
    return exit_codes.COMPLETED


@command.command("check")
def check(as_json: bool) -> int:
    """Check the database: reachable, rights, durability, latency, clock, schema. Exits with 1 if a check fails."""
    from executor.daemon import database_setup

    return show_checks([found.to_dict() for found in database_setup.check(Settings.load())], as_json)


@command.command("copy")
@click.option(
    "--from", "origin", default="", metavar="URL", help="sqlite:///path. Default: that of the data directory."
)
@click.option("--to", "target", default="", metavar="URL", help="postgresql://… Default: EXECUTOR_DATABASE_URL.")
def copy(origin: str, target: str, as_json: bool) -> int:
    """Copy an SQLite database into an empty PostgreSQL database. Stop the daemon first.

    The copy is compared with the source: rows of each table, and the audit log of each workspace. If it is interrupted,
    run it again: it continues. Set EXECUTOR_DATABASE_URL instead of `--to` if the URL has a password, since other users
    of this machine can see arguments.
    """
    from executor.daemon import database_setup

    def progress(table: str, done: int, of: int) -> None:
        if interactive() or done == of:
            say(f"{table}: {done:,} of {of:,}")

    counts = database_setup.copy(Settings.load(), origin, target, progress)
    rows = sum(counts.values())
    emit_result({"rows": rows, "tables": counts}, f"copied and compared {rows:,} rows", as_json)
    return exit_codes.COMPLETED

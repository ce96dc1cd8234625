from __future__ import annotations

import sys
from typing import Any

import click

from executor.surfaces.cli import exit_codes
from executor.surfaces.cli.client import connect
from executor.surfaces.cli.main import group
from executor.surfaces.cli.options import limit_option
from executor.surfaces.cli.output import clean, emit, emit_json, emit_page, safe_json, say
from executor.surfaces.cli.time_options import range_options

VERIFY_SECONDS = 600.0


command = group("audit")


@command.command("list")
@click.option("--actor", metavar="NAME", help="Only events of this actor, by name or ID.")
@click.option("--type", metavar="TYPE", help="Only this event type, or all with a prefix: 'policy.*'.")
@range_options
@click.option("--before", type=click.IntRange(min=0), help="Only events with a smaller number.")
@limit_option(50)
def listing(as_json: bool, **asked: Any) -> None:
    """List events, newest first."""
    page = connect().get("/v1/audit", **asked)
    columns = {"at": "AT", "type": "TYPE", "actor": "ACTOR", "origin": "FROM", "executionId": "EXECUTION"}
    emit_page(page, {**columns, "data": "WHAT"}, as_json)


@command.command("verify")
@click.option("--head", metavar="HEAD", help="A head that an earlier check printed and that you stored elsewhere.")
def verify(head: str | None, as_json: bool) -> int:
    """Check that no event was changed, removed, inserted or reordered."""
    report = connect().get("/v1/audit/verify", head=head, seconds=VERIFY_SECONDS)
    if as_json:
        emit_json(report)
    elif report["ok"]:
        emit(f"intact: {report['events']} events, head {clean(report['head'])}")
        say("store the head elsewhere: with `--head` you can later prove that nothing before it was rewritten")
    else:
        broken = report["broken"]
        where = "" if broken["eventId"] is None else f" at event {broken['eventId']}"
        emit(f"broken{where}: {clean(broken['problem'])}")
    return exit_codes.COMPLETED if report["ok"] else exit_codes.FAILED


@command.command("export")
@click.option("--after", type=click.IntRange(min=0), default=0, help="Only events with a larger number.")
def export(after: int, as_json: bool) -> int:
    """Export all events as JSON lines, oldest first. --json has no effect: every line is JSON."""
    line = ""
    for line in connect().lines(f"/v1/audit/export?after={after}"):
        sys.stdout.write(f"{safe_json(line)}\n")
    sys.stdout.flush()
    if '"audit.exported"' in line:  # the export itself is the last event of every export
        return exit_codes.COMPLETED
    say("the daemon stopped before all events were written: continue with --after and the ID of the last line")
    return exit_codes.FAILED

from __future__ import annotations

from typing import Any

import click

from executor.errors import NotFound
from executor.surfaces.cli import exit_codes
from executor.surfaces.cli.client import connect, segment
from executor.surfaces.cli.follow import show_failure
from executor.surfaces.cli.main import group
from executor.surfaces.cli.options import limit_option
from executor.surfaces.cli.output import (
    clean,
    clean_lines,
    emit,
    emit_json,
    emit_page,
    emit_result,
    facts,
    json_text,
    quote_remote,
    table,
)
from executor.surfaces.cli.prompts.approval import say_how_to_go_on
from executor.surfaces.cli.time_options import range_options

STATUSES = ("queued", "running", "paused", "completed", "failed", "cancelled")


command = group("executions")


@command.command("list")
@click.option(
    "--status",
    type=click.Choice(STATUSES),
    multiple=True,
    help="Only executions with this status; repeatable.",
)
@click.option("--language", metavar="LANGUAGE", help="Only code in this language.")
@click.option("--runtime", metavar="RUNTIME", help="Only executions that used this runtime.")
@click.option("--actor", metavar="NAME", help="Only executions submitted by this actor, by name or ID.")
@click.option(
    "--tool", metavar="PATH", help="Only executions that called this tool or any tool below it: shop, shop.things."
)
@click.option("--text", metavar="TEXT", help="Only code that contains this text.")
@range_options
@click.option("--before", metavar="ID", help="Only entries older than this one.")
@limit_option(50)
def listing(as_json: bool, **asked: Any) -> None:
    """List executions, newest first."""
    page = connect().get("/v1/executions", **asked)
    empty = "no match among the executions that were searched" if page.get("partial") else "no executions"
    emit_page(page, _COLUMNS, as_json, empty=empty)


_COLUMNS = {
    "executionId": "ID",
    "status": "STATUS",
    "createdAt": "CREATED",
    "actor": "ACTOR",
    "through": "BY",
    "calls": "CALLS",
    "preview": "CODE",
}


@command.command("show")
@click.argument("execution_id", metavar="ID")
@click.option("--call", "seq", type=click.IntRange(min=0), help="Show only this call, in full, by its number.")
def show(execution_id: str, seq: int | None, as_json: bool) -> None:
    """Show an execution with its code, calls, logs and outcome."""
    path, client = f"/v1/executions/{segment(execution_id)}", connect()
    if seq is not None:
        _show_call(client.get(f"{path}/calls", seq=seq)["items"], seq, as_json)
        return
    view = client.get(path, include="calls,code")
    if as_json:
        emit_json(view)
        return
    pairs = [(label, view.get(field)) for label, field in _FACTS.items()]
    emit(facts(pairs))
    emit(f"\ncode\n{_indent(view.get('code') or '')}")
    if view.get("calls"):
        emit(f"\n{calls_table(view['calls'])}")
    if view["status"] == "completed":
        emit(f"\nresult\n{_indent(json_text(view.get('result')))}")
    elif view["status"] == "paused":
        say_how_to_go_on(view)
    elif view.get("error"):
        show_failure(view)


def _show_call(found: list[dict[str, Any]], seq: int, as_json: bool) -> None:
    if not found:
        raise NotFound(f"there is no call {seq}", hint="`executor executions show ID` lists its calls")
    [call] = found
    if as_json:
        emit_json(call)
        return
    times = [(name, call[field]) for name, field in _TIMES.items()]
    emit(facts([("call", seq), ("tool", call["path"]), ("effect", call["effect"]), ("state", call["state"]), *times]))
    emit(f"\narguments\n{_indent(json_text(call['arguments']))}")
    ended = "error" if call["error"] else "result"
    emit(f"\n{ended}\n{_indent(json_text(call[ended]))}")


_TIMES = {"made": "createdAt", "sent": "startedAt", "answered": "finishedAt"}
_FACTS = {
    "execution": "executionId",
    "status": "status",
    "by": "actor",
    "through": "through",
    "language": "language",
    "runtime": "runtime",
    "created": "createdAt",
    "finished": "finishedAt",
}


@command.command("logs")
@click.argument("execution_id", metavar="ID")
def logs(execution_id: str, as_json: bool) -> None:
    """Print what the code logged."""
    page = connect().get(f"/v1/executions/{segment(execution_id)}/logs")
    if as_json:
        emit_json(page)
        return
    for line in page["items"]:
        emit(f"{clean(line['at'])}  {clean(line['level'])}: {quote_remote(line['text'])}")


@command.command("cancel")
@click.argument("execution_id", metavar="ID")
def cancel(execution_id: str, as_json: bool) -> None:
    """Cancel an execution and withdraw its pending approvals."""
    view = connect().post(f"/v1/executions/{segment(execution_id)}/cancel")
    emit_result(view, f"{clean(view['status'])} {clean(view['executionId'])}", as_json)


@command.command("replay")
@click.argument("execution_id", metavar="ID")
def replay(execution_id: str, as_json: bool) -> int:
    """Replay an execution from its journal and compare the outcome. Nothing is called."""
    report = connect().post(f"/v1/executions/{segment(execution_id)}/replay", seconds=600.0)
    if as_json:
        emit_json(report)
    else:
        emit(f"{'matches' if report['matches'] else 'differs'}: {quote_remote(report.get('detail') or 'same outcome')}")
        if difference := report.get("difference"):
            emit(f"\nrecorded\n{_indent(json_text(difference['recorded']))}")
            emit(f"\nreplay\n{_indent(json_text(difference['replayed']))}")
    return exit_codes.COMPLETED if report["matches"] else exit_codes.FAILED


def calls_table(calls: list[dict[str, Any]]) -> str:
    columns = {"seq": "CALL", "path": "TOOL", "effect": "EFFECT", "state": "STATE", "arguments": "ARGUMENTS"}
    shown = [{**call, "path": call.get("path") or call.get("kind")} for call in calls]
    return table(shown, columns)


def _indent(text: str) -> str:
    return "\n".join(f"  {line}" for line in clean_lines(text).splitlines())

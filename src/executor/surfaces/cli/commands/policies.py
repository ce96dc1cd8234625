from __future__ import annotations

from typing import Any

import click

from executor.surfaces.cli.client import connect, segment
from executor.surfaces.cli.main import group
from executor.surfaces.cli.output import clean, emit, emit_json, emit_result, say, table
from executor.surfaces.cli.policy_options import (
    ACTIONS,
    describe_matches,
    parse_option,
    policy_body,
    policy_options,
    policy_table,
)

position_option = click.option(
    "--position", type=click.IntRange(min=0), help="Position within its level. Default: last."
)


command = group("policies")


@command.command("list")
def listing(as_json: bool) -> None:
    """List policies in order, with the number of tools each matches."""
    page = connect().get("/v1/policies", reach="true")
    if as_json:
        emit_json(page)
    elif page["items"]:
        emit(policy_table(page["items"]))
    else:
        say("no policies: reads are allowed, everything else needs approval")


@command.command("add")
@click.argument("pattern")
@click.argument("action", type=click.Choice(ACTIONS))
@policy_options
@position_option
def add(pattern: str, action: str, position: int | None, as_json: bool, **policy: Any) -> None:
    """Add a policy. PATTERN is a path; `*` matches one part, `.**` everything below."""
    client, body = connect(), policy_body(pattern, action, **policy)
    place = {} if position is None else {"position": position}
    policy = client.post("/v1/policies", {**body, **place})
    if as_json:
        emit_json(policy)
        return
    emit(f"added {clean(policy['id'])}: {clean(policy['text'])}")
    say(describe_matches(client.post("/v1/policies/matches", body), pattern))


@command.command("change")
@click.argument("policy_id", metavar="ID")
@click.option("--pattern", help="New pattern.")
@click.option("--action", type=click.Choice(ACTIONS), help="New action.")
@click.option("--unconditional", is_flag=True, help="Remove all conditions.")
@policy_options
def change(policy_id: str, unconditional: bool, as_json: bool, **given: Any) -> None:
    """Change a policy. Options you leave out stay as they are; --when replaces all conditions."""
    body = {name: value for name, value in policy_body(**given).items() if value not in (None, "", [])}
    if unconditional:
        body["conditions"] = []
    policy = connect().patch(f"/v1/policies/{segment(policy_id)}", body)
    emit_result(policy, f"changed {clean(policy['id'])}: {clean(policy['text'])}", as_json)


@command.command("move")
@click.argument("policy_id", metavar="ID")
@click.argument("position", type=click.IntRange(min=0))
def move(policy_id: str, position: int, as_json: bool) -> None:
    """Move a policy within its level; 0 is first."""
    policy = connect().post(f"/v1/policies/{segment(policy_id)}/move", {"position": position})
    emit_result(policy, f"moved {clean(policy['id'])} to {clean(policy['position'])}: {clean(policy['text'])}", as_json)


@command.command("renew")
@click.argument("policy_id", metavar="ID")
def renew(policy_id: str, as_json: bool) -> None:
    """Renew a policy for the current tools and sources."""
    policy = connect().post(f"/v1/policies/{segment(policy_id)}/renew", {})
    emit_result(policy, f"renewed {clean(policy['id'])}: {clean(policy['text'])}", as_json)


@command.command("remove")
@click.argument("policy_id", metavar="ID")
def remove(policy_id: str, as_json: bool) -> None:
    """Remove a policy."""
    answer = connect().delete(f"/v1/policies/{segment(policy_id)}")
    emit_result(answer or {"removed": policy_id}, f"removed {clean(policy_id)}", as_json)


@command.command("test")
@click.argument("path")
@click.option("--arguments", metavar="JSON", help="The arguments of the call.")
@click.option("--actor", default="", metavar="NAME", help="The calling actor. Default: you.")
@click.option("--why", is_flag=True, help="Also explain why the other policies did not apply.")
def test(path: str, arguments: str | None, actor: str, why: bool, as_json: bool) -> None:
    """Show which policy decides about a call. Nothing is called."""
    body: dict[str, Any] = {"path": path, **({"actor": actor} if actor else {})}
    if arguments is not None:
        body["arguments"] = parse_option("--arguments", arguments)
    decision = connect().post("/v1/policies/test", body)
    if as_json:
        emit_json(decision)
        return
    emit(_describe(decision))
    if why and decision["rules"]:
        rows = [{**one, "id": one["policy"]["id"], "rule": one["policy"]["text"]} for one in decision["rules"]]
        emit(table(rows, {"id": "ID", "rule": "RULE", "verdict": "VERDICT", "why": "WHY"}))


@command.command("simulate")
@click.argument("pattern", required=False)
@click.argument("action", type=click.Choice(ACTIONS), required=False)
@policy_options
@position_option
@click.option(
    "--order", metavar="ID,ID", help="Simulate a new order of one level. Policies you leave out count as removed."
)
@click.option("--without", multiple=True, metavar="ID", help="Simulate removing this policy; repeatable.")
@click.option(
    "--limit", type=click.IntRange(1, 1000), default=200, show_default=True, help="How many past calls to evaluate."
)
def simulate(pattern: str | None, action: str | None, order: str, as_json: bool, **given: Any) -> None:
    """Show what a policy or a new order would have changed in past executions."""
    body: dict[str, Any] = {name: given.pop(name) for name in ("limit", "without", "position")}
    if pattern is not None:
        if action is None:
            raise click.UsageError("a policy needs a PATTERN and an ACTION")
        body["rule"] = policy_body(pattern, action, **given)
    if order:
        body["order"] = [one.strip() for one in order.split(",")]
    found = connect().post("/v1/policies/simulate", body)
    if as_json:
        emit_json(found)
        return
    rows = [{**one, "was": one["before"]["action"], "would": one["after"]["action"]} for one in found["changed"]]
    if rows:
        columns = {"executionId": "EXECUTION", "path": "TOOL", "actor": "ACTOR", "was": "NOW", "would": "THEN"}
        emit(table(rows, columns))
    say(f"{len(rows)} of the last {found['judged']} calls would be decided differently")


def _describe(decision: dict[str, Any]) -> str:
    policy = decision.get("policy")
    by = f"\nby policy {clean(policy['id'])} of the {clean(policy['level'])}: {clean(policy['text'])}" if policy else ""
    return f"{clean(decision['action'])}: {clean(decision.get('reason', ''))}{by}"

from __future__ import annotations

from typing import Any

import click

from executor.errors import SampleFailed
from executor.surfaces.cli import exit_codes
from executor.surfaces.cli.client import Client, Refused, connect
from executor.surfaces.cli.follow import ExecutionFollower, show_failure
from executor.surfaces.cli.main import COMMANDS
from executor.surfaces.cli.options import json_option
from executor.surfaces.cli.output import clean, clean_lines, emit, emit_json, json_text, program, say

NAMESPACE = "demo"
LOAD_SECONDS = 60.0
DISCOVER = 'return await tools.discover({query: "refund an invoice", limit: 3});'
READ = 'return await tools.demo.invoices.listInvoices({status: "paid"});'
WRITE = """\
const [invoice] = await tools.demo.invoices.listInvoices({status: "paid", limit: 1});
console.log(`refunding 5 of ${invoice.amount} ${invoice.currency}`);
const refund = await tools.demo.refunds.createRefund({id: invoice.id, amount: 5, reason: "Late delivery"});
return {customer: invoice.customer, refunded: refund.amount};"""


@click.command("demo", help=COMMANDS["demo"])
@click.option("--no-open", is_flag=True, help="Don't prompt in the terminal when a decision is needed.")
@json_option
def command(no_open: bool, as_json: bool) -> int:
    client = connect()
    source = _connect(client)
    _step(1, "connect", f"a sample API is running at {clean(source['baseUrl'])} and connected as source `{NAMESPACE}`")
    say(f"  {source['toolCount']} tools; remove them with `{program()} sources remove {NAMESPACE}`")
    found = _ran(client, 2, "discover: find the right tool", DISCOVER)
    say(f"  → {clean(found['bestPath'])}\n{_indent(found['items'][0]['signature'])}")
    read = _ran(client, 3, "read: allowed without approval", READ)
    say(f"  →\n{_indent(json_text(read))}")
    return _write(ExecutionFollower(client, as_json=as_json, ask=not no_open), as_json)


def _write(follower: ExecutionFollower, as_json: bool) -> int:
    _step(4, "write: needs approval, unless a policy allows it", "")
    say(_indent(WRITE))
    view = follower.run({"code": WRITE})
    timeline = _timeline(follower.client, view["executionId"])
    if as_json:
        emit_json({**view, "timeline": timeline})
        return exit_codes.of_execution(view)
    code = follower.finish(view)
    if code == exit_codes.COMPLETED and not any(event["type"].startswith("interaction.") for event in timeline):
        say("  a policy allows this call, so no decision was needed")
    if code in (exit_codes.COMPLETED, exit_codes.FAILED, exit_codes.DENIED):
        _step(5, "timeline: everything is recorded", "")
        emit("\n".join(_line(event) for event in timeline))
        say(f"\nTry your own code:\n  {program()} call {_quote(READ)}")
        say(f"or connect your own API:\n  {program()} sources add https://…/openapi.json")
    return code


def _connect(client: Client) -> dict[str, Any]:
    """What an older version connected at an address of its own makes way; someone else's `demo` is left alone."""
    known = _find_demo(client)
    if known and not known.get("hosted") and str(known.get("location")).startswith("http://127.0.0.1:"):
        client.delete(f"/v1/sources/{NAMESPACE}")
    return _view(client.post("/v1/sources/demo", seconds=LOAD_SECONDS))


def _find_demo(client: Client) -> dict[str, Any] | None:
    try:
        return _view(client.get(f"/v1/sources/{NAMESPACE}"))
    except Refused as error:
        if error.reported == "not_found":
            return None
        raise


def _view(value: Any) -> dict[str, Any]:
    return dict(value)


def _ran(client: Client, number: int, title: str, code: str) -> Any:
    _step(number, title, "")
    say(_indent(code))
    view = ExecutionFollower(client, as_json=True, ask=False).run({"code": code})
    if view["status"] != "completed":
        show_failure(view)
        raise SampleFailed(f"the demo could not continue: {title}", hint="`executor doctor` may show why")
    return view["result"]


def _timeline(client: Client, execution_id: str) -> list[dict[str, Any]]:
    return list(client.get(f"/v1/executions/{execution_id}/events")["items"])


def _line(event: dict[str, Any]) -> str:
    data = event.get("data") or {}
    detail = next((data[name] for name in ("path", "tool", "text", "reason", "code") if data.get(name)), "")
    return f"{clean(event['at'])}  {clean(event['type']):<24}{clean(detail)}".rstrip()


def _step(number: int, title: str, text: str) -> None:
    say(f"\n{number}. {title}")
    if text:
        say(f"  {text}")


def _indent(text: str) -> str:
    return "\n".join(f"  {line}" for line in clean_lines(text).splitlines())


def _quote(code: str) -> str:
    import shlex

    return shlex.quote(" ".join(code.split()))

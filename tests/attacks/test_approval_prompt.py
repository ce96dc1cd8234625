"""Attacks 75 to 77: what a human is shown is not what is sent, not all of it, or not where it goes."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from executor.errors import ToolError
from executor.execution.calls.arguments import parse_arguments
from executor.surfaces.mcp import gateway
from tests.sources.graphql.service import Service
from tests.sources.upstream import Got, serving
from tests.support.bank import TOKEN, bank, cli
from tests.surfaces.api.daemon_server import Daemon
from tests.surfaces.mcp.conftest import connect_client, text_of

PAY = "return await tools.bank.money.pay"


@pytest.fixture(scope="module")
def payments(daemon: Daemon) -> Iterator[list[Got]]:
    with bank(daemon) as payments:
        yield payments


def request_approval(daemon: Daemon, code: str, language: str = "typescript") -> Any:
    view = daemon.execute(code, language=language)
    assert view["status"] == "paused", view["error"]
    return view["interactions"][0]


def python(values: str) -> str:
    return f"return await tools.bank.money.pay({values})"


def whole(daemon: Daemon, interaction: Any) -> Any:
    return daemon.get(f"/v1/interactions/{interaction['id']}")


# -- 75 numbers -------------------------------------------------------------------------------------------------------

NUMBERS = {
    "beyond doubles": ("9007199254740993", "9007199254740993"),
    "of 64 bits": ("18446744073709551615", "18446744073709551615"),
    "a float that is whole": ("1.0", "1.0"),
    "minus nothing": ("-0.0", "-0.0"),
    "large": ("1e300", "1e+300"),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_75_a_number_is_shown_and_sent_digit_for_digit(daemon: Daemon, payments: list[Got], name: str) -> None:
    """Defence: arguments are shown from what `parse_arguments` read, which is what is sent."""
    written, expected = NUMBERS[name]
    approval = request_approval(daemon, python(f'account="1", body={{"amount": {written}}}'), "python")
    answer = whole(daemon, approval)
    assert f'"amount":{expected}'.encode() in answer.body
    assert f'"amount": {expected}\n' in answer.json["prompt"]
    assert f'"amount": {expected}' in cli(daemon, "approvals", "show", approval["id"]).stdout
    daemon.post(f"/v1/interactions/{approval['id']}/approve", {})
    done = daemon.get(f"/v1/executions/{approval['executionId']}?wait=60").json
    assert done["status"] == "completed", done
    assert json.dumps(json.loads(payments[-1].body)) == json.dumps({"amount": json.loads(expected)})


@pytest.mark.parametrize("number", ["18446744073709551616", "-9223372036854775809", "1" + "0" * 40])
def test_75_a_number_that_can_not_be_sent_exactly_is_refused(daemon: Daemon, payments: list[Got], number: str) -> None:
    """Defence: `Writer._number` in `runtime/python/json_writer.py`; behind it `find_rounded` in
    `execution/calls/arguments.py`."""
    before = len(payments)
    view = daemon.execute(python(f'account="1", body={{"amount": [{number}]}}'), language="python")
    assert (view["status"], view["error"]["code"]) == ("failed", "code_error"), view
    assert "beyond 64 bits" in view["error"]["message"] and len(payments) == before


@pytest.mark.parametrize("number", ["18446744073709551616", "-9223372036854775809", "1" + 40 * "0"])
def test_75_arguments_with_such_a_number_are_refused_whatever_wrote_them(number: str) -> None:
    """Defence: `find_rounded` in `execution/calls/arguments.py`: a sandbox on another machine may write what ours
    does not."""
    with pytest.raises(ToolError, match="can't be sent exactly"):
        parse_arguments(f'{{"body": {{"amount": [{number}]}}}}')


def test_75_nothing_in_the_web_client_reads_json_as_doubles() -> None:
    """Only `api/json.ts` may, and two files that keep what is the browser's own."""
    own = {"api/json.ts", "shell/recent.ts", "pages/playground/drafts.ts"}
    root = Path(__file__).parents[2] / "web" / "src"
    found = {
        str(file.relative_to(root))
        for file in root.rglob("*.ts*")
        if any(word in file.read_text() for word in ("JSON.parse", "JSON.stringify", ".json()"))
    }
    assert found <= own, found - own


# -- 76 all of it ------------------------------------------------------------------------------------------------------

LONG = {
    "a long list": {"to": [f"friend{n}@example.org" for n in range(400)] + ["attacker@evil.example"]},
    "a long text": {"text": "hello " * 3000 + "attacker@evil.example"},
    "a deep object": {"a": {"b": {"c": {"d": {"e": {"f": {"cmd": "attacker@evil.example"}}}}}}},
    "more than is kept": {"to": [f"friend{n}@example.org" for n in range(5000)] + ["attacker@evil.example"]},
}


def test_76_long_arguments_are_whole_where_they_are_decided(daemon: Daemon, payments: list[Got]) -> None:
    """Defence: `GET /v1/interactions/{id}` shows all of them; the terminal wants to know that they were read."""
    approval = request_approval(daemon, f'{PAY}({{account: "1", body: {json.dumps(LONG["more than is kept"])}}})')
    assert approval["argumentsCut"] and "attacker@evil.example" not in approval["prompt"]
    shown = whole(daemon, approval).json
    assert shown["argumentsCut"] is None and "attacker@evil.example" in shown["prompt"]
    assert shown["arguments"]["body"] == LONG["more than is kept"]
    assert "attacker@evil.example" in cli(daemon, "approvals", "show", approval["id"]).stdout
    refused = cli(daemon, "approvals", "approve", approval["id"])
    assert refused.returncode != 0 and "--full" in refused.stderr
    assert whole(daemon, approval).json["status"] == "pending"
    assert cli(daemon, "approvals", "approve", approval["id"], "--full").returncode == 0


TRICKS = {
    "a letter of another alphabet": ("p\u0430ypal", "p\\u{430}ypal"),
    "a word of another alphabet": ("\u0430\u0440\u0440\u04cf\u0435", "\\u{430}\\u{440}\\u{440}\\u{4cf}\\u{435}"),
    "fullwidth": ("\uff50aypal", "\\u{ff50}aypal"),
    "mathematical": ("\U0001d429aypal", "\\u{1d429}aypal"),
    "bidi": ("a\u202eb", "a\\u{202e}b"),
    "zero width": ("a\u200bb", "a\\u{200b}b"),
    "private use": ("a\ue000b", "a\\u{e000}b"),
    "tags": ("a\U000e0041b", "a\\u{e0041}b"),
    "variation selectors": ("a\ufe0fb", "a\\u{fe0f}b"),
    "floods": ("a" + "\u0301" * 4 + "b", "\\u{301}b"),
}


def test_76_the_browser_and_the_daemon_know_the_same_look_alikes() -> None:
    from executor.network.lookalikes import PAIRS

    file = Path(__file__).parents[2] / "web" / "src" / "text" / "lookalikes.ts"
    declared = file.read_text().partition("export const PAIRS =")[2].partition(";")[0]
    assert "".join(part for part in declared.split('"')[1::2]) == PAIRS


# -- 77 where it goes -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", ["typescript", "python"])
async def test_77_every_prompt_names_the_request_and_the_credential(
    daemon: Daemon, payments: list[Got], language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Defence: `CallSender.outline`, made by the code that builds the request. The value of the credential is in
    none."""
    code = {
        "typescript": f'{PAY}({{account: "a/b", memo: "x&y=1", body: {{to: "bob"}}}})',
        "python": python('account="a/b", memo="x&y=1", body={"to": "bob"}'),
    }[language]
    approval = request_approval(daemon, code, language)
    request = approval["request"]
    assert request.startswith("POST http://127.0.0.1:") and request.endswith("/accounts/a%2Fb/pay?memo=x%26y%3D1")
    prompts = [approval["prompt"], cli(daemon, "approvals", "show", approval["id"]).stdout]
    monkeypatch.setattr(gateway, "WAIT_SECONDS", 0.1)
    async with connect_client(daemon) as client:
        prompts.append(text_of(await client.call_tool("resume", {"executionId": approval["executionId"]})))
    for prompt in prompts:
        assert request in prompt and "alice (bearer, of the workspace)" in prompt and TOKEN not in prompt
    daemon.post(f"/v1/interactions/{approval['id']}/approve", {})
    assert daemon.get(f"/v1/executions/{approval['executionId']}?wait=60").json["status"] == "completed"
    assert request.endswith(payments[-1].target) and f"Bearer {TOKEN}" in payments[-1].headers.values()


def test_77_every_kind_of_source_says_what_it_would_call(
    daemon: Daemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Defence: `Outlines` of each kind."""
    (tmp_path / "ledger_of_tests.py").write_text("def book(amount: int) -> int:\n    return amount\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    server = Path(__file__).parents[1] / "sources" / "mcp" / "servers" / "real.py"
    with serving() as upstream:
        upstream.routes["/graphql"] = Service()
        sources: list[dict[str, Any]] = [
            {"location": f"{upstream.url}/graphql", "kind": "graphql", "namespace": "blog"},
            {"location": "python:ledger_of_tests", "namespace": "ledger_of_tests", "consent": True},
            {"command": [sys.executable, str(server), "stdio"], "namespace": "tools_of_tests", "consent": True},
        ]
        for source in sources:
            added = daemon.post("/v1/sources", source)
            assert added.status == 201, added.body
        try:
            graphql = request_approval(daemon, 'return await tools.blog.mutation.deletePost({id: "1"})')
            assert graphql["request"] == f"POST {upstream.url}/graphql mutation deletePost"
            functions = request_approval(daemon, "return await tools.ledger_of_tests.book({amount: 1})")
            assert functions["request"] == "ledger_of_tests.book() inside the daemon"
            code = 'return await tools.executor.sources.add({url: "https://example.org/", namespace: "x"})'
            builtin = request_approval(daemon, code)
            assert builtin["request"].startswith("Connect a source")
            daemon.post("/v1/policies", {"pattern": "tools_of_tests.add", "action": "require_approval"})
            command = request_approval(daemon, "return await tools.tools_of_tests.add({a: 1, b: 2})")
            assert command["request"].startswith("to the command `")
            assert command["request"].endswith('tools/call "add"')
        finally:
            for source in sources:
                daemon.request("DELETE", f"/v1/sources/{source['namespace']}")
            for policy in daemon.get("/v1/policies").json["items"]:
                daemon.request("DELETE", f"/v1/policies/{policy['id']}")

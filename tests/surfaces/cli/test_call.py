"""Running code from a terminal and from a script."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from executor.demo.server import DOCUMENT, DemoServer
from executor.surfaces.cli import exit_codes
from tests.support.conditions import wait_for
from tests.surfaces.cli.conftest import Cli

SHAPE = {"executionId", "status", "result", "error", "interactions", "logs"}
REFUND = 'return await tools.shop.refunds.createRefund({id: "inv_1003", amount: 1})'


def run_until_paused(cli: Cli, code: str = REFUND) -> dict[str, Any]:
    done = cli("call", "--json", code)
    assert done.code == exit_codes.PAUSED, done.err
    view: dict[str, Any] = done.json
    return view


def test_the_result_goes_to_standard_output_and_logs_do_not(shared: Cli) -> None:
    done = shared("call", "console.log('hello'); return {a: [1, 'grün']}")
    assert done.code == exit_codes.COMPLETED
    assert json.loads(done.out) == {"a": [1, "grün"]}
    assert "hello" in done.err


def test_code_comes_from_an_argument_a_file_or_standard_input(shared: Cli) -> None:
    (shared.home / "code.ts").write_text("const one: number = 1; return one + 1")
    assert shared("call", "return 2").out == "2\n"
    assert shared("call", "--file", str(shared.home / "code.ts")).out == "2\n"
    assert shared("call", "--stdin", stdin="return 2").out == "2\n"


def test_with_json_one_object_tells_everything(shared: Cli) -> None:
    done = shared("call", "--json", "console.log('x'); return 1")
    assert done.json.keys() >= SHAPE
    assert (done.json["status"], done.json["result"], done.json["error"]) == ("completed", 1, None)
    assert [line["text"] for line in done.json["logs"]] == ["x"]
    assert done.err == ""


def test_failing_code_is_reported_with_its_place(shared: Cli) -> None:
    done = shared("call", "--json", "const a = 1;\nthrow new Error('no luck')")
    assert done.code == exit_codes.FAILED
    assert done.json["error"]["code"] == "code_error"
    assert done.json["error"]["line"] == 2
    human = shared("call", "return 1 +")
    assert human.code == exit_codes.FAILED
    assert human.out == ""
    assert "syntax_error" in human.err
    assert "line 1" in human.err


def test_an_unknown_language_is_a_usage_error(shared: Cli) -> None:
    done = shared("call", "--json", "--language", "cobol", "return 1")
    assert done.code == exit_codes.USAGE
    assert done.json["error"]["code"] == "unknown_runtime"
    assert done.json.keys() >= SHAPE


def test_the_timeout_limits_the_active_time(shared: Cli) -> None:
    code = "await new Promise(done => setTimeout(done, 60000)); return 1"
    done = shared("call", "--json", "--timeout", "0.3", code)
    assert done.code == exit_codes.FAILED
    assert done.json["error"]["code"] == "wall_limit"


def test_without_a_terminal_a_paused_call_prints_the_commands_to_go_on_with(shared: Cli, shop: DemoServer) -> None:
    done = shared("call", REFUND)
    assert done.code == exit_codes.PAUSED
    assert done.out == ""
    commands = [line.split() for line in done.err.splitlines() if line.startswith("  executor ")]
    approve, _, resume = (command[1:] for command in commands)
    assert approve[:2] == ["approvals", "approve"]
    assert shared(*approve).code == exit_codes.COMPLETED
    resumed = shared(*resume)
    assert resumed.code == exit_codes.COMPLETED
    assert json.loads(resumed.out)["amount"] == 1
    assert shared(*resume).out == resumed.out


def test_a_denied_call_has_an_exit_code_of_its_own(shared: Cli, shop: DemoServer) -> None:
    view = run_until_paused(shared)
    settled = shared("approvals", "deny", view["interactions"][0]["id"], "--reason", "not today", "--json")
    assert settled.json["status"] == "denied"
    done = shared("resume", "--execution-id", view["executionId"], "--json")
    assert done.code == exit_codes.DENIED
    assert done.json["error"]["code"] == "denied"
    assert "not today" in json.dumps(done.json["error"])


def test_approving_twice_is_refused(shared: Cli, shop: DemoServer) -> None:
    view = run_until_paused(shared)
    interaction = view["interactions"][0]["id"]
    assert shared("approvals", "approve", interaction, "--json").json["status"] == "approved"
    again = shared("approvals", "approve", interaction, "--json")
    assert again.code == exit_codes.FAILED
    assert again.json["error"]["code"] == "already_settled"


def test_several_are_decided_one_by_one_and_one_that_can_not_be_keeps_no_other_from_it(
    shared: Cli, shop: DemoServer
) -> None:
    first, second, third, fourth = (run_until_paused(shared)["interactions"][0]["id"] for _ in range(4))
    done = shared("approvals", "approve", first, "int_nothing", second, first, "--json")
    assert done.code == exit_codes.FAILED
    assert [(one["id"], one["status"]) for one in done.json["items"]] == [(first, "approved"), (second, "approved")]
    assert [(one["id"], one["code"]) for one in done.json["failed"]] == [("int_nothing", "not_found")]
    done = shared("approvals", "deny", third, fourth, "--reason", "too many")
    assert done.code == exit_codes.COMPLETED
    assert done.out.splitlines() == [f"denied {one}: shop.refunds.createRefund" for one in (third, fourth)]
    refused = shared("approvals", "approve", first, second, "--for", "always", "--yes")
    assert refused.code == exit_codes.USAGE and "take one ID" in refused.err


def test_an_approval_of_something_that_changed_since_is_not_printed_as_approved(shared: Cli, shop: DemoServer) -> None:
    paused = json.loads(shared("call", REFUND, "--json").out)
    [asked] = paused["interactions"]
    policy = json.loads(shared("policies", "add", "elsewhere.*", "deny", "--json").out)
    try:
        assert "the policies changed after the request was shown" in shared("approvals", "show", asked["id"]).out
        decided = shared("approvals", "approve", asked["id"])
        assert decided.code == exit_codes.FAILED
        assert decided.out.startswith(f"not approved {asked['id']}: "), decided.out
        assert "A new request replaces it" in decided.out
        again = json.loads(shared("resume", "--execution-id", paused["executionId"], "--json").out)
        [successor] = again["interactions"]
        assert successor["id"] != asked["id"]
        assert shared("approvals", "approve", successor["id"]).out.startswith(f"approved {successor['id']}: ")
    finally:
        shared("policies", "remove", policy["id"])


def test_the_agents_token_can_not_approve(shared: Cli, shop: DemoServer) -> None:
    token = (shared.data_dir / "agent.token").read_text().strip()
    view = run_until_paused(shared)
    interaction = view["interactions"][0]["id"]
    done = shared("approvals", "approve", interaction, "--json", EXECUTOR_TOKEN=token)
    assert done.code == exit_codes.FAILED
    assert done.json["error"]["code"] == "forbidden"
    assert shared("approvals", "show", interaction, "--json").json["status"] == "pending"
    assert shared("executions", "cancel", view["executionId"]).code == exit_codes.COMPLETED


def test_a_wrong_token_is_reported(shared: Cli) -> None:
    done = shared("executions", "list", "--json", EXECUTOR_TOKEN="exo_wrong")
    assert done.code == exit_codes.FAILED
    assert done.json["error"]["code"] == "unauthorized"


def test_executions_can_be_listed_shown_checked_and_cancelled(shared: Cli, shop: DemoServer) -> None:
    view = run_until_paused(shared, f"console.log('before'); {REFUND}")
    execution = view["executionId"]
    assert execution in shared("executions", "list", "--status", "paused").out
    assert "shop.refunds.createRefund" in shared("executions", "show", execution).out
    assert "before" in shared("executions", "logs", execution).out
    assert shared("executions", "cancel", execution, "--json").json["status"] == "cancelled"
    assert shared("executions", "cancel", execution).code == exit_codes.FAILED
    finished = shared("call", "--json", "return Math.random()").json
    assert shared("executions", "replay", finished["executionId"], "--json").json["matches"] is True


def test_an_unknown_execution_is_reported(shared: Cli) -> None:
    done = shared("resume", "--execution-id", "exe_none/../x", "--json")
    assert done.code == exit_codes.FAILED
    assert done.json["error"]["code"] == "not_found"


def test_sources_tools_and_policies_can_be_looked_after(shared: Cli, shop: DemoServer) -> None:
    assert "shop" in shared("sources", "list").out
    assert shared("sources", "show", "shop", "--json").json["toolCount"] > 0
    assert shared("sources", "refresh", "shop").code == exit_codes.COMPLETED
    assert "shop.refunds.createRefund" in shared("tools", "search", "refund", "an", "invoice").out
    assert "amount" in shared("tools", "describe", "shop.refunds.createRefund").out
    assert "shop.invoices.listInvoices" in shared("tools", "list", "--source", "shop").out
    policy = shared("policies", "add", "shop.customers.**", "deny", "--json").json
    tested = shared("policies", "test", "shop.customers.listCustomers", "--json").json
    assert (tested["action"], tested["policyId"]) == ("deny", policy["id"])
    assert policy["id"] in shared("policies", "list").out
    assert shared("call", "return await tools.shop.customers.listCustomers({})").code == exit_codes.DENIED
    assert shared("policies", "remove", policy["id"]).code == exit_codes.COMPLETED
    assert shared("call", "return await tools.shop.customers.listCustomers({})").code == exit_codes.COMPLETED


def test_a_source_can_come_from_a_file_and_go(shared: Cli) -> None:
    (shared.home / "api.json").write_text(json.dumps(DOCUMENT))
    added = shared(
        "sources",
        "add",
        str(shared.home / "api.json"),
        "--namespace",
        "filed",
        "--base-url",
        "http://127.0.0.1:9",
        "--json",
    )
    assert added.json["namespace"] == "filed"
    assert shared("sources", "remove", "filed").code == exit_codes.COMPLETED
    assert shared("sources", "show", "filed").code == exit_codes.FAILED
    assert shared("sources", "add", "none.json", "--json").code == exit_codes.USAGE


def interruptible() -> None:
    """What a shell starts in the background ignores interrupts, and hands that down."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextmanager
def terminal(own: Cli, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Standard input and standard error are a terminal, standard output is a pipe."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        own.command(*arguments), env=own.environment, stdin=theirs, stderr=theirs, stdout=subprocess.PIPE, text=True,
        start_new_session=True, preexec_fn=interruptible,
    )  # fmt: skip
    os.close(theirs)
    try:
        yield process, ours
        process.wait(60)
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()  # unread: something that it started may hold the other end
        os.close(ours)


def read_until(descriptor: int, text: str) -> str:
    seen = b""
    while text.encode() not in seen:
        chunk = os.read(descriptor, 65536)
        assert chunk, seen
        seen += chunk
    return seen.decode()


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ("a\n", exit_codes.COMPLETED),
        ("deny\n\n", exit_codes.DENIED),
        ("\n", exit_codes.PAUSED),
        ("\x04", exit_codes.PAUSED),
    ],
)
def test_a_terminal_asks_for_approval_and_only_a_clear_yes_approves(
    shared: Cli, shop: DemoServer, answer: str, code: int
) -> None:
    with terminal(shared, "call", REFUND) as (process, screen):
        asked = read_until(screen, "[leave]")
        for shown in ("shop.refunds.createRefund", "write", shop.url, '"amount": 1'):
            assert shown in asked
        os.write(screen, answer.encode())
        assert process.wait(60) == code


def test_with_no_open_nothing_is_asked_in_a_terminal(shared: Cli, shop: DemoServer) -> None:
    with terminal(shared, "call", "--no-open", REFUND) as (process, screen):
        read_until(screen, "to approve it")
        assert process.wait(60) == exit_codes.PAUSED


def test_ctrl_c_leaves_the_execution_running_and_says_how_to_go_on(shared: Cli) -> None:
    code = "console.log('under way'); await new Promise(done => setTimeout(done, 60000)); return 1"
    with terminal(shared, "call", code) as (process, screen):
        read_until(screen, "under way")
        process.send_signal(signal.SIGINT)
        said = read_until(screen, "executions cancel")
        assert process.wait(120) == exit_codes.INTERRUPTED
    execution = said.split("execution ", 1)[1].split()[0]
    assert shared("executions", "show", execution, "--json").json["status"] == "running"
    assert shared("executions", "cancel", execution).code == exit_codes.COMPLETED


def test_a_daemon_that_dies_under_a_call_is_started_again_and_the_call_goes_on(own: Cli) -> None:
    assert own("up").code == 0
    pid = own.daemon["pid"]
    code = "console.log('under way'); await new Promise(done => setTimeout(done, 3000)); return 7"
    with own.start("call", code, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stderr
        wait_for(lambda: "under way" in process.stderr.readline() if process.stderr else False)
        os.kill(pid, signal.SIGKILL)
        out, said = process.communicate(timeout=120)
    assert (process.returncode, out) == (exit_codes.COMPLETED, "7\n"), said
    assert own.daemon["pid"] != pid


def test_what_was_typed_before_the_prompt_is_no_answer(shared: Cli, shop: DemoServer) -> None:
    code = f"console.log('soon'); await new Promise(done => setTimeout(done, 1500)); {REFUND}"
    with terminal(shared, "call", code) as (process, screen):
        read_until(screen, "soon")
        os.write(screen, b"a\n")
        read_until(screen, "[leave]")
        os.write(screen, b"\n")
        assert process.wait(60) == exit_codes.PAUSED


def test_a_decision_made_elsewhere_meanwhile_counts(shared: Cli, shop: DemoServer) -> None:
    with terminal(shared, "call", REFUND) as (process, screen):
        asked = read_until(screen, "[leave]")
        execution = asked.split("Execution:", 1)[1].split()[0]
        waiting = shared("approvals", "list", "--execution-id", execution, "--json").json["items"]
        assert shared("approvals", "approve", waiting[0]["id"]).code == exit_codes.COMPLETED
        os.write(screen, b"deny\n\n")
        assert process.wait(60) == exit_codes.COMPLETED

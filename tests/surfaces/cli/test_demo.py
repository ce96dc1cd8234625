from __future__ import annotations

import os

import pytest

from executor.surfaces.cli import exit_codes
from tests.surfaces.cli.conftest import Cli
from tests.surfaces.cli.test_call import read_until, terminal


def test_without_a_terminal_the_printed_commands_finish_it_and_it_can_be_run_again(own: Cli) -> None:
    done = own("demo")
    assert done.code == exit_codes.PAUSED, done.err
    commands = [line.split()[1:] for line in done.err.splitlines() if line.startswith("  executor ")]
    approve = next(command for command in commands if command[:2] == ["approvals", "approve"])
    resume = next(command for command in commands if command[0] == "resume")
    assert own(*approve).code == exit_codes.COMPLETED
    resumed = own(*resume)
    assert resumed.code == exit_codes.COMPLETED, resumed.err
    assert '"refunded": 5' in resumed.out
    again = own("demo", "--json")
    assert again.code == exit_codes.PAUSED
    assert again.json["interactions"][0]["tool"] == "demo.refunds.createRefund"
    assert {event["type"] for event in again.json["timeline"]} >= {"execution.created", "interaction.requested"}


def test_it_is_still_there_after_the_daemon_was_stopped(own: Cli) -> None:
    added = own("sources", "add", "--demo", "--json").json
    assert (added["namespace"], added["hosted"]) == ("demo", "demo")
    assert own("down").code == exit_codes.COMPLETED
    assert own("call", "--json", "return (await tools.demo.invoices.listInvoices({})).length").json["result"] == 4
    assert own("demo").code == exit_codes.PAUSED
    assert own("sources", "show", "demo", "--json").json["id"] == added["id"]


def test_in_a_terminal_it_asks_and_shows_result_and_timeline(own: Cli) -> None:
    with terminal(own, "demo") as (process, screen):
        asked = read_until(screen, "[leave]")
        assert "demo.refunds.createRefund" in asked
        os.write(screen, b"a\n")
        read_until(screen, "sources add")
        assert process.stdout
        shown = process.stdout.read()
        assert process.wait(60) == exit_codes.COMPLETED
    assert '"refunded": 5' in shown
    assert "interaction.approved" in shown
    assert "execution.completed" in shown


@pytest.mark.parametrize("answer", [b"d\n\n"])
def test_denying_it_ends_with_the_code_for_denied(own: Cli, answer: bytes) -> None:
    with terminal(own, "demo") as (process, screen):
        read_until(screen, "[leave]")
        os.write(screen, answer)
        assert process.wait(60) == exit_codes.DENIED

"""Approvals in a terminal: nothing but a known answer counts, what may be a secret is never shown, each is put once."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from executor.demo.server import DemoServer
from executor.surfaces.cli import exit_codes
from tests.support.protected_service import ProtectedService, running
from tests.surfaces.cli.conftest import Cli
from tests.surfaces.cli.test_call import REFUND, read_until, terminal

SECRET = "cnry-pasted-77q1"
APPROVE = "[l]eave it for later? [leave] "
CALLS = {
    "header": "return (await tools.guarded.use.header({})).url",
    "bearer": "return (await tools.guarded.use.bearer({})).url",
    "query": "return (await tools.guarded.use.query({})).url",
}


@dataclass(frozen=True)
class WithToken(Cli):
    token: str = ""

    @property
    def environment(self) -> dict[str, str]:
        return {**super().environment, "EXECUTOR_TOKEN": self.token}


@pytest.fixture(scope="module")
def protected_source(shared: Cli) -> Iterator[ProtectedService]:
    with running() as server:
        server.accepts = {"k-right"}
        added = shared("sources", "add", f"{server.url}/openapi.json", "--namespace", "guarded")
        assert added.code == 0, added.err
        yield server
        shared("sources", "remove", "guarded")


@pytest.mark.parametrize("odd", [b"yes\n", b"approved\n", b"  ?\n", b"a a\n"])
def test_what_is_no_answer_decides_nothing_and_is_asked_again(shared: Cli, shop: DemoServer, odd: bytes) -> None:
    with terminal(shared, "call", REFUND) as (process, screen):
        read_until(screen, APPROVE)
        os.write(screen, odd)
        assert "please answer approve, deny or leave" in read_until(screen, APPROVE)
        os.write(screen, b"l\n")
        assert process.wait(60) == exit_codes.PAUSED


def test_lines_that_were_pasted_after_a_wrong_one_are_no_answers(shared: Cli, shop: DemoServer) -> None:
    with terminal(shared, "call", REFUND) as (process, screen):
        read_until(screen, APPROVE)
        os.write(screen, b"some text\na\n")
        assert "please answer" in read_until(screen, APPROVE)
        os.write(screen, b"l\n")
        assert process.wait(60) == exit_codes.PAUSED


@pytest.mark.parametrize("typed", ["too much", ""])
def test_a_denial_carries_the_reason_that_was_typed(shared: Cli, shop: DemoServer, typed: str) -> None:
    with terminal(shared, "call", REFUND) as (process, screen):
        read_until(screen, APPROVE)
        os.write(screen, b"d\n")
        read_until(screen, "reason")
        os.write(screen, f"{typed}\n".encode())
        said = read_until(screen, "execution exec_")
        assert process.wait(60) == exit_codes.DENIED
    assert "denied" in said and typed in said


def test_an_approval_that_was_left_is_not_printed_again(shared: Cli, shop: DemoServer) -> None:
    with terminal(shared, "call", REFUND) as (process, screen):
        asked = read_until(screen, APPROVE)
        os.write(screen, b"\n")
        rest = read_until(screen, "resume --execution-id")
        assert process.wait(60) == exit_codes.PAUSED
    assert "Arguments:" in asked and "Arguments:" not in rest
    assert "shop.refunds.createRefund" in rest and "approvals approve int_" in rest


@pytest.mark.parametrize("call", CALLS)
def test_a_credential_is_asked_for_at_once_and_never_shown(
    shared: Cli, protected_source: ProtectedService, call: str
) -> None:
    with terminal(shared, "call", CALLS[call]) as (process, screen):
        asked = read_until(screen, "Enter for other choices): ")
        os.write(screen, b"k-right\n")
        assert process.wait(60) == exit_codes.COMPLETED
        assert process.stdout is not None
        assert f"/{call}" in process.stdout.read()
        rest = os.read(screen, 65536).decode()
    assert "nowhere else" in asked and "k-right" not in asked + rest
    assert shared("connections", "remove", "guarded").code == 0


def test_a_secret_pasted_where_a_choice_is_asked_is_not_shown_and_decides_nothing(
    shared: Cli, protected_source: ProtectedService
) -> None:
    with terminal(shared, "call", CALLS["bearer"]) as (process, screen):
        seen = read_until(screen, "Enter for other choices): ")
        os.write(screen, b"\n")
        seen += read_until(screen, APPROVE)
        os.write(screen, f"{SECRET}\n".encode())
        again = read_until(screen, APPROVE)
        assert "please answer deny or leave" in again
        os.write(screen, b"deny\n")
        seen += read_until(screen, "reason")
        os.write(screen, b"not with mine\n")
        seen += read_until(screen, "execution exec_")
        assert process.wait(60) == exit_codes.FAILED
    assert SECRET not in seen + again and "not with mine" in seen


def test_leaving_a_credential_for_later_names_the_commands_and_the_page(
    shared: Cli, protected_source: ProtectedService
) -> None:
    with terminal(shared, "call", CALLS["bearer"]) as (process, screen):
        read_until(screen, "Enter for other choices): ")
        os.write(screen, b"\x04")
        read_until(screen, APPROVE)
        os.write(screen, b"\x04")
        said = read_until(screen, "resume --execution-id")
        assert process.wait(60) == exit_codes.PAUSED
    assert "executor approvals give int_" in said and "/connect/int_" in said


@pytest.mark.parametrize("kind", ["agents", "keys"])
def test_no_one_is_asked_for_a_credential_that_they_may_not_give(
    shared: Cli, protected_source: ProtectedService, kind: str
) -> None:
    made = {"agents": shared("agents", "create", "curious").out, "keys": shared("keys", "create", "curious").out}
    agent = WithToken(shared.home, made[kind].strip())
    with terminal(agent, "call", CALLS["bearer"]) as (process, screen):
        said = read_until(screen, "resume --execution-id")
        assert process.wait(60) == exit_codes.PAUSED
    assert "may not provide credentials" in said and "hidden" not in said

"""`executor completion`: what real shells offer for commands, options, and the names of what is connected."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from executor.demo.server import DemoServer
from executor.surfaces.cli.main import COMMANDS
from tests.surfaces.cli.conftest import Cli

BASH = """
source "$SCRIPT"
COMP_WORDS=({words})
COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_executor_completion executor
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
# The functions of zsh's completion system that the script calls, so that what it hands over is seen.
ZSH = """
compdef() {{ }}
_describe() {{ local -a given; given=("${{(@P)3}}"); print -rl -- "${{given[@]%%:*}}" }}
compadd() {{ print -rl -- "${{(@P)5:-${{(@P)4}}}}" }}
source "$SCRIPT"
words=({words})
CURRENT=${{#words}}
_executor_completion
"""
FISH = """
source "$SCRIPT"
complete --do-complete {line}
"""

Complete = Callable[..., list[str]]


def run_shell(shell: str, code: str, cli: Cli, script: Path, program: Path) -> list[str]:
    environment = {**cli.environment, "SCRIPT": str(script), "PATH": f"{program}:{os.environ['PATH']}"}
    options = {"bash": ["--norc", "--noprofile"], "zsh": ["-f"], "fish": ["--no-config"]}[shell]
    done = subprocess.run(
        [shell, *options, "-c", code], env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert not done.stderr, done.stderr
    return [line.partition("\t")[0] for line in done.stdout.splitlines() if line]


@pytest.fixture(params=["bash", "zsh", "fish"])
def complete(request: pytest.FixtureRequest, shared: Cli, tmp_path: Path) -> Complete:
    """What a shell offers after these words; the last one is not finished."""
    shell = request.param
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    script, program = tmp_path / "script", tmp_path / "bin"
    made = shared("completion", shell)
    assert made.code == 0, made.err
    script.write_text(made.out)
    program.mkdir()
    (program / "executor").write_text(f'#!/bin/sh\nexec {sys.executable} -P -m executor "$@"\n')
    (program / "executor").chmod(0o755)

    def ask(*words: str) -> list[str]:
        quoted = " ".join(json.dumps(word) for word in ("executor", *words))
        if shell == "fish":
            return run_shell(shell, FISH.format(line=f"'executor {' '.join(words)}'"), shared, script, program)
        return run_shell(shell, {"bash": BASH, "zsh": ZSH}[shell].format(words=quoted), shared, script, program)

    return ask


def test_a_shell_completes_commands_options_and_names(complete: Complete, shared: Cli, shop: DemoServer) -> None:
    execution = shared("call", "return 1", "--json").json["executionId"]
    assert set(complete("")) == set(COMMANDS)
    assert complete("exec") == ["executions"]
    assert "show" in complete("executions", "")
    assert {"--json", "--yes", "--remove"} <= set(complete("connect", "--"))
    assert complete("connect", "claude-") == ["claude-code", "claude-desktop"]
    assert complete("completion", "z") == ["zsh"]
    assert "shop" in complete("sources", "show", "")
    assert "shop" in complete("tools", "list", "--source", "s")
    assert execution in complete("executions", "show", execution[:8])
    assert execution in complete("resume", "--execution-id", "exec_")
    paused = shared("call", "return await tools.shop.refunds.createRefund({id: 'inv_1003', amount: 5})", "--json").json
    assert paused["interactions"][0]["id"] in complete("approvals", "show", "int_")
    assert paused["interactions"][0]["id"] in complete("approvals", "deny", "int_")
    assert shared("executions", "cancel", paused["executionId"]).code == 0
    found = complete("tools", "describe", "shop.")
    assert found and all(one.startswith("shop.") for one in found)


def test_without_a_daemon_nothing_is_started_and_names_are_not_offered(cli: Cli) -> None:
    asked = {"COMP_WORDS": "executor sources show ", "COMP_CWORD": "3", "_EXECUTOR_COMPLETE": "bash_complete"}
    done = cli(**asked)
    assert (done.code, done.out.strip(), done.err) == (0, "", "")
    assert not (cli.state_dir / "daemon.json").exists()
    commands = cli(**{**asked, "COMP_WORDS": "executor ver", "COMP_CWORD": "1"})
    assert commands.out.split() == ["plain,version"]
    assert not cli.data_dir.exists()


@pytest.mark.parametrize("asked", ["", "x", "bash_source", "powershell_complete", "bash_complete"])
def test_an_unexpected_request_completes_nothing(cli: Cli, asked: str) -> None:
    done = cli("version", _EXECUTOR_COMPLETE=asked)
    assert "Traceback" not in done.err
    assert (done.code == 0 and "." in done.out) if asked == "" else not done.out.strip()


def test_the_script_is_printed_as_json_too_and_other_shells_are_refused(cli: Cli) -> None:
    shown = cli("completion", "fish", "--json").json
    assert shown["shell"] == "fish" and shown["script"] == cli("completion", "fish").out
    assert cli("completion", "tcsh").code == 2

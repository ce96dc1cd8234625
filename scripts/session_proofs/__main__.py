"""`scripts/prove-sessions`: runs the acceptance tests of agent sessions at full size, and prints a table."""

from __future__ import annotations

import argparse
import json
import os
import sys
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass, field
from typing import Any

import pytest
from benchmarks.report import as_table

ACCEPTANCE = "tests/sessions/acceptance"
PROOFS = {
    "key-hunt": (f"{ACCEPTANCE}/test_key_hunt.py", "tests/sessions/model_proxy/test_keys.py"),
    "refusals": ("tests/sessions/model_proxy/test_refusals.py",),
    "kill-matrix": (f"{ACCEPTANCE}/test_kill_matrix.py",),
    "hand-over": (f"{ACCEPTANCE}/test_hand_over.py", "tests/sessions/test_sandbox.py"),
    "nobody-home": (f"{ACCEPTANCE}/test_nobody_home.py", "tests/sessions/test_session_permissions.py"),
    "long-and-wide": (f"{ACCEPTANCE}/test_long_and_wide.py", "tests/sessions/protocol"),
    "many-sessions": (f"{ACCEPTANCE}/test_many_sessions.py",),
    "hostile-directory": (f"{ACCEPTANCE}/test_hostile_directory.py",),
    "sudo": (f"{ACCEPTANCE}/test_strict_by_sudo.py",),
    "budget": ("tests/sessions/model_proxy/test_budget.py",),
    "egress": ("tests/sessions/egress", "tests/sessions/test_session_hosts.py"),
}


@dataclass
class Result:
    proof: str
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: float = 0.0
    figures: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


class Collector:
    """A plugin of pytest."""

    def __init__(self, result: Result) -> None:
        self._result = result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        result = self._result
        result.seconds += report.duration
        if report.when != "call" and report.passed:
            return
        name = report.nodeid.rpartition("::")[2]
        say(f"{result.proof}: {report.outcome} {name} ({report.duration:.0f} s)")
        if report.passed:
            result.passed += 1
        elif report.skipped:
            result.skipped += 1
        else:
            result.failed += 1
            result.failures.append(f"{report.nodeid}: {str(report.longrepr)[-1000:]}")
        result.figures += [f"{key}: {value}" for key, value in report.user_properties]


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def prove(name: str) -> Result:
    result = Result(name)
    options = ["-q", "--no-header", "-p", "no:cacheprovider", "-s"]
    with redirect_stdout(sys.stderr):
        code = pytest.main([*options, *PROOFS[name]], plugins=[Collector(result)])
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        result.failed += 1
        result.failures.append(f"pytest ended with {code}")
    return result


def table(results: list[Result]) -> str:
    head = ["proof", "passed", "failed", "skipped", "seconds", "figures"]
    rows = [
        [one.proof, str(one.passed), str(one.failed), str(one.skipped), f"{one.seconds:.0f}", "; ".join(one.figures)]
        for one in results
    ]
    return as_table([head, *rows])


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/prove-sessions", description="Attacks agent sessions, in full.")
    parser.add_argument("--only", action="append", choices=list(PROOFS), help="only this proof; may be repeated")
    parser.add_argument("--quick", action="store_true", help="at the size of continuous integration")
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    options = parser.parse_args()
    os.environ["PROVE_SESSIONS"] = "usual" if options.quick else "full"
    results = [prove(name) for name in options.only or PROOFS]
    shown: Any = json.dumps([asdict(one) for one in results], indent=2) if options.json else table(results)
    print(shown)
    for one in results:
        for failure in one.failures:
            say(f"\n{failure}")
    return 1 if any(one.failed for one in results) else 0


if __name__ == "__main__":
    sys.exit(main())

"""`scripts/eval-agents`: what twenty tasks cost scripted agents over MCP: executions, errors and tokens."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.documents import Unavailable

from agents_eval import documents, python_tasks, report, typescript_tasks
from agents_eval.agent import offer_of
from agents_eval.checkout import connect, running_checkout
from agents_eval.evaluation import run_tasks
from agents_eval.tally import tokens
from agents_eval.upstream import SERVICES, running_upstream

STARTED = time.monotonic()
ROOT = Path(__file__).resolve().parents[2]
TASKS = [*typescript_tasks.TASKS, *python_tasks.TASKS]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/eval-agents", description=__doc__)
    parser.add_argument("--checkout", type=Path, default=ROOT, help="whose daemon is used; this checkout unless given")
    parser.add_argument("--only", action="append", choices=[one.name for one in TASKS], help="may be repeated")
    parser.add_argument("--before", type=Path, help="what `--json` of an earlier run printed, to compare with")
    parser.add_argument("--limit", type=int, help="how many tools are asked for; unless given, as the example says")
    parser.add_argument("--transcript", type=Path, help="write what agents sent and read into this file")
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    return parser.parse_args()


def evaluate(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    tasks = [one for one in TASKS if not options.only or one.name in options.only]
    with (
        running_upstream(documents.fetch()) as upstream,
        running_checkout(folder, options.checkout.resolve()) as checkout,
    ):
        say("connecting the services")
        connect(checkout.operator, upstream, SERVICES)
        client = checkout.client()
        rows = run_tasks(tasks, client, checkout.operator, upstream, say, options.limit)
        if options.transcript:
            options.transcript.write_text(report.transcript(rows), "utf-8")
        return report.as_json(rows, tokens(offer_of(client)))


def say(text: str) -> None:
    print(f"{time.monotonic() - STARTED:6.0f} s  {text}", file=sys.stderr, flush=True)


def main() -> None:
    options = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what was started is ended
    before = json.loads(options.before.read_text("utf-8")) if options.before else None
    try:
        with tempfile.TemporaryDirectory(prefix="executor-agents-") as folder:
            found = evaluate(options, Path(folder))
    except Unavailable as error:
        raise SystemExit(str(error)) from error
    if options.json:
        print(json.dumps(found, indent=2))
    else:
        print(report.table(found))
        if before:
            print(f"\n{report.comparison(before, found)}")


if __name__ == "__main__":
    main()

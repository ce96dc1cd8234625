"""`scripts/conformance`: runs the suite and prints a table, as `docs/conformance.md` has it."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.conformance import suite, trials
from tests.conformance.exceptions import EXCEPTIONS
from tests.conformance.suite import REVISIONS, Side

RUNS = {"server": trials.run_server, "client": trials.run_client}
SIDES: tuple[Side, ...] = ("server", "client")


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/conformance", description=__doc__)
    parser.add_argument("--side", choices=SIDES, help="default: both")
    parser.add_argument("--revision", choices=REVISIONS, help="default: both")
    parser.add_argument("--keep", metavar="FOLDER", help="keep what the suite wrote about each scenario here")
    given = parser.parse_args()
    print(f"{suite.PACKAGE} {suite.version()}\n\n| side | revision | scenarios | pass | exceptions | unexpected |")
    print("| --- | --- | --- | --- | --- | --- |")
    problems: list[str] = []
    with tempfile.TemporaryDirectory() as temporary:
        for side in [given.side] if given.side else SIDES:
            for revision in [given.revision] if given.revision else REVISIONS:
                folder = Path(given.keep or temporary) / f"{side}-{revision}"
                found = RUNS[side](revision, folder)
                passing = sum(not one.failures for one in found.values())
                listed = {key.partition(":")[0] for key in EXCEPTIONS[side]}
                excepted = sum(bool(one.failures) and one.name in listed for one in found.values())
                unexpected = trials.find_unexpected(side, found)
                counts = f"{len(found)} | {passing} | {excepted} | {len(unexpected)}"
                print(f"| {side} | {revision} | {counts} |", flush=True)
                problems += [f"{side} {revision}: {problem}" for problem in unexpected]
    print("", *problems, sep="\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

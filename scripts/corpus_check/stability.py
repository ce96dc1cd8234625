"""Whether the same document gives the same tools after a restart: names, digests, descriptions and signatures."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from .result import Result

# The hash seed of each process that reads all the documents: sets have another order in each.
SEEDS = (0, 1, 2)


def stabilities_of(documents: Sequence[tuple[Path, str]]) -> Iterator[Result]:
    """Every process reads the documents in the same order, so that their lines belong together."""
    with ExitStack() as stack:
        readers = [stack.enter_context(reader(seed)) for seed in SEEDS]
        for path, name in documents:
            for one in readers:
                assert one.stdin is not None
                print(path, file=one.stdin, flush=True)
            yield compare(name, [answer(one) for one in readers])


def reader(seed: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "corpus_check.fingerprints", str(seed)],
        env={**os.environ, "PYTHONHASHSEED": str(seed)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def answer(process: subprocess.Popen[str]) -> dict[str, Any]:
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise SystemExit(f"a process that reads documents ended with {process.wait()}")
    found: dict[str, Any] = json.loads(line)
    return found


def compare(name: str, readings: list[dict[str, Any]]) -> Result:
    result = Result(name, readings=2 * len(readings))
    errors = {one.get("error", "") for one in readings}
    if errors != {""}:
        result.error = " / ".join(sorted(errors))
        result.unstable = len(errors) - 1
        return result
    result.loaded = True
    first, *others = [("fresh", readings[0]["fresh"])] + [
        (way, one[way]) for one in readings for way in ("fresh", "refreshed")
    ]
    result.tools = len(first[1])
    found = {path: reason for way, other in others for path, reason in differences(first[1], other, way)}
    result.unstable = len(found)
    result.named = [f"{path}: {reason}" for path, reason in sorted(found.items())]
    return result


def differences(first: dict[str, str], other: dict[str, str], way: str) -> Iterator[tuple[str, str]]:
    for path in sorted(first.keys() | other.keys()):
        before, after = first.get(path), other.get(path)
        if before is None or after is None:
            yield path, f"only some readings have it ({way})"
        elif before != after:
            changed = sorted(set(after.split()) - set(before.split()))
            yield path, f"{', '.join(one.partition('=')[0] for one in changed)} not the same in all readings ({way})"

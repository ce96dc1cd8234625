"""`scripts/corpus FOLDER`: every document of a folder, and what of it can really be called."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections import Counter
from pathlib import Path

from .check import Result, check
from .documents import found_in


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/corpus", description=__doc__)
    parser.add_argument("folder", type=Path, help="a folder with OpenAPI documents, searched in depth; or one document")
    parser.add_argument("--json", action="store_true", help="one JSON object a line, the totals last")
    parser.add_argument("--limit", type=int, default=0, help="at most this many documents")
    parser.add_argument("--every", type=int, default=1, help="only every n-th document")
    parser.add_argument("--names", action="store_true", help="name each operation that can't be called")
    options = parser.parse_args()
    folder = options.folder.resolve()
    paths = [folder] if folder.is_file() else list(found_in(folder))[:: options.every]
    results = []
    for path in paths[: options.limit or None]:
        result = apart(path, path.name if folder.is_file() else str(path.relative_to(folder)))
        results.append(result)
        show(result, options.json, options.names)
    summarise(results, options.json)
    return 0 if results else 1


def apart(path: Path, name: str) -> Result:
    """In a process of its own, so that its memory can be told and nothing of it stays."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        with os.fdopen(writing, "wb") as out:
            out.write(json.dumps(asyncio.run(check(path, name)).to_dict()).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        data = file.read()
    _, status, usage = os.wait4(child, 0)
    result = Result(**json.loads(data)) if data else Result(name, error=f"the check itself ended with {status}")
    result.peak_mb = usage.ru_maxrss // 1024
    result.seconds = result.seconds or round(usage.ru_utime, 3)
    return result


def show(result: Result, as_json: bool, names: bool) -> None:
    if as_json:
        print(json.dumps(result.to_dict()), flush=True)
        return
    if not result.loaded:
        print(f"NOT LOADED  {result.document}: {result.error}", flush=True)
        return
    print(
        f"{result.usable:>6} of {result.operations:<6} {result.seconds:>7.2f} s {result.peak_mb:>5} MB  "
        f"{result.version:<7} {result.document}",
        flush=True,
    )
    for reason, count in result.reasons.items():
        print(f"         {count:>5} x {reason}", flush=True)
    for one in result.named if names else ():
        print(f"               {one}", flush=True)


def summarise(results: list[Result], as_json: bool) -> None:
    loaded = [one for one in results if one.loaded]
    operations, usable = sum(one.operations for one in loaded), sum(one.usable for one in loaded)
    reasons: Counter[str] = Counter()
    for one in loaded:
        reasons.update(one.reasons)
    totals = {
        "documents": len(results),
        "loaded": len(loaded),
        "operations": operations,
        "usable": usable,
        "seconds": round(sum(one.seconds for one in results), 1),
        "peakMb": max((one.peak_mb for one in results), default=0),
        "reasons": dict(reasons.most_common()),
    }
    if as_json:
        print(json.dumps({"totals": totals}))
        return
    share = f"{100 * len(loaded) / len(results):.2f} %" if results else "-"
    part = f"{100 * usable / operations:.2f} %" if operations else "-"
    print(f"\n{len(loaded)} of {len(results)} documents loaded ({share})")
    print(f"{usable} of {operations} operations usable ({part})")
    print(f"{totals['seconds']} CPU seconds to load, at most {totals['peakMb']} MB")
    for reason, count in reasons.most_common(30):
        print(f"{count:>7} x {reason}")


if __name__ == "__main__":
    sys.exit(main())

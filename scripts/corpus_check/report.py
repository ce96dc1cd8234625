"""Results for people and for programs."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import IO, Any

from .result import Result


def kept(path: Path) -> dict[str, Result]:
    """What an earlier run wrote down; the last line of a document counts, a line that was cut does not."""
    found = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        try:
            result = Result(**json.loads(line))
        except ValueError:
            continue
        found[result.document] = result
    return found


def appending(path: Path) -> IO[str]:
    """After a line that was cut, on a new one."""
    is_cut = path.exists() and path.read_bytes()[-1:] not in (b"", b"\n")
    file = path.open("a", encoding="utf-8")
    if is_cut:
        file.write("\n")
    return file


def show(result: Result, as_json: bool, names: bool) -> None:
    if as_json:
        print(result.to_json(), flush=True)
        return
    if not result.loaded:
        print(f"NOT LOADED  {result.document}: {result.error}", flush=True)
        return
    if result.operations:
        print_operations(result)
    elif result.lists:
        print(
            f"{result.lists:>6} lists, {result.with_all:>4} with `.all`, {result.right:>4} right  {result.document}",
            flush=True,
        )
    elif result.readings:
        print(f"{result.unstable:>6} of {result.tools:<6} tools unstable  {result.document}", flush=True)
    for reason, count in result.reasons.items():
        print(f"         {count:>5} x {reason}", flush=True)
    for one in result.named if names else ():
        print(f"               {one}", flush=True)


def print_operations(result: Result) -> None:
    print(
        f"{result.usable:>6} of {result.operations:<6} {result.seconds:>7.2f} s {result.peak_mb:>5} MB  "
        f"{result.version:<7} {result.document}",
        flush=True,
    )


def summarise(results: list[Result], as_json: bool) -> None:
    totals = totals_of(results)
    if as_json:
        print(json.dumps({"totals": totals}))
        return
    print(f"\n{totals['loaded']} of {totals['documents']} documents loaded ({share(totals, 'loaded', 'documents')})")
    if totals["lists"]:
        print(f"{totals['withAll']} of {totals['lists']} lists have `.all` ({share(totals, 'withAll', 'lists')})")
        print(f"{totals['right']} of them are right ({share(totals, 'right', 'lists')} of all lists)")
    if any(one.readings for one in results):
        print(f"{totals['unstable']} of {totals['tools']} tools are not the same in every reading")
    if totals["operations"]:
        print(
            f"{totals['usable']} of {totals['operations']} operations usable ({share(totals, 'usable', 'operations')})"
        )
        print(f"{totals['byHand']} required arguments look like credentials")
        print(f"{totals['seconds']} CPU seconds to load, at most {totals['peakMb']} MB")
    for reason, count in list(totals["reasons"].items())[:40]:
        print(f"{count:>7} x {reason}")


def totals_of(results: list[Result]) -> dict[str, Any]:
    loaded = [one for one in results if one.loaded]
    reasons: Counter[str] = Counter()
    for one in loaded:
        reasons.update(one.reasons)
    return {
        "documents": len(results),
        "loaded": len(loaded),
        "operations": sum(one.operations for one in loaded),
        "usable": sum(one.usable for one in loaded),
        "lists": sum(one.lists for one in loaded),
        "right": sum(one.right for one in loaded),
        "withAll": sum(one.with_all for one in loaded),
        "tools": sum(one.tools for one in loaded),
        "unstable": sum(one.unstable for one in results),
        "byHand": sum(one.by_hand for one in loaded),
        "seconds": round(sum(one.seconds for one in results), 1),
        "peakMb": max((one.peak_mb for one in results), default=0),
        "reasons": dict(reasons.most_common()),
    }


def share(totals: dict[str, Any], part: str, whole: str) -> str:
    return f"{100 * totals[part] / totals[whole]:.2f} %" if totals[whole] else "-"

"""The figures of a run: as a table, and as data that a later run can be compared with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.report import as_table

from agents_eval.evaluation import Row
from agents_eval.tally import KINDS, Tally

HEAD = ["task", "solved", "executions", "errors", "approvals", "code", "output", *KINDS]


def as_json(rows: Sequence[Row], offer_tokens: int) -> dict[str, Any]:
    total = Tally()
    for row in rows:
        total.add(row.tally)
    tasks = [
        {"task": row.task.name, "request": row.task.request, "solved": row.solved, "remark": row.remark}
        | figures(row.tally)
        for row in rows
    ]
    return {
        "offer": offer_tokens,
        "tasks": tasks,
        "total": {"solved": sum(row.solved for row in rows)} | figures(total),
    }


def figures(tally: Tally) -> dict[str, Any]:
    return {
        "executions": tally.executions,
        "errors": tally.errors,
        "approvals": tally.approvals,
        "code": tally.code,
        "output": tally.total,
        **{kind: tally.output[kind] for kind in KINDS},
    }


def table(found: dict[str, Any]) -> str:
    lines = [[str(row[key]) for key in HEAD] for row in found["tasks"]]
    total = found["total"]
    lines.append(["total", f"{total['solved']} of {len(found['tasks'])}", *(str(total[key]) for key in HEAD[2:])])
    return as_table([HEAD, *lines])


def comparison(before: dict[str, Any], after: dict[str, Any]) -> str:
    """Executions, errors and output tokens of the tasks that both runs have."""
    keys = ("executions", "errors", "output")
    known = {row["task"]: row for row in before["tasks"]}
    lines = [["task", *(f"{key} {when}" for key in keys for when in ("before", "after"))]]
    pairs = [(row["task"], known[row["task"]], row) for row in after["tasks"] if row["task"] in known]
    for name, old, new in pairs:
        lines.append([name, *(str(row[key]) for key in keys for row in (old, new))])
    sums = [(sum(old[key] for _, old, _ in pairs), sum(new[key] for _, _, new in pairs)) for key in keys]
    lines.append(["total", *(str(number) for pair in sums for number in pair)])
    shares = [f"{new / old:.0%}" if old else "" for old, new in sums]
    lines.append(["share", *(cell for share in shares for cell in ("", share))])
    return as_table(lines)


def transcript(rows: Sequence[Row]) -> str:
    return "\n\n".join("\n".join([f"=== {row.task.name}: {row.task.request}", *row.transcript]) for row in rows)

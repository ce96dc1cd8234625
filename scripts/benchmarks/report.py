"""The table, and the same as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.series import Series

NOISE_MB = 5  # a process that does nothing changes by this much; a ratio to less means nothing
Results = dict[str, dict[str, Series]]  # row → subject → series


def table(results: Results, subject: str, peer: str | None) -> str:
    head = ["measurement", "median", "p99", "CPU/op", "n"]
    if peer:
        head += ["peer median", "peer p99", "peer CPU/op", "peer ÷ ours", "CPU ratio"]
    return as_table([head] + [line(label, series, subject, peer) for label, series in results.items()])


def as_table(lines: list[list[str]]) -> str:
    """The first line is the head."""
    widths = [max(len(cells[column]) for cells in lines) for column in range(len(lines[0]))]
    lines.insert(1, ["-" * width for width in widths])
    return "\n".join(
        "| "
        + " | ".join(
            cell.ljust(width) if index == 0 else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )
        + " |"
        for cells in lines
    )


def line(label: str, series: Mapping[str, Series], subject: str, peer: str | None) -> list[str]:
    cells = [label, *figures(series.get(subject)), str(len(series[subject].samples)) if subject in series else ""]
    if peer:
        cells += figures(series.get(peer)) + ratios(series.get(subject), series.get(peer))
    return cells


def figures(series: Series | None) -> list[str]:
    if series is None:
        return ["", "", ""]
    several = len(series.samples) > 1
    return [
        f"{number(series.median)} {series.unit}".rstrip(),
        f"{number(series.p99)} {series.unit}".rstrip() if several else "",
        f"{number(series.cpu_per_operation)} ms" if series.cpu_per_operation is not None else "",
    ]


def ratios(ours: Series | None, peer: Series | None) -> list[str]:
    """How many times the peer needs what we need; above 1 we are better."""
    if ours is None or peer is None:
        return ["", ""]
    if ours.unit == "MB" and min(ours.median, peer.median) < NOISE_MB:
        return ["", ""]
    return [times(ours.median, peer.median), times(ours.cpu_per_operation, peer.cpu_per_operation)]


def times(ours: float | None, peer: float | None) -> str:
    return f"{peer / ours:.2f} x" if ours and peer and ours > 0 and peer > 0 else ""


def number(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def as_json(results: Results) -> list[dict[str, Any]]:
    return [
        {
            "measurement": label,
            "subject": subject,
            "unit": series.unit,
            "median": series.median,
            "p99": series.p99,
            "cpuMs": series.cpu_per_operation,
            "n": len(series.samples),
        }
        for label, subjects in results.items()
        for subject, series in subjects.items()
    ]

"""Whether the web UI is there, and in a checkout whether it was built from the sources that lie beside it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import executor
from executor.daemon.doctor.check import Check

PACKAGE = Path(executor.__file__).parent
NAME = "web UI"


def check_web(package: Path = PACKAGE) -> Check:
    built = package / "surfaces" / "web" / "static" / "index.html"
    sources = package.parents[1] / "web"
    hint = "run `scripts/setup`, or build the package again"
    if not built.is_file():
        return Check(NAME, "warning", "not built; the daemon answers with a page that says so", hint)
    newer = next((path for path in inputs(sources) if path.stat().st_mtime > built.stat().st_mtime), None)
    if newer is not None:
        return Check(NAME, "warning", f"older than its sources, such as {newer.relative_to(sources.parent)}", hint)
    return Check(NAME, "ok", "built")


def inputs(sources: Path) -> Iterator[Path]:
    """None where the package is installed without its sources."""
    if (sources / "package.json").is_file():
        yield from (path for path in sources.iterdir() if path.is_file())
        yield from (sources / "src").rglob("*")
        yield from (sources / "public").rglob("*")

"""Workers whose clocks are wrong."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from tests.support.cluster import Cluster

SOURCE = Path(__file__).with_name("skewed_clock.c")


def skew_clocks(cluster: Cluster, seconds: int) -> None:
    """The first worker's clock is ahead, the second's behind. Before they start; a C compiler is needed."""
    library = cluster.root / "skewed_clock.so"
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", str(library), str(SOURCE), "-ldl"], check=True)  # noqa: S607
    for worker, offset in zip(cluster.workers, (seconds, -seconds), strict=False):
        worker.environ |= {"LD_PRELOAD": str(library), "CLOCK_OFFSET": str(offset)}
        shown = [sys.executable, "-c", "import time; print(time.time())"]
        there = float(subprocess.run(shown, env=worker.environ, check=True, capture_output=True, text=True).stdout)
        assert abs(there - time.time() - offset) < seconds / 2, "the clock is not wrong"

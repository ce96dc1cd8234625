"""numpy, in the thread that calls it. Import it from here.

OpenBLAS starts a thread for each core when numpy is loaded, and they spin for a tenth of a second. The products here
are too small to be shared out.
"""

from __future__ import annotations

import os
from typing import Any

THREADS = "OPENBLAS_NUM_THREADS"
_is_given = THREADS in os.environ
os.environ.setdefault(THREADS, "1")
import numpy as np  # noqa: E402 - it reads the variable while it is loaded
import numpy.typing as npt  # noqa: E402

if not _is_given:
    del os.environ[THREADS]  # commands that the daemon starts choose for themselves

Array = npt.NDArray[Any]
__all__ = ["Array", "np"]

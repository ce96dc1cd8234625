"""What is inside the image: an interpreter that has started, and the driver that runs one program.

The world exports `run` and imports `step`. `run` gets the program; `step` hands out what it proposes and logs, waits,
and gives one answer. What the code does to this driver it does to itself: the host checks every line that comes out.
"""

from __future__ import annotations

import library

library.collect()

import program  # noqa: E402 - the library comes first, so that it is not mistaken for a part of the driver
import rehearsal  # noqa: E402
import surroundings  # noqa: E402

surroundings.prepare()
library.seal()
rehearsal.rehearse()
library.freeze()
surroundings.withhold_seed()
fillers = rehearsal.fill_gaps()


class WitWorld:
    def run(self, message: str) -> str:
        return program.run(message)

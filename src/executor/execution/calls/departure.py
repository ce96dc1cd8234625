"""The last check of a call of a process among several: whether its execution is still this process's, and when it was
journalled. It runs right before the first byte leaves."""

from __future__ import annotations

from executor.storage.postgres.processes import Processes, boottime

SEND_WITHIN = 5.0  # seconds after the journal was written; later, the journal and the policies are looked at again


class Departure:
    """Of one call. `is_refused` when it was asked to leave and did not: then nothing of it was sent."""

    def __init__(self, processes: Processes, owner: str, committed: float) -> None:
        self._processes = processes
        self._owner = owner
        self._committed = committed
        self.has_left = False
        self.is_refused = False

    def may_leave(self) -> bool:
        """Further requests of a call that has left, such as for the next page, only need the lease."""
        held = self._processes.holds(self._owner)
        self.is_refused = not held or not (self.has_left or boottime() < self._committed + SEND_WITHIN)
        self.has_left = self.has_left or not self.is_refused
        return not self.is_refused

    def renew(self, committed: float) -> None:
        self._committed, self.is_refused = committed, False

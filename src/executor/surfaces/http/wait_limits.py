"""How many streams and waits are kept open, in all and for one actor. Some places are for humans alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from executor.dataclass import dataclass
from executor.errors import TooManyWaits
from executor.model.fairness import Counts

if TYPE_CHECKING:
    from executor.model.identity.actor import Actor


@dataclass(frozen=True, slots=True)
class Bounds:
    """`strangers` are all anonymous actors together; `humans` is what only humans may use of `all`."""

    what: str
    all: int
    humans: int
    strangers: int
    of_human: int
    of_program: int
    of_stranger: int


# Together less than the connections that the daemon accepts, so that there is always a place for the next request.
STREAMS = Bounds("event streams", 1536, humans=256, strangers=128, of_human=256, of_program=16, of_stranger=4)
WAITS = Bounds("waits", 2048, humans=256, strangers=256, of_human=512, of_program=512, of_stranger=8)


class WaitLimits:
    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self.count = 0
        self._strangers = 0
        self._of: Counts[str] = Counts()

    @contextmanager
    def take_place(self, actor: Actor) -> Iterator[None]:
        is_stranger = actor.is_stranger
        self._check(actor, is_stranger=is_stranger)
        self.count += 1
        self._strangers += is_stranger
        self._of.add(actor.id)
        try:
            yield
        finally:
            self.count -= 1
            self._strangers -= is_stranger
            self._of.remove(actor.id)

    def _check(self, actor: Actor, *, is_stranger: bool) -> None:
        """The operator's own token has no bound but that of all: anyone who holds it owns the machine."""
        bounds, is_human = self.bounds, actor.is_in_person
        most = bounds.of_stranger if is_stranger else bounds.of_human if is_human else bounds.of_program
        if self._of[actor.id] >= most and actor.via != "operator_token":
            raise TooManyWaits(f"this actor already has {most} open {bounds.what}", hint="close some, then try again")
        if is_stranger and self._strangers >= bounds.strangers:
            raise TooManyWaits(
                f"anonymous agents already have {bounds.strangers} open {bounds.what}", hint="try again later"
            )
        if self.count >= bounds.all - (0 if is_human else bounds.humans):
            raise TooManyWaits(f"{self.count} {bounds.what} are already open", hint="try again later")

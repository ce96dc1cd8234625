"""Sharing what is scarce: on whose behalf something is wanted, and whose turn it is."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")
K = TypeVar("K")


@dataclass(frozen=True, slots=True)
class Party:
    """Whom a call or a sandbox is for. Both empty: Executor's own business, such as reading a document."""

    actor_id: str = ""
    execution_id: str = ""


# Set by the task of each run; the tasks it starts inherit it.
CURRENT: ContextVar[Party] = ContextVar("executor_party", default=Party())  # noqa: B039 - it is frozen


def anyone(_: str) -> bool:
    return True


class Counts(dict[K, int]):
    """How many of each there are. Nothing is kept of those of which there are none."""

    def __missing__(self, key: K) -> int:
        return 0

    def add(self, key: K, amount: int = 1) -> None:
        self[key] = self.get(key, 0) + amount

    def remove(self, key: K, amount: int = 1) -> None:
        left = self.get(key, 0) - amount
        if left > 0:
            self[key] = left
        else:
            self.pop(key, None)


class FairQueue(Generic[T]):
    """Actors take turns, the executions of one actor take turns, and within an execution the first come goes first.

    Every operation costs the same however many wait.
    """

    def __init__(self) -> None:
        self._actors: OrderedDict[str, OrderedDict[str, OrderedDict[T, None]]] = OrderedDict()
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def push(self, party: Party, item: T) -> None:
        executions = self._actors.setdefault(party.actor_id, OrderedDict())
        executions.setdefault(party.execution_id, OrderedDict())[item] = None
        self._size += 1

    def pop(
        self, *, actor_may: Callable[[str], bool] = anyone, execution_may: Callable[[str], bool] = anyone,
        last: bool = False,
    ) -> T | None:  # fmt: skip
        """The next whose actor and execution may go; `last` takes what came last of that actor."""
        for actor_id, executions in self._actors.items():
            if not actor_may(actor_id):
                continue
            for execution_id in reversed(executions) if last else executions:
                if execution_may(execution_id):
                    return self._take(actor_id, execution_id, last)
        return None

    def discard(self, party: Party, item: T) -> None:
        """Someone stopped waiting."""
        items = self._actors.get(party.actor_id, OrderedDict()).get(party.execution_id)
        if items is not None and item in items:
            del items[item]
            self._settle(party.actor_id, party.execution_id)

    def clear(self) -> list[T]:
        found = [item for executions in self._actors.values() for items in executions.values() for item in items]
        self._actors.clear()
        self._size = 0
        return found

    def _take(self, actor_id: str, execution_id: str, last: bool) -> T:
        item, _ = self._actors[actor_id][execution_id].popitem(last=last)
        self._settle(actor_id, execution_id)
        if actor_id in self._actors:
            self._actors.move_to_end(actor_id)
            if execution_id in self._actors[actor_id]:
                self._actors[actor_id].move_to_end(execution_id)
        return item

    def _settle(self, actor_id: str, execution_id: str) -> None:
        """One less; nothing is kept of those who wait for nothing."""
        self._size -= 1
        executions = self._actors[actor_id]
        if not executions[execution_id]:
            del executions[execution_id]
        if not executions:
            del self._actors[actor_id]

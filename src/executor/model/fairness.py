"""Sharing what is scarce: on whose behalf something is wanted, and whose turn it is."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Generic, NamedTuple, TypeVar

from executor.dataclass import dataclass

T = TypeVar("T")
K = TypeVar("K")


@dataclass(frozen=True, slots=True)
class Party:
    """Whom a call or a sandbox is for. All empty: Executor's own business, such as reading a document.

    The lower `rank` goes first in its workspace. With a weight of 3, a turn is one of three at once.
    """

    actor_id: str = ""
    execution_id: str = ""
    workspace_id: str = ""
    rank: int = 1
    workspace_weight: int = 1
    weight: int = 1


class Lane(NamedTuple):
    """What waits in the order it came."""

    actor_id: str
    runtime: str
    workspace_id: str = ""
    rank: int = 1


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


class Turns:
    """Whose turn it is: the first in `order`. One with a weight of 3 has three turns before it goes to the end."""

    def __init__(self, order: OrderedDict[str, Any]) -> None:
        self._order = order
        self._weights: dict[str, int] = {}  # of those that have more than 1
        self._left: dict[str, int] = {}

    def weigh(self, key: str, weight: int) -> None:
        if weight > 1:
            self._weights[key] = weight
        elif self._weights:
            self._weights.pop(key, None)

    def end_one(self, key: str) -> None:
        if self._weights:
            left = self._left.pop(key, self._weights.get(key, 1)) - 1
            if left > 0:
                self._left[key] = left
                return
        self._order.move_to_end(key)

    def forget(self, key: str) -> None:
        """It waits for nothing."""
        if self._weights:
            self._weights.pop(key, None)
            self._left.pop(key, None)

    def clear(self) -> None:
        self._weights.clear()
        self._left.clear()


class FairQueue(Generic[T]):
    """Actors take turns, the executions of one actor take turns, and within an execution the first come goes first.

    Every operation costs the same however many wait.
    """

    def __init__(self) -> None:
        self._actors: OrderedDict[str, OrderedDict[str, OrderedDict[T, None]]] = OrderedDict()
        self._turns = Turns(self._actors)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def push(self, party: Party, item: T) -> None:
        executions = self._actors.setdefault(party.actor_id, OrderedDict())
        executions.setdefault(party.execution_id, OrderedDict())[item] = None
        self._turns.weigh(party.actor_id, party.weight)
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
        self._turns.clear()
        self._size = 0
        return found

    def _take(self, actor_id: str, execution_id: str, last: bool) -> T:
        item, _ = self._actors[actor_id][execution_id].popitem(last=last)
        self._settle(actor_id, execution_id)
        if actor_id in self._actors:
            self._turns.end_one(actor_id)
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
            self._turns.forget(actor_id)


class SharedQueue(Generic[T]):
    """Workspaces take turns. In a workspace the best rank goes first, and its actors take turns as in a `FairQueue`."""

    def __init__(self) -> None:
        self._workspaces: OrderedDict[str, dict[int, FairQueue[T]]] = OrderedDict()
        self._turns = Turns(self._workspaces)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def push(self, party: Party, item: T) -> None:
        ranks = self._workspaces.setdefault(party.workspace_id, {})
        ranks.setdefault(party.rank, FairQueue()).push(party, item)
        self._turns.weigh(party.workspace_id, party.workspace_weight)
        self._size += 1

    def pop(self, *, last: bool = False) -> T | None:
        """`last` takes what came last of that actor."""
        for workspace_id, ranks in self._workspaces.items():
            item = ranks[min(ranks)].pop(last=last)
            self._turns.end_one(workspace_id)
            self._settle(workspace_id, min(ranks))
            return item
        return None

    def discard(self, party: Party, item: T) -> None:
        """Someone stopped waiting."""
        queue = self._workspaces.get(party.workspace_id, {}).get(party.rank)
        if queue is None:
            return
        before = len(queue)
        queue.discard(party, item)
        if len(queue) < before:
            self._settle(party.workspace_id, party.rank)

    def clear(self) -> list[T]:
        found = [item for ranks in self._workspaces.values() for queue in ranks.values() for item in queue.clear()]
        self._workspaces.clear()
        self._turns.clear()
        self._size = 0
        return found

    def _settle(self, workspace_id: str, rank: int) -> None:
        self._size -= 1
        ranks = self._workspaces[workspace_id]
        if not ranks[rank]:
            del ranks[rank]
        if not ranks:
            del self._workspaces[workspace_id]
            self._turns.forget(workspace_id)

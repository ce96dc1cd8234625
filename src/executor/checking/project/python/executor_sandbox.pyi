# What the declarations of tools are made of.
from asyncio import Future
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

# A future that is under way as soon as it is written; the sandbox's own loop takes it wherever it takes a coroutine.
class Call(Future[T], Coroutine[Any, Any, T]):
    __iter__: None  # a loop over a call that is not awaited

class Group:
    def __getitem__(self, name: str, /) -> Any: ...

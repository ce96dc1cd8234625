"""Each method of the SDK is written once, as a flow: a generator that yields steps and gets what came of them.

A driver takes the steps: one that blocks, or one that awaits. `Method` and `Stream` give a flow the type that fits the
client it is called on: of a client of `Blocking` it returns its result, of one of `Awaiting` a coroutine.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Mapping
from dataclasses import field
from functools import update_wrapper
from typing import Any, Concatenate, Generic, NamedTuple, ParamSpec, Protocol, TypeVar, overload

from executor.dataclass import dataclass

P = ParamSpec("P")
T = TypeVar("T")


class Blocking:
    """Marks clients whose methods return when they are done."""


class Awaiting:
    """Marks clients whose methods are awaited."""


K = TypeVar("K")  # Blocking or Awaiting


# The steps. Each says what is sent back into the flow.
@dataclass(frozen=True, slots=True)
class Request:
    """→ `Reply`. `seconds` is the longest silence; `repeatable` if sending it twice does no more than once."""

    method: str
    path: str
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 120.0
    repeatable: bool = False


class Reply(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: bytes


class Open(NamedTuple):
    """→ an open stream of bytes, or the `Reply` that came instead."""

    request: Request


class Read(NamedTuple):
    """→ the next bytes; empty at the end."""

    stream: Any


class Close(NamedTuple):
    stream: Any


class Pause(NamedTuple):
    seconds: float


class Ask(NamedTuple):
    """→ what the function of the program returns, awaited if it must be."""

    function: Callable[..., Any]
    value: Any


@dataclass(frozen=True, slots=True)
class Emit(Generic[T]):
    """Hands a value to anyone who iterates."""

    value: T


Step = Request | Open | Read | Close | Pause | Ask
Flow = Generator[Step, Any, T]
Emissions = Generator[Step | Emit[T], Any, None]


class Driver(Protocol):
    def run(self, flow: Flow[T]) -> Any: ...
    def iterate(self, flow: Emissions[Any]) -> Any: ...


class Part(Generic[K]):
    """A client, or a part of one such as `executor.sources`."""

    _driver: Driver


class Method(Generic[P, T]):
    """A flow as a method."""

    def __init__(self, function: Callable[Concatenate[Any, P], Flow[T]]) -> None:
        self._function = function
        update_wrapper(self, function)  # type: ignore[arg-type]  # for `help`

    @overload
    def __get__(self, instance: None, owner: type) -> Method[P, T]: ...
    @overload
    def __get__(self, instance: Part[Blocking], owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, instance: Part[Awaiting], owner: type) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, instance: Part[Any] | None, owner: type) -> Any:
        if instance is None:
            return self
        driver, function = instance._driver, self._function

        def call(*arguments: P.args, **named: P.kwargs) -> Any:
            return driver.run(function(instance, *arguments, **named))

        return update_wrapper(call, function)


class Stream(Generic[P, T]):
    """A flow that emits values, as a method to iterate over."""

    def __init__(self, function: Callable[Concatenate[Any, P], Emissions[T]]) -> None:
        self._function = function
        update_wrapper(self, function)  # type: ignore[arg-type]  # for `help`

    @overload
    def __get__(self, instance: None, owner: type) -> Stream[P, T]: ...
    @overload
    def __get__(self, instance: Part[Blocking], owner: type) -> Callable[P, Generator[T, None, None]]: ...
    @overload
    def __get__(self, instance: Part[Awaiting], owner: type) -> Callable[P, AsyncGenerator[T, None]]: ...
    def __get__(self, instance: Part[Any] | None, owner: type) -> Any:
        if instance is None:
            return self
        driver, function = instance._driver, self._function

        def iterate(*arguments: P.args, **named: P.kwargs) -> Any:
            return driver.iterate(function(instance, *arguments, **named))

        return update_wrapper(iterate, function)

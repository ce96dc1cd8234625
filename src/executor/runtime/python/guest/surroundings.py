"""What surrounds a program: sleeping, reading, warnings and logging, over the host instead of an operating system."""

from __future__ import annotations

import builtins
import logging
import os
import random
import socket
import sys
import time
import warnings
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures.thread import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import loop
from console import WARN

if TYPE_CHECKING:
    from host import Host

_hosts: list[Host] = []
_seed = random.seed


def prepare() -> None:
    """When the image is built."""
    loop.adopt()
    time.sleep = lambda seconds: _hosts[-1].sleep(seconds)
    builtins.input = _no_input
    builtins.exit = builtins.quit = sys.exit
    warnings.showwarning = _show_warning
    logging.raiseExceptions = False
    ThreadPoolExecutor.submit = _submit  # type: ignore[method-assign]
    socket.socket.__init__ = _no_network  # type: ignore[method-assign]
    for name in ("create_connection", "create_server", "getaddrinfo", "gethostbyname", "socketpair"):
        setattr(socket, name, _no_network)
    for name in list(os.environ):
        del os.environ[name]


def withhold_seed() -> None:
    """When the image is complete. Before a program begins, `componentize-py` seeds `random` with 2,496 random bytes,
    which is dear and of no use: `enter` seeds it again."""
    random.seed = lambda *_: None


def enter(host: Host, seed: bytes) -> None:
    _hosts[:] = [host]
    random.seed = _seed
    random.seed(seed)
    sys.argv[:] = ["main.py"]


def _submit(self: ThreadPoolExecutor, work: Callable[..., Any], /, *args: Any, **options: Any) -> Future[Any]:
    """There are no threads: it runs at once."""
    future: Future[Any] = Future()
    try:
        future.set_result(work(*args, **options))
    except Exception as error:  # noqa: BLE001 - it is for the code that takes the result
        future.set_exception(error)
    return future


def _no_network(*_: Any, **__: Any) -> Any:
    raise OSError("there is no network here")


def _no_input(prompt: object = "", /) -> str:
    raise EOFError("there is no one to answer input()")


def _show_warning(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, file: Any = None, line: Any = None
) -> None:
    if _hosts:
        _hosts[-1].console.line(WARN, f"{filename}:{lineno}: {category.__name__}: {message}")

"""Runtimes by id: what a submission means, what is said of those that aren't there, and starting late."""

from __future__ import annotations

import asyncio

import pytest

from executor.errors import InvalidRequest, UnknownRuntime
from executor.runtime.protocol import Sandbox
from executor.runtime.registry import Lazy, Runtimes
from tests.support.conditions import until


class Fake:
    """Counts; runs nothing."""

    def __init__(self, *languages: str) -> None:
        self.languages = languages
        self.opened = self.closed = 0

    async def open(self) -> Sandbox:
        self.opened += 1
        return None  # type: ignore[return-value]

    async def close(self) -> None:
        self.closed += 1


def fake_runtimes() -> Runtimes:
    present = {"typescript": Fake("typescript"), "python": Fake("python"), "remote": Fake("typescript", "python")}
    return Runtimes(present, {"deno": "install it with `pip install x`"})


@pytest.mark.parametrize(
    ("language", "runtime", "chosen"),
    [
        (None, None, ("typescript", "typescript")),
        ("python", None, ("python", "python")),
        (None, "python", ("python", "python")),
        (None, "remote", ("typescript", "remote")),
        ("python", "remote", ("python", "remote")),
    ],
)
def test_language_and_runtime_follow_from_each_other(
    language: str | None, runtime: str | None, chosen: tuple[str, str]
) -> None:
    assert fake_runtimes().choose(language, runtime) == chosen


@pytest.mark.parametrize(("language", "runtime"), [("python", "typescript"), ("typescript", "python")])
def test_a_runtime_that_does_not_run_the_language_is_refused(language: str, runtime: str) -> None:
    with pytest.raises(InvalidRequest, match=f"{runtime} does not run '{language}'"):
        fake_runtimes().choose(language, runtime)


def test_an_unknown_runtime_names_those_that_are_there() -> None:
    with pytest.raises(UnknownRuntime, match="cobol") as refused:
        fake_runtimes().choose("cobol", None)
    assert "python, remote, typescript" in refused.value.hint


def test_a_runtime_that_is_not_installed_says_how_to_install_it() -> None:
    with pytest.raises(UnknownRuntime, match="not installed") as refused:
        fake_runtimes().choose(None, "deno")
    assert "pip install x" in refused.value.hint


async def test_a_lazy_runtime_is_built_once_by_those_who_first_open_it() -> None:
    built: list[Fake] = []

    async def build() -> Fake:
        await asyncio.sleep(0)
        built.append(Fake("python"))
        return built[-1]

    lazy = Lazy(("python",), build)
    assert lazy.current is None
    await asyncio.gather(*(lazy.open() for _ in range(5)))
    assert [fake.opened for fake in built] == [5]
    await lazy.close()
    assert built[0].closed == 1


async def test_a_start_that_failed_is_tried_again() -> None:
    tries = 0

    async def build() -> Fake:
        nonlocal tries
        tries += 1
        if tries == 1:
            raise UnknownRuntime("no")
        return Fake("python")

    lazy = Lazy(("python",), build)
    with pytest.raises(UnknownRuntime):
        await lazy.open()
    await lazy.open()
    assert tries == 2


async def test_an_open_that_is_cancelled_leaves_no_half_started_runtime_behind() -> None:
    """`asyncio.shield` in Lazy._start: else its processes would run on with nobody to close them."""
    built: list[Fake] = []
    may_end = asyncio.Event()

    async def build() -> Fake:
        built.append(Fake("python"))
        await may_end.wait()
        return built[-1]

    lazy = Lazy(("python",), build)
    opening = asyncio.create_task(lazy.open())
    await until(lambda: built)
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    closing = asyncio.create_task(lazy.close())
    await asyncio.sleep(0)
    may_end.set()
    await closing
    assert [fake.closed for fake in built] == [1]


async def test_a_lazy_runtime_that_was_never_needed_is_closed_without_being_built() -> None:
    async def build() -> Fake:
        raise AssertionError("built")

    await Lazy(("python",), build).close()

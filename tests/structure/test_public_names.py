"""What other programs import: the names of the package, the seam of kinds, and paths of earlier versions."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import executor
import executor.sources
from executor.sources.deprecated import MOVED


@pytest.mark.parametrize("name", executor.__all__)
def test_each_name_of_the_package_is_there(name: str) -> None:
    assert getattr(executor, name) is not None
    assert name in dir(executor)


@pytest.mark.parametrize("name", executor.sources.__all__)
def test_each_name_for_kinds_of_others_is_there(name: str) -> None:
    assert getattr(executor.sources, name) is not None


@pytest.mark.parametrize("package", [executor, executor.sources])
def test_an_unknown_name_is_an_attribute_error(package: object) -> None:
    with pytest.raises(AttributeError, match="nothing_like_it"):
        getattr(package, "nothing_like_it")  # noqa: B009


@pytest.mark.parametrize("old", MOVED)
def test_an_import_path_of_before_works_and_warns(old: str) -> None:
    code = f"import executor.sources, {old} as old, {MOVED[old]} as new; assert old is new"
    done = subprocess.run([sys.executable, "-W", "always", "-c", code], capture_output=True, text=True, check=True)
    assert f"{old} is deprecated: import {MOVED[old]}" in done.stderr


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = "import executor, executor.sources, sys; print(*sys.modules.keys() & {'asyncio', 'sqlalchemy', 'pydantic'})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_the_modules_that_moved_are_not_there_twice() -> None:
    assert not [old for old in MOVED if (Path(executor.__path__[0]) / f"{old.replace('.', '/')[9:]}.py").exists()]
    assert all(import_module(new) for new in MOVED.values())

"""The bundle gives a start what Python itself would give it, and nothing that has changed since."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.conditions import wait_for
from tests.support.daemon import Daemon

USE = """
import sys
sys.path.append({folder!r})
from executor import module_bundle
module_bundle.bundle_file = lambda: {file!r}
module_bundle.use_bundle()
"""
SHOW = """
import inspect
import sample.part
spec = sample.part.__spec__
print(type(spec.loader).__module__, sample.part.VALUE, sample.part.__file__ == spec.origin, bool(sample.__path__))
print(inspect.getsource(sample.part).strip())
print(module_bundle.release_bundle(), any(isinstance(one, module_bundle.Bundle) for one in sys.meta_path))
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    (tmp_path / "sample").mkdir()
    (tmp_path / "sample" / "__init__.py").touch()
    (tmp_path / "sample" / "part.py").write_text("VALUE = 1\n")
    run(tmp_path, "import sample.part; module_bundle.write_bundle()")
    return tmp_path


def run(folder: Path, program: str, begin: str = "") -> list[str]:
    use = USE.format(folder=str(folder), file=str(folder / "bundle"))
    command = [sys.executable, "-c", begin + use + program]
    environ = {"PYTHONPYCACHEPREFIX": ""}  # beside the sources, as a user has them
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_module_comes_from_the_bundle_and_looks_as_pythons_own(package: Path) -> None:
    assert run(package, SHOW) == ["executor.module_bundle 1 True True", "VALUE = 1", "False False"]


def test_a_module_that_has_changed_is_left_to_python(package: Path) -> None:
    (package / "sample" / "part.py").write_text("VALUE = 22\n")
    loader, source, ended = run(package, SHOW)
    assert (loader.split()[1], source, ended) == ("22", "VALUE = 22", "True False")
    assert loader.startswith("_frozen_importlib_external")


def test_a_module_that_is_gone_is_not_found(package: Path) -> None:
    (package / "sample" / "part.py").unlink()
    tried = "try:\n import sample.part\nexcept ModuleNotFoundError as error:\n print(error.name)"
    assert run(package, tried) == ["sample.part"]


@pytest.mark.parametrize("content", [b"", b"x", b"not a bundle at all" * 100])
def test_a_broken_bundle_is_as_none(package: Path, content: bytes) -> None:
    (package / "bundle").write_bytes(content)
    assert run(package, SHOW)[0].startswith("_frozen_importlib_external 1")


def test_the_bundle_of_other_surroundings_is_not_used(package: Path) -> None:
    begin = f"import sys\nsys.path.append({str(package / 'other')!r})\n"
    loader, _, ended = run(package, SHOW, begin)
    assert (loader.split()[0], ended) == ("_frozen_importlib_external", "True False")


def test_where_python_writes_no_compiled_files_there_is_no_bundle(package: Path) -> None:
    (package / "bundle").unlink()
    assert run(package, "sys.dont_write_bytecode = True\nprint(module_bundle.release_bundle())") == ["False"]


def test_a_folder_that_can_not_be_written_changes_nothing(package: Path) -> None:
    aside = f"module_bundle.bundle_file = lambda: {str(package / 'nowhere' / 'bundle')!r}\n"
    assert run(package, aside + "module_bundle.write_bundle()\nprint('written')") == ["written"]


def test_a_daemon_bundles_its_start_for_the_next_one(tmp_path: Path) -> None:
    """It also serves with the bundle, and after a start that was killed."""
    use = USE.format(folder=str(tmp_path), file=str(tmp_path / "bundle")).replace("module_bundle.use_bundle()", "")
    count = "sum(isinstance(one.loader, module_bundle.Loader) for _, one in module_bundle.list_imported())"
    shown = f"import atexit\natexit.register(lambda: print('bundled', {count}))\n"
    start = "from executor.__main__ import main\nsys.argv[1:] = ['up', '--foreground']\nmain()"
    daemon = Daemon(tmp_path)
    daemon.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    daemon.command = [sys.executable, "-c", use + shown + start]
    try:
        daemon.start()
        wait_for((tmp_path / "bundle").exists)
        daemon.kill()
        daemon.start()
        assert daemon.get("/v1/status")["workspace"]["id"]
    finally:
        daemon.stop()
    (bundled,) = [line for line in daemon.log.read_text().splitlines() if line.startswith("bundled ")]
    assert int(bundled.split()[1]) > 500

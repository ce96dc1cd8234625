"""The TypeScript package: built once, then its own tests run against a daemon."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.conditions import wait_for
from tests.support.daemon import Daemon
from tests.support.packages import node

ROOT = Path(__file__).parents[2]
MODULES = ROOT / "web" / "node_modules"
PAGE = ROOT / "docs" / "sdk-typescript.md"
EXAMPLES = re.findall(r"^```ts\n(.*?)^```\n+```text\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
TYPES = {"compilerOptions": {"paths": {"executor-sdk": ["../dist/index.d.ts"]}, "noEmit": True, "rootDir": ".."}}


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built outside of the checkout, so that tests at the same time don't meet."""
    if not (MODULES / "typescript").is_dir():
        pytest.skip("the packages of the web UI are not installed: `scripts/setup dev`")
    target = tmp_path_factory.mktemp("typescript") / "package"
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "sdk-typescript", target], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return target


def run_tests(package: Path, name: str, environ: dict[str, str]) -> None:
    command = [node(), "--test", "--test-reporter=spec", f"tests/{name}.test.mjs"]
    done = subprocess.run(command, cwd=package, env=environ, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def environ(daemon: Daemon) -> Iterator[dict[str, str]]:
    """Programs see the same environment as the daemon."""
    yield {**daemon.environ, "TEST_DAEMON_URL": daemon.url}


def test_everything_that_it_does_works_against_a_daemon(package: Path, daemon: Daemon, environ: dict[str, str]) -> None:
    run_tests(package, "daemon", environ)


def test_numbers_keep_their_digits_and_nothing_is_sent_twice(package: Path) -> None:
    run_tests(package, "exchange", dict(os.environ))


def test_its_types_say_what_the_api_takes(package: Path) -> None:
    config = {"extends": "../tsconfig.json", **TYPES, "include": ["types.ts"]}
    (package / "tests" / "tsconfig.json").write_text(json.dumps(config))
    command = [node(), str(MODULES / "typescript" / "bin" / "tsc"), "-p", str(package / "tests")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_its_code_is_clean() -> None:
    biome = MODULES / ".bin" / "biome"
    if not biome.is_file():
        pytest.skip("the packages of the web UI are not installed: `scripts/setup dev`")
    done = subprocess.run(
        [node(), biome, "check", "--error-on-warnings"],
        cwd=ROOT / "sdk" / "typescript", capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_build_for_browsers_has_nothing_of_node(package: Path) -> None:
    for file in (package / "dist").rglob("*.js"):
        if file.name != "location.node.js":
            assert "node:" not in file.read_text(encoding="utf-8"), file.name
    imports = json.loads((package / "package.json").read_text())["imports"]["#location"]
    assert imports["browser"] == "./dist/location.browser.js" and next(iter(imports)) == "browser"


def run_code(package: Path, environ: dict[str, str], code: str) -> str:
    command = [node(), "--input-type=module", "-e", f"import {{Executor}} from './dist/index.js'; {code}"]
    done = subprocess.run(command, cwd=package, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_without_a_daemon_the_error_has_the_next_step(package: Path, tmp_path: Path) -> None:
    environ = {**os.environ, "EXECUTOR_DATA_DIR": str(tmp_path), "EXECUTOR_CONFIG": os.devnull}
    hint = run_code(package, environ, "await new Executor().status().catch((error) => console.log(error.hint))")
    assert "executor up" in hint


def test_a_process_that_only_has_the_port_gets_no_token(package: Path, daemon: Daemon, environ: dict[str, str]) -> None:
    """The record of a daemon that has ended may lead to anyone's port: the lock says that it has."""
    record = daemon.state_dir / "daemon.json"
    kept = record.read_text(encoding="utf-8")
    try:
        record.write_text(json.dumps({**json.loads(kept), "pid": os.getpid()}), encoding="utf-8")
        code = "await new Executor({reconnectMs: 100}).status().catch((error) => console.log(error.message))"
        said = run_code(package, environ, code)
    finally:
        record.write_text(kept, encoding="utf-8")
    assert "is starting" in said


def test_the_command_is_asked_where_the_configuration_says_where_the_data_is(
    package: Path, daemon: Daemon, environ: dict[str, str], tmp_path: Path
) -> None:
    config = tmp_path / "config.toml"
    config.write_text(f'data_dir = "{daemon.data_dir}"\nstate_dir = "{daemon.state_dir}"\n')
    outside = {name: value for name, value in environ.items() if not name.startswith("EXECUTOR_")}
    path = os.pathsep.join([str(Path(sys.executable).parent), outside.get("PATH", "")])
    outside |= {"PATH": path, "EXECUTOR_CONFIG": str(config)}
    assert run_code(package, outside, "console.log((await new Executor().run('return 7')).result)") == "7"


@pytest.mark.parametrize(("program", "printed"), EXAMPLES)
def test_an_example_of_the_page_prints_what_it_says(
    package: Path, environ: dict[str, str], tmp_path: Path, program: str, printed: str
) -> None:
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "executor-sdk").symlink_to(package)
    (tmp_path / "example.mjs").write_text(program, encoding="utf-8")
    command = [node(), "example.mjs"]
    done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=240, check=False)
    assert (done.stdout, done.returncode) == (printed, 0), done.stderr


def test_a_daemon_that_is_killed_and_comes_back_loses_nothing(
    package: Path, daemon: Daemon, environ: dict[str, str]
) -> None:
    command = [node(), "tests/reconnect.mjs"]
    with subprocess.Popen(command, cwd=package, env=environ, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        interaction = json.loads(program.stdout.readline())["interaction"]
        daemon.kill()
        daemon.start()
        wait_for(lambda: daemon.get("/v1/status")["version"], "the daemon")
        daemon.post(f"/v1/interactions/{interaction}/approve")
        saw = json.loads(program.stdout.readline())
    assert (saw["status"], saw["last"]) == ("completed", "execution.completed")
    assert saw["ids"] == sorted(set(saw["ids"]))

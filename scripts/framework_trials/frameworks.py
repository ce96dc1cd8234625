"""Which frameworks are tried: what each is installed from, how it is started, and what it calls its operations."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

SERVICES = Path(__file__).parent / "services"
NPM = {
    "fastify": ["fastify", "@fastify/swagger", "@fastify/multipart"],
    "express": ["express", "express-validator", "multer", "swagger-jsdoc"],
}
PYPI = {
    "fastapi": ["fastapi", "uvicorn", "python-multipart"],
    "django": ["django", "djangorestframework", "drf-spectacular"],
}


@dataclass(frozen=True)
class Framework:
    """`operations` are the last words of the tools' paths: list, create, read, archive, upload, download."""

    name: str
    service: tuple[str, ...]
    document: str = "openapi.json"
    operations: tuple[str, ...] = ("listItems", "createItem", "getItem", "archiveItem", "uploadFile", "downloadFile")
    key: str = "id"  # what the id of an item is called
    wraps: str = ""  # the field in which a new item is given


FRAMEWORKS = {
    one.name: one
    for one in (
        Framework("fastify", ("node", "fastify_service.mjs")),
        Framework("express", ("node", "express_service.cjs")),
        Framework(
            "fastapi",
            ("python", "fastapi_service.py"),
            key="item_id",
        ),
        Framework(
            "django",
            ("python", "django_service.py"),
            "openapi.yaml",
            ("items.list", "items.create", "items.retrieve", "items.archiveCreate", "files.create", "files.large"),
        ),
        Framework("spring-like", ("stand-in", "spring")),
        Framework("rails-like", ("stand-in", "rails"), wraps="item"),
    )
}


def install(framework: Framework, cache: Path) -> str:
    """Into the cache; the version of the framework's own package."""
    folder = cache / framework.name
    if framework.name in NPM:
        packages = NPM[framework.name]
        if not (folder / "node_modules" / packages[0]).exists():
            folder.mkdir(parents=True, exist_ok=True)
            command = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder), *packages]
            subprocess.run(command, check=True, capture_output=True)
        shown = ["node", "-p", f"require('{folder}/node_modules/{packages[0]}/package.json').version"]
    elif framework.name in PYPI:
        python = folder / "bin" / "python"
        if not (folder / "installed").exists():
            venv.create(folder, with_pip=True, clear=True)
            subprocess.run(
                [python, "-m", "pip", "install", "-q", *PYPI[framework.name]], check=True, capture_output=True
            )
            (folder / "installed").touch()
        name = PYPI[framework.name][0]
        shown = [str(python), "-c", f"from importlib.metadata import version; print(version('{name}'))"]
    else:
        return "stand-in"
    return subprocess.run(shown, check=True, capture_output=True, text=True).stdout.strip()


@contextmanager
def serving(framework: Framework, cache: Path) -> Iterator[str]:
    kind, file = framework.service
    folder = cache / framework.name
    if kind == "node":
        command = ["node", str(SERVICES / file)]
    elif kind == "python":
        command = [str(folder / "bin" / "python"), str(SERVICES / file)]
    else:
        command = [sys.executable, str(SERVICES / "stand_ins.py"), file]
    environ = {**os.environ, "TRIAL_MODULES": str(folder)}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environ)
    try:
        assert process.stdout is not None
        port = process.stdout.readline().strip()
        if not port:
            raise SystemExit(f"{framework.name} ended before it listened:\n{process.communicate()[1]}")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.communicate()

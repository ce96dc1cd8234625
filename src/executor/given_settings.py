"""What the config file and the environment say about settings, before it is read as values."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from executor.errors import InvalidRequest
from executor.setting_values import Given

# Variables that similar products read, too.
OTHER_NAMES = {"MCP_AUTHORIZATION_SERVER": "mcp_issuer", "MCP_AUTHORIZATION_SERVER_URL": "mcp_issuer"}


def variable(name: str) -> str:
    """The environment variable of a setting: `limits.cpu_ms` is `EXECUTOR_LIMITS_CPU_MS`."""
    return "EXECUTOR_" + name.replace(".", "_").upper()


def from_environment(environ: Mapping[str, str], known: Collection[str]) -> dict[str, Given]:
    """`known` are the names of all settings."""
    names = {**OTHER_NAMES, **{variable(name): name for name in known}}
    return {name: Given(environ[one], one, Path()) for one, name in names.items() if environ.get(one)}


def from_file(path: Path, known: Collection[str], *, required: bool) -> dict[str, Given]:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        if required:
            raise InvalidRequest(
                f"the config file {path} (EXECUTOR_CONFIG) does not exist", hint="create it or unset EXECUTOR_CONFIG"
            ) from None
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidRequest(f"the config file {path} can't be read: {error}", hint="make it readable UTF-8") from error
    table = _flat(_parse(path, text), path, known)
    return {name: Given(value, str(path), path.parent) for name, value in table.items()}


def _parse(path: Path, text: str) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidRequest(f"the config file {path} is not TOML: {error}", hint="correct that line") from error


def _flat(table: Mapping[str, Any], path: Path, known: Collection[str]) -> dict[str, Any]:
    limits = table.get("limits", {})
    if not isinstance(limits, dict):
        raise InvalidRequest(f"limits in {path} is {limits!r}, not a table", hint="write [limits] on a line of its own")
    flat = {name: value for name, value in table.items() if name != "limits"}
    flat |= {f"limits.{name}": value for name, value in limits.items()}
    for name in flat:
        if name not in known:
            raise InvalidRequest(
                f"unknown setting {name!r} in {path}", hint=f"the settings are: {', '.join(sorted(known))}"
            )
    return flat

"""Settings: defaults, then the config file, then `EXECUTOR_*` variables; the last one that speaks wins.

Standard library and platformdirs only, since the CLI reads this on every start.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple

from executor.errors import InvalidRequest

MEGABYTE = 1024 * 1024
RUNTIMES = ("typescript", "python", "deno", "remote")
LANGUAGES = ("typescript", "python")
LOG_LEVELS = ("debug", "info", "warning", "error")


class _Given(NamedTuple):
    value: Any
    origin: str
    folder: Path


def _integer(low: int, high: int) -> Callable[[_Given], int]:
    def convert(given: _Given) -> int:
        value = given.value
        number = int(value) if isinstance(value, str) and value.strip().isascii() and _digits(value) else value
        if isinstance(number, bool) or not isinstance(number, int) or not low <= number <= high:
            raise ValueError(f"expected a whole number from {low} to {high}")
        return number

    return convert


def _digits(text: str) -> bool:
    return text.strip().isdecimal() and len(text) <= 20


def _text(given: _Given) -> str:
    if not isinstance(given.value, str) or not given.value.strip() or not given.value.isprintable():
        raise ValueError("expected text")
    return given.value.strip()


def _path(given: _Given) -> Path:
    return (given.folder / Path(_text(given)).expanduser()).absolute()


def _flag(given: _Given) -> bool:
    words = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
    flag = words.get(str(given.value).strip().lower())
    if flag is None:
        raise ValueError("expected true or false")
    return flag


def _level(given: _Given) -> str:
    level = _text(given).lower()
    if level not in LOG_LEVELS:
        raise ValueError(f"expected one of {', '.join(LOG_LEVELS)}")
    return level


def _one_of(*words: str) -> Callable[[_Given], str]:
    def convert(given: _Given) -> str:
        # TOML writes on and off as booleans too.
        word = {True: "on", False: "off"}.get(given.value) if isinstance(given.value, bool) else _text(given).lower()
        if word not in words:
            raise ValueError(f"expected one of {', '.join(words)}")
        return str(word)

    return convert


def _some_of(*words: str) -> Callable[[_Given], tuple[str, ...]]:
    """A list, or text with commas between."""

    def convert(given: _Given) -> tuple[str, ...]:
        value = given.value.split(",") if isinstance(given.value, str) else given.value
        chosen = [str(one).strip().lower() for one in value] if isinstance(value, list) else []
        if not chosen or any(one not in words for one in chosen):
            raise ValueError(f"expected some of {', '.join(words)}")
        return tuple(dict.fromkeys(chosen))

    return convert


def _origin(given: _Given) -> str:
    from urllib.parse import urlsplit

    text = _text(given).rstrip("/").lower()
    parts = urlsplit(text)
    plain = f"{parts.scheme}://{parts.netloc}" == text and "@" not in text
    if parts.scheme not in ("http", "https") or not parts.hostname or not plain:
        raise ValueError("expected an address such as https://executor.example, without a path")
    return text


def _names(given: _Given) -> tuple[str, ...]:
    """A list, or text with commas between."""
    value = given.value
    names = value.split(",") if isinstance(value, str) else value
    if not isinstance(names, list) or not all(isinstance(name, str) and name.strip().isidentifier() for name in names):
        raise ValueError("expected names of environment variables")
    return tuple(name.strip() for name in names)


def _words(given: _Given) -> tuple[str, ...]:
    """Scopes: a list, or text with blanks between. May be empty."""
    words = given.value.split() if isinstance(given.value, str) else given.value
    if not isinstance(words, list) or not all(isinstance(word, str) and _is_word(word) for word in words):
        raise ValueError("expected scopes, such as executor:execute")
    return tuple(words)


def _is_word(word: str) -> bool:
    return bool(word) and all("!" <= letter <= "~" and letter not in '"\\' for letter in word)


def _url(given: _Given) -> str:
    """As it is written: an issuer is compared letter by letter."""
    from urllib.parse import urlsplit

    text = _text(given)
    parts = urlsplit(text)
    plain = text.isascii() and not any(letter in text for letter in " @\\") and not parts.query and not parts.fragment
    if parts.scheme not in ("http", "https") or not parts.hostname or not plain:
        raise ValueError("expected an address such as https://login.example/realm")
    return text


def _json(given: _Given) -> str:
    """As text. What is wrong in it stops no daemon, so it is read later."""
    import json

    return given.value if isinstance(given.value, str) else json.dumps(given.value, default=str)


def _reference(given: _Given) -> str:
    text = given.value.strip() if isinstance(given.value, str) else ""
    kind, _, where = text.partition(":")
    if kind == "env" and where.isidentifier():
        return text
    if kind == "file" and where and where.isprintable():
        return f"file:{(given.folder / Path(where).expanduser()).absolute()}"
    raise ValueError("expected env:NAME or file:/path, never the secret itself")


def _is_loopback(host: str) -> bool:
    return host.lower() == "localhost" or host == "::1" or host.startswith("127.")


def _host(given: _Given) -> str:
    host = _text(given)
    if any(character in host for character in "/@[] ") or host.count(":") == 1:
        raise ValueError("expected a host name or address without port or scheme")
    return host


def _setting(default: Any, convert: Callable[[_Given], Any]) -> Any:
    """A field that the config file and a variable can set; `convert` reads what they say."""
    return field(default=default, metadata={"convert": convert})


@dataclass(frozen=True, slots=True)
class LimitSettings:
    """What one execution may use when it asks for nothing else. The same fields as `model.execution.Limits`."""

    cpu_ms: int = _setting(10_000, _integer(1, 24 * 3_600_000))
    memory_bytes: int = _setting(64 * MEGABYTE, _integer(MEGABYTE, 4096 * MEGABYTE))
    wall_ms: int = _setting(300_000, _integer(1, 30 * 86_400_000))
    calls: int = _setting(1_000, _integer(0, 1_000_000))
    result_bytes: int = _setting(64 * MEGABYTE, _integer(1, 64 * 1024 * MEGABYTE))
    output_bytes: int = _setting(8 * MEGABYTE, _integer(1, 1024 * MEGABYTE))
    log_bytes: int = _setting(MEGABYTE, _integer(0, 1024 * MEGABYTE))


@dataclass(frozen=True, slots=True)
class Settings:
    data_dir: Path = field(metadata={"convert": _path})
    state_dir: Path = field(metadata={"convert": _path})
    config_file: Path
    host: str = _setting("127.0.0.1", _host)
    port: int = _setting(8788, _integer(0, 65535))
    database_url: str = _setting("", _text)
    workers: int = _setting(2, _integer(1, 256))
    slots: int = _setting(16, _integer(1, 1024))
    limits: LimitSettings = field(default_factory=LimitSettings)
    approval_ttl_seconds: int = _setting(7 * 86400, _integer(1, 365 * 86400))
    approval_limit_execution: int = _setting(100, _integer(1, 100_000))
    approval_limit_actor: int = _setting(1_000, _integer(1, 1_000_000))
    lost_answers: str = _setting("ask", _one_of("ask", "error"))
    retry_seconds: int = _setting(120, _integer(0, 86400))
    file_bytes: int = _setting(1024 * MEGABYTE, _integer(1024, 1024 * 1024 * MEGABYTE))
    mcp_call_seconds: int = _setting(60, _integer(1, 86400))
    mcp_total_seconds: int = _setting(1800, _integer(1, 86400))
    max_code_bytes: int = _setting(1_000_000, _integer(1, 64 * MEGABYTE))
    inline_bytes: int = _setting(32 * 1024, _integer(1024, 1024 * MEGABYTE))
    allow_private_hosts: bool = _setting(False, _flag)
    refresh_seconds: int = _setting(86400, _integer(0, 365 * 86400))
    log_level: str = _setting("info", _level)
    secrets_key: str = _setting("file", _one_of("file", "keyring"))
    secrets_environment: tuple[str, ...] = _setting((), _names)
    vault_url: str = _setting("", _origin)
    vault_token_file: Path | None = _setting(None, _path)  # noqa: RUF009 - it makes a field
    public_url: str = _setting("", _origin)
    anonymous: str = _setting("auto", _one_of("auto", "on", "off"))
    anonymous_executions: int = _setting(500, _integer(1, 1_000_000))
    anonymous_bytes: int = _setting(32 * 1024 * 1024, _integer(1, 1024 * 1024 * MEGABYTE))
    anonymous_bytes_all: int = _setting(512 * 1024 * 1024, _integer(1, 1024 * 1024 * MEGABYTE))
    mcp_issuer: str = _setting("", _url)
    mcp_audience: str = _setting("", _text)
    mcp_jwks_url: str = _setting("", _url)
    mcp_scopes: tuple[str, ...] = _setting(("executor:execute",), _words)
    mcp_workspace: str = _setting("", _text)
    oidc_issuer: str = _setting("", _url)
    oidc_client_id: str = _setting("", _text)
    oidc_client_secret: str = _setting("", _reference)
    oidc_default_role: str = _setting("", _one_of("viewer", "member", "admin"))
    default_runtime: str = _setting("", _one_of(*RUNTIMES))
    runtimes: tuple[str, ...] = _setting((), _some_of(*RUNTIMES))
    languages: tuple[str, ...] = _setting((), _some_of(*LANGUAGES))
    deno_processes: int = _setting(4, _integer(1, 256))
    remote_url: str = _setting("", _text)
    remote_token_file: Path | None = _setting(None, _path)  # noqa: RUF009 - it makes a field
    remote_callback_url: str = _setting("", _text)
    typecheck: str = _setting("error", _one_of("error", "warn", "off"))
    typecheck_unavailable: str = _setting("warn", _one_of("warn", "fail"))
    tool_sources: str = _setting("", _json)
    declared_file: Path | None = _setting(None, _path)  # noqa: RUF009 - it makes a field

    @classmethod
    def load(cls, environ: Mapping[str, str] = os.environ) -> Settings:
        config_file = _config_file(environ)
        given = {**_from_file(config_file, required="EXECUTOR_CONFIG" in environ), **_from_environment(environ)}
        values = {name: _convert(name, value) for name, value in given.items()}
        limits = {name.removeprefix("limits."): values.pop(name) for name in list(values) if name.startswith("limits.")}
        _check_runtimes(values)
        data_dir = values.pop("data_dir", None)
        # A data directory chosen by hand brings its own state directory: two daemons must never share one.
        state_dir = values.pop("state_dir", None) or (data_dir / "state" if data_dir else user_dir("state", environ))
        return cls(
            data_dir=data_dir or user_dir("data", environ),
            state_dir=state_dir,
            config_file=config_file,
            limits=LimitSettings(**limits),
            **values,
        )

    @property
    def base_url(self) -> str:
        return f"http://{bracket_host(self.host)}:{self.port}"

    @property
    def address(self) -> str:
        """Where a browser finds this daemon: behind a proxy another address than the one that it listens on."""
        return self.public_url or self.base_url

    @property
    def resource(self) -> str:
        """What tokens for `/mcp` are issued for, by the name that clients know it by."""
        return f"{self.address}/mcp"

    @property
    def resource_audience(self) -> str:
        return self.mcp_audience or self.resource

    @property
    def admits_anonymous(self) -> bool:
        """Whether strangers may have a workspace of their own; left to itself, only those on this machine."""
        return self.anonymous == "on" or (self.anonymous == "auto" and _is_loopback(self.host))

    @property
    def database_file(self) -> Path:
        return self.data_dir / "executor.db"

    @property
    def lock_file(self) -> Path:
        return self.data_dir / "daemon.lock"

    @property
    def operator_token_file(self) -> Path:
        return self.data_dir / "operator.token"

    @property
    def agent_token_file(self) -> Path:
        return self.data_dir / "agent.token"

    @property
    def pid_file(self) -> Path:
        return self.state_dir / "daemon.pid"

    @property
    def log_file(self) -> Path:
        return self.state_dir / "daemon.log"

    @property
    def daemon_file(self) -> Path:
        return self.state_dir / "daemon.json"


def bracket_host(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def variable(name: str) -> str:
    """The environment variable of a setting: `limits.cpu_ms` is `EXECUTOR_LIMITS_CPU_MS`."""
    return "EXECUTOR_" + name.replace(".", "_").upper()


def user_dir(kind: str, environ: Mapping[str, str]) -> Path:
    """As platformdirs says; on Linux without importing it, which would cost every command a tenth of its time."""
    if sys.platform == "linux":
        variable, default = XDG[kind]
        chosen = environ.get(variable, "").strip()
        return Path(chosen if chosen.startswith("/") else Path(default).expanduser(), "executor")
    import platformdirs

    return Path(getattr(platformdirs, f"user_{kind}_dir")("executor", appauthor=False))


def _config_file(environ: Mapping[str, str]) -> Path:
    if chosen := environ.get("EXECUTOR_CONFIG"):
        return Path(chosen).expanduser().absolute()
    return user_dir("config", environ) / "config.toml"


def _from_environment(environ: Mapping[str, str]) -> dict[str, _Given]:
    folder = Path.cwd() if any(variable(name) in environ for name in PATHS) else Path()
    found = {name: environ[variable(name)] for name in CONVERTERS if environ.get(variable(name))}
    given = {name: _Given(value, variable(name), folder) for name, value in found.items()}
    return {**_from_other_names(environ), **given}


def _from_other_names(environ: Mapping[str, str]) -> dict[str, _Given]:
    return {name: _Given(environ[other], other, Path()) for other, name in OTHER_NAMES.items() if environ.get(other)}


def _from_file(path: Path, *, required: bool) -> dict[str, _Given]:
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
    return {name: _Given(value, str(path), path.parent) for name, value in _flat(_parse(path, text), path).items()}


def _parse(path: Path, text: str) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidRequest(f"the config file {path} is not TOML: {error}", hint="correct that line") from error


def _flat(table: Mapping[str, Any], path: Path) -> dict[str, Any]:
    limits = table.get("limits", {})
    if not isinstance(limits, dict):
        raise InvalidRequest(f"limits in {path} is {limits!r}, not a table", hint="write [limits] on a line of its own")
    flat = {name: value for name, value in table.items() if name != "limits"}
    flat |= {f"limits.{name}": value for name, value in limits.items()}
    for name in flat:
        if name not in CONVERTERS:
            raise InvalidRequest(
                f"unknown setting {name!r} in {path}", hint=f"the settings are: {', '.join(sorted(CONVERTERS))}"
            )
    return flat


def _convert(name: str, given: _Given) -> Any:
    try:
        return CONVERTERS[name](given)
    except ValueError as error:
        value = "not a reference" if name in REFERENCES else repr(given.value)  # it may be the secret itself
        raise InvalidRequest(
            f"setting {name} is {value} (from {given.origin}): {error}",
            hint=f"correct it in {given.origin} or remove it to use the default",
            setting=name,
        ) from None


def _check_runtimes(values: Mapping[str, Any]) -> None:
    default, allowed = values.get("default_runtime", ""), values.get("runtimes", ())
    if default and allowed and default not in allowed:
        raise InvalidRequest(
            f"setting default_runtime is {default!r}, which the setting runtimes does not allow",
            hint=f"add it to runtimes, or use {' or '.join(allowed)}",
            setting="default_runtime",
        )


XDG = {
    "config": ("XDG_CONFIG_HOME", "~/.config"),
    "data": ("XDG_DATA_HOME", "~/.local/share"),
    "state": ("XDG_STATE_HOME", "~/.local/state"),
}
PATHS = ("data_dir", "state_dir", "vault_token_file", "remote_token_file", "oidc_client_secret", "declared_file")
REFERENCES = ("oidc_client_secret",)
CONVERTERS: dict[str, Callable[[_Given], Any]] = {
    f"{prefix}{one.name}": one.metadata["convert"]
    for group, prefix in ((Settings, ""), (LimitSettings, "limits."))
    for one in fields(group)
    if "convert" in one.metadata
}
# Variables that similar products read, too.
OTHER_NAMES = {"MCP_AUTHORIZATION_SERVER": "mcp_issuer", "MCP_AUTHORIZATION_SERVER_URL": "mcp_issuer"}
# And those that have no effect here, with the setting that has.
INSTEAD = {
    "EXECUTOR_BACKEND_PORT": "port",
    "EXECUTOR_INTERNAL_BASE_URL": "remote_callback_url",
    "EXECUTOR_RUNTIME_DIR": "data_dir",
    "EXECUTOR_WEB_PORT": "port",
}
OTHER_VARIABLES = ("EXECUTOR_CONFIG", "EXECUTOR_TOKEN", "EXECUTOR_WORKSPACE", "EXECUTOR_PROGRAM")
VARIABLES = (*map(variable, CONVERTERS), *OTHER_VARIABLES)

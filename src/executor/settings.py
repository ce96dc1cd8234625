"""Settings: defaults, then the config file, then `EXECUTOR_*` variables; the last one that speaks wins.

Standard library and platformdirs only, since the CLI reads this on every start.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import field, fields
from pathlib import Path
from typing import Any

from executor.dataclass import dataclass
from executor.errors import InvalidRequest
from executor.given_settings import from_environment, from_file, variable
from executor.setting_values import (
    Given,
    read_dollars,
    read_flag,
    read_host,
    read_integer,
    read_json,
    read_level,
    read_lower_patterns,
    read_names,
    read_object_url,
    read_one_of,
    read_origin,
    read_pairs,
    read_path,
    read_patterns,
    read_reference,
    read_some_of,
    read_switch,
    read_text,
    read_transit_key,
    read_url,
    read_words,
)

MEGABYTE = 1024 * 1024
RUNTIMES = ("typescript", "python", "deno", "remote")
LANGUAGES = ("typescript", "python")


def _is_loopback(host: str) -> bool:
    return host.lower() == "localhost" or host == "::1" or host.startswith("127.")


def _setting(default: Any, convert: Callable[[Given], Any]) -> Any:
    """A field that the config file and a variable can set; `convert` reads what they say."""
    return field(default=default, metadata={"convert": convert})


@dataclass(frozen=True, slots=True)
class LimitSettings:
    """What one execution may use when it asks for nothing else. The same fields as `model.execution.Limits`."""

    cpu_ms: int = _setting(10_000, read_integer(1, 24 * 3_600_000))
    memory_bytes: int = _setting(64 * MEGABYTE, read_integer(MEGABYTE, 4096 * MEGABYTE))
    wall_ms: int = _setting(300_000, read_integer(1, 30 * 86_400_000))
    calls: int = _setting(1_000, read_integer(0, 1_000_000))
    result_bytes: int = _setting(64 * MEGABYTE, read_integer(1, 64 * 1024 * MEGABYTE))
    output_bytes: int = _setting(8 * MEGABYTE, read_integer(1, 1024 * MEGABYTE))
    log_bytes: int = _setting(MEGABYTE, read_integer(0, 1024 * MEGABYTE))


@dataclass(frozen=True, slots=True)
class Settings:
    data_dir: Path = field(metadata={"convert": read_path})
    state_dir: Path = field(metadata={"convert": read_path})
    config_file: Path
    host: str = _setting("127.0.0.1", read_host)
    port: int = _setting(8788, read_integer(0, 65535))
    database_url: str = field(default="", repr=False, metadata={"convert": read_text})  # it may have a password
    database_direct_url: str = field(default="", repr=False, metadata={"convert": read_text})
    server_auto_execute: str = _setting("auto", read_switch)
    lease_seconds: int = _setting(15, read_integer(3, 300))
    cluster_commands: str = _setting("refuse", read_one_of("refuse", "allow"))
    drain_seconds: int = _setting(10, read_integer(0, 3600))
    workers: int = _setting(2, read_integer(1, 256))
    slots: int = _setting(16, read_integer(1, 1024))
    limits: LimitSettings = field(default_factory=LimitSettings)
    approval_ttl_seconds: int = _setting(7 * 86400, read_integer(1, 365 * 86400))
    approval_limit_execution: int = _setting(100, read_integer(1, 100_000))
    approval_limit_actor: int = _setting(1_000, read_integer(1, 1_000_000))
    running_limit_workspace: int = _setting(0, read_integer(0, 1_000_000))
    running_limit_actor: int = _setting(0, read_integer(0, 1_000_000))
    queued_limit_workspace: int = _setting(0, read_integer(0, 1_000_000))
    queued_limit_actor: int = _setting(0, read_integer(0, 1_000_000))
    minute_limit_workspace: int = _setting(0, read_integer(0, 1_000_000))
    minute_limit_actor: int = _setting(0, read_integer(0, 1_000_000))
    lost_answers: str = _setting("ask", read_one_of("ask", "error"))
    retry_seconds: int = _setting(120, read_integer(0, 86400))
    file_bytes: int = _setting(1024 * MEGABYTE, read_integer(1024, 1024 * 1024 * MEGABYTE))
    artifacts_url: str = _setting("", read_object_url)
    artifacts_object_bytes: int = _setting(MEGABYTE, read_integer(1, 1024 * 1024 * MEGABYTE))
    artifacts_credentials_file: Path | None = _setting(None, read_path)
    mcp_call_seconds: int = _setting(60, read_integer(1, 86400))
    mcp_total_seconds: int = _setting(1800, read_integer(1, 86400))
    mcp_review: str = _setting("writes", read_one_of("writes", "all", "none"))
    max_code_bytes: int = _setting(1_000_000, read_integer(1, 64 * MEGABYTE))
    inline_bytes: int = _setting(32 * 1024, read_integer(1024, 1024 * MEGABYTE))
    approval_pages_in_clients: bool = _setting(True, read_flag)
    allow_private_hosts: bool = _setting(False, read_flag)
    refresh_seconds: int = _setting(86400, read_integer(0, 365 * 86400))
    log_level: str = _setting("info", read_level)
    log_format: str = _setting("auto", read_one_of("auto", "text", "json"))
    log_file_bytes: int = _setting(10 * MEGABYTE, read_integer(10_000, 1024 * 1024 * MEGABYTE))
    log_file_count: int = _setting(3, read_integer(1, 1000))
    telemetry: str = _setting("off", read_one_of("off", "otlp"))
    trace_inbound: str = _setting("link", read_one_of("ignore", "link", "continue"))
    trace_hosts: tuple[str, ...] = _setting((), read_lower_patterns)
    metrics_token_file: Path | None = _setting(None, read_path)
    secrets_key: str = _setting("file", read_one_of("file", "keyring", "shared", "vault"))
    secrets_key_file: Path | None = _setting(None, read_path)
    secrets_environment: tuple[str, ...] = _setting((), read_names)
    vault_url: str = _setting("", read_origin)
    vault_token_file: Path | None = _setting(None, read_path)
    vault_transit: str = _setting("transit/executor", read_transit_key)
    public_url: str = _setting("", read_origin)
    anonymous: str = _setting("auto", read_one_of("auto", "on", "off"))
    anonymous_executions: int = _setting(500, read_integer(1, 1_000_000))
    anonymous_bytes: int = _setting(32 * 1024 * 1024, read_integer(1, 1024 * 1024 * MEGABYTE))
    anonymous_sources: int = _setting(0, read_integer(0, 100))
    anonymous_bytes_all: int = _setting(512 * 1024 * 1024, read_integer(1, 1024 * 1024 * MEGABYTE))
    mcp_issuer: str = _setting("", read_url)
    mcp_audience: str = _setting("", read_text)
    mcp_jwks_url: str = _setting("", read_url)
    mcp_scopes: tuple[str, ...] = _setting(("executor:execute",), read_words)
    mcp_workspace: str = _setting("", read_text)
    oidc_issuer: str = _setting("", read_url)
    oidc_client_id: str = _setting("", read_text)
    oidc_client_secret: str = _setting("", read_reference)
    oidc_default_role: str = _setting("", read_one_of("viewer", "member", "admin"))
    default_runtime: str = _setting("", read_one_of(*RUNTIMES))
    runtimes: tuple[str, ...] = _setting((), read_some_of(*RUNTIMES))
    languages: tuple[str, ...] = _setting((), read_some_of(*LANGUAGES))
    deno_processes: int = _setting(4, read_integer(1, 256))
    remote_url: str = _setting("", read_text)
    remote_token_file: Path | None = _setting(None, read_path)
    remote_callback_url: str = _setting("", read_text)
    typecheck: str = _setting("error", read_one_of("error", "warn", "off"))
    typecheck_unavailable: str = _setting("warn", read_one_of("warn", "fail"))
    session_limit: int = _setting(8, read_integer(1, 1000))
    session_isolation: str = _setting("sandbox", read_one_of("simple", "insulated", "strict", "sandbox"))
    session_bypass: str = _setting("sandbox", read_one_of("never", "sandbox", "always"))
    session_unattended: str = _setting("wait", read_one_of("wait", "deny", "stop"))
    session_answer_seconds: int = _setting(3600, read_integer(0, 365 * 86400))
    session_task_seconds: int = _setting(4 * 3600, read_integer(1, 30 * 86400))
    session_idle_seconds: int = _setting(600, read_integer(1, 30 * 86400))
    session_silent_seconds: int = _setting(120, read_integer(1, 86400))
    session_warm: int = _setting(0, read_integer(0, 16))
    session_prompts_per_minute: int = _setting(30, read_integer(1, 10_000))
    session_repositories: tuple[tuple[str, str], ...] = _setting(
        (), read_pairs("names and locations, such as app=/srv/app.git")
    )
    session_setup_scripts: tuple[tuple[str, str], ...] = _setting(
        (), read_pairs("names of session_repositories and scripts, such as app=make deps")
    )
    session_setup_seconds: int = _setting(600, read_integer(1, 86400))
    session_clone_days: int = _setting(30, read_integer(0, 36500))
    session_clone_bytes: int = _setting(10 * 1024 * MEGABYTE, read_integer(MEGABYTE, 2**50))
    session_clones_bytes: int = _setting(100 * 1024 * MEGABYTE, read_integer(MEGABYTE, 2**50))
    session_unix_users: tuple[tuple[str, str], ...] = _setting(
        (), read_pairs("accounts and Unix users, such as acc_1=agent-ada")
    )
    session_agents: str = _setting("", read_json)
    session_hosts: tuple[str, ...] = _setting((), read_patterns)
    tool_sources: str = _setting("", read_json)
    declared_file: Path | None = _setting(None, read_path)
    model_anthropic_url: str = _setting("https://api.anthropic.com", read_url)
    model_openai_url: str = _setting("https://api.openai.com/v1", read_url)
    model_gemini_url: str = _setting("https://generativelanguage.googleapis.com", read_url)
    model_prices_file: Path | None = _setting(None, read_path)
    model_allowed: tuple[str, ...] = _setting((), read_patterns)
    model_session_budget: int | None = _setting(None, read_dollars)
    model_user_budget: int | None = _setting(None, read_dollars)
    model_session_requests: int = _setting(120, read_integer(1, 1_000_000))
    model_user_requests: int = _setting(600, read_integer(1, 1_000_000))

    @classmethod
    def load(cls, environ: Mapping[str, str] = os.environ) -> Settings:
        config_file = _config_file(environ)
        in_file = from_file(config_file, CONVERTERS, required="EXECUTOR_CONFIG" in environ)
        given = {**in_file, **from_environment(environ, CONVERTERS)}
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


def _convert(name: str, given: Given) -> Any:
    try:
        return CONVERTERS[name](given)
    except ValueError as error:
        value = "not valid" if name in SECRET else repr(given.value)
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
SECRET = ("oidc_client_secret", "database_url", "artifacts_url")  # what was given for them may hold a secret
CONVERTERS: dict[str, Callable[[Given], Any]] = {
    f"{prefix}{one.name}": one.metadata["convert"]
    for group, prefix in ((Settings, ""), (LimitSettings, "limits."))
    for one in fields(group)
    if "convert" in one.metadata
}
# Variables of similar products that have no effect here, with the setting that has.
INSTEAD = {
    "EXECUTOR_BACKEND_PORT": "port",
    "EXECUTOR_INTERNAL_BASE_URL": "remote_callback_url",
    "EXECUTOR_RUNTIME_DIR": "data_dir",
    "EXECUTOR_WEB_PORT": "port",
}
OTHER_VARIABLES = (
    "EXECUTOR_CONFIG",
    "EXECUTOR_TOKEN",
    "EXECUTOR_WORKSPACE",
    "EXECUTOR_PROGRAM",
    "EXECUTOR_MASTER_KEYS",
)
VARIABLES = (*map(variable, CONVERTERS), *OTHER_VARIABLES)

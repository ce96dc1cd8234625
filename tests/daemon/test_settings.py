from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import platformdirs
import pytest

from executor.daemon.doctor.checks import check_variables
from executor.errors import InvalidRequest
from executor.given_settings import variable
from executor.model.execution import Limits
from executor.settings import CONVERTERS, INSTEAD, LimitSettings, Settings, user_dir


def load(tmp_path: Path, toml: str = "", **environ: str) -> Settings:
    file = tmp_path / "config.toml"
    file.write_text(toml)
    return Settings.load({"EXECUTOR_CONFIG": str(file), "HOME": str(tmp_path), **environ})


def test_without_anything_set_the_defaults_hold(tmp_path: Path) -> None:
    settings = load(tmp_path)
    assert (settings.host, settings.port, settings.workers, settings.slots) == ("127.0.0.1", 8788, 2, 16)
    assert settings.base_url == "http://127.0.0.1:8788"
    assert settings.approval_ttl_seconds == 7 * 86400


def test_the_config_file_overrides_defaults_and_variables_override_the_file(tmp_path: Path) -> None:
    settings = load(tmp_path, "port = 1111\nworkers = 5\n[limits]\ncalls = 7\n", EXECUTOR_PORT="2222")
    assert (settings.port, settings.workers, settings.limits.calls) == (2222, 5, 7)


def test_a_data_directory_chosen_by_hand_brings_its_own_state_directory(tmp_path: Path) -> None:
    settings = load(tmp_path, EXECUTOR_DATA_DIR=str(tmp_path / "here"))
    assert settings.state_dir == tmp_path / "here" / "state"
    chosen = load(tmp_path, EXECUTOR_DATA_DIR=str(tmp_path / "here"), EXECUTOR_STATE_DIR=str(tmp_path / "there"))
    assert chosen.state_dir == tmp_path / "there"


def test_relative_paths_of_the_config_file_start_at_its_directory(tmp_path: Path) -> None:
    assert load(tmp_path, 'data_dir = "mine"').data_dir == tmp_path / "mine"


def test_relative_paths_of_variables_start_at_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert load(tmp_path, EXECUTOR_DATA_DIR="mine").data_dir == tmp_path / "mine"


def test_an_empty_variable_counts_as_not_set(tmp_path: Path) -> None:
    assert load(tmp_path, EXECUTOR_PORT="").port == 8788


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("EXECUTOR_PORT", "eighty"),
        ("EXECUTOR_PORT", "-1"),
        ("EXECUTOR_PORT", "65536"),
        ("EXECUTOR_PORT", "80.5"),
        ("EXECUTOR_WORKERS", "0"),
        ("EXECUTOR_HOST", "http://127.0.0.1"),
        ("EXECUTOR_HOST", "127.0.0.1:80"),
        ("EXECUTOR_ALLOW_PRIVATE_HOSTS", "maybe"),
        ("EXECUTOR_LOG_LEVEL", "loud"),
        ("EXECUTOR_LIMITS_MEMORY_BYTES", "12"),
    ],
)
def test_a_bad_value_names_the_setting_the_value_and_its_origin(tmp_path: Path, name: str, value: str) -> None:
    with pytest.raises(InvalidRequest) as raised:
        load(tmp_path, **{name: value})
    assert value in raised.value.message
    assert name in raised.value.message
    assert raised.value.hint


@pytest.mark.parametrize("toml", ["port = true", 'port = "x"', "host = 5", "limits = 3", "data_dir = ['a']"])
def test_a_value_of_the_wrong_type_in_the_file_is_refused(tmp_path: Path, toml: str) -> None:
    with pytest.raises(InvalidRequest):
        load(tmp_path, toml)


def test_an_unknown_setting_in_the_file_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="prot") as raised:
        load(tmp_path, "prot = 1")
    assert "port" in raised.value.hint


def test_a_broken_config_file_is_reported_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="line 2"):
        load(tmp_path, "port = 1\nworkers = = 2\n")


def test_a_config_file_that_was_named_must_exist(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="EXECUTOR_CONFIG"):
        Settings.load({"EXECUTOR_CONFIG": str(tmp_path / "none.toml")})


def test_every_field_can_be_set_and_every_setting_is_a_field() -> None:
    fields = {field.name for field in dataclasses.fields(Settings)} - {"limits", "config_file"}
    limits = {f"limits.{field.name}" for field in dataclasses.fields(LimitSettings)}
    assert set(CONVERTERS) == fields | limits


def test_the_default_limits_are_those_of_the_model() -> None:
    assert dataclasses.asdict(LimitSettings()) == dataclasses.asdict(Limits())


def test_every_setting_and_variable_is_documented_with_its_default(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "configuration.md").read_text()
    settings = load(tmp_path)
    for name in CONVERTERS:
        row = next((line for line in page.splitlines() if line.startswith(f"| `{name}` ")), None)
        assert row, f"{name} is not documented"
        assert f"`{variable(name)}`" in row
        owner, _, field = name.rpartition(".")
        default = getattr(getattr(settings, owner) if owner else settings, field)
        if isinstance(default, (bool, int)):
            assert f"`{str(default).lower()}`" in row, f"the default of {name} is {default}"
    for other in ("EXECUTOR_CONFIG", "EXECUTOR_TOKEN", "EXECUTOR_PROGRAM"):
        assert f"| `{other}` |" in page


@pytest.mark.parametrize("kind", ["config", "data", "state"])
@pytest.mark.parametrize("chosen", ["", "/elsewhere"])
def test_the_directories_are_those_that_platformdirs_gives(
    monkeypatch: pytest.MonkeyPatch, kind: str, chosen: str
) -> None:
    monkeypatch.setenv(f"XDG_{kind.upper()}_HOME", chosen)
    expected = getattr(platformdirs, f"user_{kind}_dir")("executor", appauthor=False)
    assert user_dir(kind, os.environ) == Path(expected)


def test_runtimes_and_languages_are_lists_of_known_ones(tmp_path: Path) -> None:
    settings = load(tmp_path, EXECUTOR_RUNTIMES="typescript, Python", EXECUTOR_LANGUAGES="python")
    assert (settings.runtimes, settings.languages) == (("typescript", "python"), ("python",))
    for name, value in (("runtimes", "cobol"), ("runtimes", ","), ("languages", "deno"), ("default_runtime", "v8")):
        with pytest.raises(InvalidRequest, match=f"setting {name} is"):
            load(tmp_path, **{variable(name): value})
    with pytest.raises(InvalidRequest, match="does not allow"):
        load(tmp_path, EXECUTOR_DEFAULT_RUNTIME="deno", EXECUTOR_RUNTIMES="python")


@pytest.mark.parametrize("name", ["MCP_AUTHORIZATION_SERVER", "MCP_AUTHORIZATION_SERVER_URL"])
def test_the_authorization_server_has_other_names_too(tmp_path: Path, name: str) -> None:
    assert load(tmp_path, **{name: "https://login.example"}).mcp_issuer == "https://login.example"
    own = load(tmp_path, **{name: "https://login.example", "EXECUTOR_MCP_ISSUER": "https://own.example"})
    assert own.mcp_issuer == "https://own.example"
    with pytest.raises(InvalidRequest, match=name):
        load(tmp_path, **{name: "login.example"})


@pytest.mark.parametrize("name", INSTEAD)
def test_the_doctor_names_the_setting_for_a_variable_of_a_similar_product(name: str) -> None:
    check = check_variables({name: "1"})
    assert check.status == "warning" and f"use {variable(INSTEAD[name])} for {name}" in check.hint


def test_a_database_address_that_is_refused_is_not_repeated(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest) as caught:
        load(tmp_path, EXECUTOR_DATABASE_URL="postgresql://me:hunter2@db/executor\n")
    assert "hunter2" not in str(caught.value) + str(caught.value.details) + caught.value.hint

"""Agents that the operator adds with the setting `session_agents`: entries as in the ACP registry's `agent.json`.

A setting and no route, because an entry names a command that this machine runs. An entry that is wrong is named, and
keeps neither the others nor the daemon from working.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from executor.dataclass import dataclass
from executor.execution.configuration.document import Problem
from executor.sessions.agents.agent import Service
from executor.sessions.agents.table import AGENTS
from executor.sessions.protocol.host_settings import CustomAgent
from executor.sessions.protocol.messages import PermissionMode

SETTING = "session_agents"
HINT = "see docs/sessions.md#other-agents"
NPX = re.compile(r"((?:@[a-z0-9._~-]+/)?[a-z0-9._~-]+)@([0-9][0-9A-Za-z.+-]*)\Z")
UVX = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)(?:==|@)([0-9][0-9A-Za-z.+!-]*)\Z")


def _check_inside(path: str) -> str:
    parts = PurePosixPath(path)
    if parts.is_absolute() or ".." in parts.parts or not parts.parts:
        raise ValueError("expected a path inside the working directory, such as .agent/settings.json")
    return path


def _check_absolute(path: str) -> str:
    if not PurePosixPath(path).is_absolute():
        raise ValueError("expected an absolute path")
    return path


Text = Annotated[str, StringConstraints(min_length=1, max_length=4000, pattern=r"^[^\x00]+$")]
Inside = Annotated[Text, AfterValidator(_check_inside)]
Absolute = Annotated[Text, AfterValidator(_check_absolute)]
Variables = dict[Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")], str]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, hide_input_in_errors=True)


class Package(_Strict):
    package: Text
    args: list[Text] = []
    env: Variables = {}


class Distribution(_Strict):
    npx: Package | None = None
    uvx: Package | None = None
    binary: Any = None  # of the registry; an archive that is never fetched from here


class Entry(_Strict):
    id: Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]{0,63}$")]
    name: Annotated[str, StringConstraints(max_length=100)] = ""
    command: Text | None = None
    args: list[Text] = []
    env: Variables = {}
    distribution: Distribution | None = None
    provider: Service | None = None
    modes: dict[PermissionMode, Text] = Field(default={"default": "default"}, min_length=1)
    masked: list[Inside] = []
    loaded: list[Inside] | None = None
    readable: list[Absolute] = []
    auth_method: str = Field(default="", alias="authMethod")
    resumes: bool = True
    # Further fields of the registry, which have no effect here.
    version: Any = None
    description: Any = None
    repository: Any = None
    website: Any = None
    authors: Any = None
    license: Any = None
    icon: Any = None

    @model_validator(mode="after")
    def _check_start(self) -> Entry:
        packages = [self.distribution.npx, self.distribution.uvx] if self.distribution else []
        ways = [one for one in (self.command, *packages) if one is not None]
        if len(ways) != 1:
            raise ValueError("expected exactly one of `command`, `distribution.npx` and `distribution.uvx`")
        return self


@dataclass(frozen=True, slots=True)
class ConfiguredAgents:
    """`agents` are those that are right, by name."""

    agents: Mapping[str, CustomAgent] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()


def read_agents(text: str) -> ConfiguredAgents:
    if not text:
        return ConfiguredAgents()
    try:
        entries = json.loads(text)
    except ValueError as error:
        return ConfiguredAgents(problems=(Problem(SETTING, f"it is not JSON: {error}", HINT),))
    if isinstance(entries, dict):
        entries = [entries]
    if not isinstance(entries, list):
        return ConfiguredAgents(problems=(Problem(SETTING, "it is no list of agents", HINT),))
    agents: dict[str, CustomAgent] = {}
    problems: list[Problem] = []
    for number, given in enumerate(entries):
        place = f"{SETTING}[{number}]"
        try:
            entry = Entry.model_validate(given)
            if entry.id in AGENTS or entry.id in agents:
                problems.append(Problem(f"{place}.id", f"there is an agent {entry.id!r} already", "choose another id"))
            else:
                agents[entry.id] = _custom_agent(entry)
        except ValidationError as error:
            problems += _explain(place, error)
        except ValueError as error:
            problems.append(Problem(f"{place}.distribution", str(error), HINT))
    return ConfiguredAgents(agents, tuple(problems))


def _explain(place: str, error: ValidationError) -> Iterator[Problem]:
    for one in error.errors(include_url=False, include_context=False, include_input=False):
        where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in one["loc"])
        message = one["msg"].removeprefix("Value error, ")
        yield Problem(f"{place}{where}", message[:1].lower() + message[1:], HINT)


def _custom_agent(entry: Entry) -> CustomAgent:
    """Raises ValueError for a package without a version."""
    found: CustomAgent = {
        "title": entry.name or entry.id,
        "service": entry.provider,
        "modes": dict[str, str](entry.modes.items()),
        "masked": entry.masked,
        "loaded": [path.rstrip("/") for path in (entry.masked if entry.loaded is None else entry.loaded)],
        "readable": entry.readable,
        "auth_method": entry.auth_method,
        "resumes": entry.resumes,
    }
    distribution = entry.distribution or Distribution()
    if entry.command is not None:
        return {**found, "command": [entry.command, *entry.args], "env": entry.env}
    if distribution.npx is not None:
        return {**found, **_package("npm", distribution.npx, NPX, entry)}  # type: ignore[typeddict-item]  # merged
    if distribution.uvx is not None:
        return {**found, **_package("python", distribution.uvx, UVX, entry)}  # type: ignore[typeddict-item]  # merged
    raise ValueError("there is no way to start it")


def _package(
    installer: Literal["npm", "python"], given: Package, pattern: re.Pattern[str], entry: Entry
) -> dict[str, Any]:
    match = pattern.match(given.package)
    if match is None:
        raise ValueError(f"the package {given.package[:100]!r} has no version, such as name@1.2.3")
    return {
        "installer": installer,
        "package": match[1],
        "version": match[2],
        "arguments": [*given.args, *entry.args],
        "env": {**given.env, **entry.env},
    }

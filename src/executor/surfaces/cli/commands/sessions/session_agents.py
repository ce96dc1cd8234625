"""`sessions agents`, `install` and `uninstall`: coding agents, and those in the data directory."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from executor.errors import InvalidRequest
from executor.settings import Settings
from executor.surfaces.cli.client import connect
from executor.surfaces.cli.exit_codes import INTERRUPTED
from executor.surfaces.cli.output import clean, emit, emit_json, emit_result, program, say, table

if TYPE_CHECKING:
    from executor.sessions.agents.agent import Agent


@click.command("agents")
def agents(as_json: bool) -> None:
    """List the agents that a session can be started with."""
    found = connect().get("/v1/sessions/agents")
    if as_json:
        emit_json(found)
        return
    columns = {"name": "AGENT", "title": "TITLE", "version": "VERSION", "provider": "KEY OF", "problem": "PROBLEM"}
    emit(table(found["items"], columns))


@click.command("install")
@click.argument("agent")
@click.option("--force", is_flag=True, help="Also if the same version is installed.")
def install(agent: str, force: bool, as_json: bool) -> None:
    """Install AGENT: claude-code, codex, gemini, opencode, or one of the setting `session_agents`."""
    from executor.daemon import data_files
    from executor.sessions.agents import installation

    settings = Settings.load()
    found = _find(agent, settings)
    data_files.prepare(settings)
    directory = installation.agents_directory(settings.data_dir)
    if not force and installation.is_current(found, directory):
        done = f"{found.name} {found.version} is installed already"
        emit_result({"agent": found.name, "version": found.version}, done, as_json)
        return
    say(f"installing {found.title} {found.version}; it can take a few minutes …")
    try:
        version = installation.install(found, directory, _progress())
    except KeyboardInterrupt:
        _clear_line()
        say("interrupted; nothing was installed")
        raise SystemExit(INTERRUPTED) from None
    finally:
        _clear_line()
    emit_result({"agent": found.name, "version": version}, f"installed {found.name} {clean(version)}", as_json)
    if not as_json:
        key = f"  {program()} sessions keys set {found.service}\n" if found.service else ""
        say(f"to use it:\n{key}  {program()} sessions start {found.name} --prompt 'TEXT'")


@click.command("uninstall")
@click.argument("agent")
def uninstall(agent: str, as_json: bool) -> None:
    """Remove the files of AGENT. Its sessions and their transcripts stay."""
    from executor.sessions.agents import installation

    settings = Settings.load()
    found = _find(agent, settings)
    if not installation.remove(found, installation.agents_directory(settings.data_dir)):
        raise InvalidRequest(f"{found.title} is not installed")
    emit_result({"agent": found.name}, f"removed {found.name}", as_json)


def _find(name: str, settings: Settings) -> Agent:
    from executor.sessions.agents.configured import read_agents
    from executor.sessions.agents.table import list_agents

    known = {one.name: one for one in list_agents(read_agents(settings.session_agents).agents) if one.package}
    if name not in known:
        raise InvalidRequest(
            f"{name!r} is not an agent that can be installed", hint=f"choose one of {', '.join(known)}"
        )
    return known[name]


def _progress() -> Callable[[int], None]:
    """At a terminal, one line that changes."""
    if not sys.stderr.isatty():
        return lambda _: None
    return lambda size: click.echo(f"\r\x1b[K  {size / 1e6:.0f} MB", err=True, nl=False)


def _clear_line() -> None:
    if sys.stderr.isatty():
        click.echo("\r\x1b[K", err=True, nl=False)

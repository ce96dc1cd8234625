from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from executor.dataclass import dataclass
from executor.errors import ConsentRequired, ExecutorError, InvalidRequest, NotFound
from executor.settings import Settings
from executor.surfaces.cli import exit_codes
from executor.surfaces.cli.client import Client, connect, segment
from executor.surfaces.cli.main import COMMANDS
from executor.surfaces.cli.options import json_option
from executor.surfaces.cli.output import (
    clean,
    clean_lines,
    emit,
    emit_json,
    error_object,
    interactive,
    say,
    show_error,
    table,
    with_program,
)
from executor.surfaces.clients.table import CLIENTS, McpClient, find_client

COLUMNS = {"id": "CLIENT", "name": "NAME", "found": "FOUND", "file": "FILE"}
PATH = click.Path(path_type=Path)


@dataclass(frozen=True, slots=True)
class Wish:
    """What the options say."""

    agent: str | None
    toolkit: str
    over_http: bool
    name: str
    file: Path | None
    yes: bool
    as_json: bool


@click.command("connect", help=COMMANDS["connect"])
@click.argument("client_id", metavar="[CLIENT]", default="")
@click.option(
    "--agent",
    metavar="NAME",
    help="The agent that the client acts as; created if it doesn't exist. Default: named after the client.",
)
@click.option(
    "--toolkit",
    default="",
    metavar="SLUG",
    help="Connect to this toolkit alone, with a key of its own. Default agent: named after client and toolkit.",
)
@click.option("--http", "over_http", is_flag=True, help="Connect over HTTP with the agent's token instead of stdio.")
@click.option(
    "--print", "prints", is_flag=True, help="Print the text to paste and change no file. Creates the agent if needed."
)
@click.option("--yes", is_flag=True, help="Change the client's file without confirmation.")
@click.option("--remove", is_flag=True, help="Remove Executor from the client's file.")
@click.option("--all", "every", is_flag=True, help="Every client found on this machine.")
@click.option("--name", default="executor", metavar="NAME", help="The server's name in the file. Default: executor.")
@click.option("--file", type=PATH, help="The client's file, if it is not the usual one.")
@click.option("--bundle", type=PATH, help="Write an extension for Claude Desktop to this file (.mcpb).")
@click.option("--server-json", "registry", type=PATH, help="Write this daemon's entry for an MCP registry to a file.")
@json_option
def command(
    client_id: str,
    agent: str | None,
    toolkit: str,
    over_http: bool,
    prints: bool,
    yes: bool,
    remove: bool,
    every: bool,
    name: str,
    file: Path | None,
    bundle: Path | None,
    registry: Path | None,
    as_json: bool,
) -> int:
    """Without a terminal and without `--yes`, the text alone goes to standard output, so that it can be piped."""
    wish = Wish(agent, toolkit, over_http, name, file, yes, as_json)
    _refuse_contradictions(client_id, wish, prints=prints, remove=remove, every=every, bundle=bundle)
    if registry and (client_id or prints or remove or every or bundle):
        raise click.UsageError("`--server-json` takes no client and no other option.")
    settings = Settings.load()
    if remove:
        chosen = _found_clients() if every else [_known_client(client_id)]
        return _report([_attempt(one, lambda one: _remove(settings, one, wish)) for one in chosen], every, wish)
    client = connect(settings)
    if registry:
        return _write_server_json(client, registry, as_json)
    if not client_id and not every:
        _list(client, as_json)
        return exit_codes.COMPLETED
    if bundle:
        return _bundle(client, settings, bundle, wish, client_id)
    if not every and (prints or client_id == "other" or not (yes or (interactive() and not as_json))):
        _print(client, settings, client_id, wish)
        return exit_codes.COMPLETED
    chosen = _found_clients() if every else [_known_client(client_id)]
    done = [_attempt(one, lambda one: _connect(client, settings, one, client_id or one.id, wish)) for one in chosen]
    return _report(done, every, wish)


def _refuse_contradictions(
    client_id: str, wish: Wish, *, prints: bool, remove: bool, every: bool, bundle: Path | None
) -> None:
    if every and (client_id or prints or wish.file or bundle):
        raise click.UsageError("`--all` takes no client, and neither `--print`, `--file` nor `--bundle`.")
    if remove and (prints or bundle or not (client_id or every)):
        raise click.UsageError("`--remove` takes a client or `--all`, and neither `--print` nor `--bundle`.")
    if not wish.name or not wish.name.replace("-", "").replace("_", "").isalnum() or not wish.name.isascii():
        raise InvalidRequest(f"{wish.name[:100]!r} can't be the name of a server", hint="use letters, digits, `-`, `_`")


def _list(client: Client, as_json: bool) -> None:
    items = client.get("/v1/clients")["items"]
    for one in items:
        known = find_client(one["id"])
        one.update({"file": str(known.find_file()), "found": known.is_present()} if known else {"file": None})
    if as_json:
        emit_json({"items": items})
    else:
        emit(table(items, COLUMNS))
        say(with_program("`executor connect CLIENT` connects a client, `executor connect --all` all that were found"))


def _print(client: Client, settings: Settings, client_id: str, wish: Wish) -> None:
    known = find_client(client_id)
    name = wish.agent or _default_agent(client_id, wish)
    shown = _snippet(client, known.id if known else client_id, name, wish)
    transport = "http" if wish.over_http or not shown["stdio"] else "stdio"
    if not shown[transport]:
        raise NotFound(f"{shown['name']} connects over stdio only", hint="leave out `--http`")
    token = _kept_token(client, settings, name, wish)
    text = shown[transport].replace(shown["placeholder"], token)
    if wish.as_json:
        emit_json({"client": client_id, "place": shown["place"], "transport": transport, "agent": name, "text": text})
    else:
        say(f"{_say_where(shown, transport)} then acts as agent {name}:")
        emit(text)


def _say_where(shown: dict[str, Any], transport: str) -> str:
    if shown["id"] != "other":
        return f"{shown['place']}; {shown['name']}"
    return "Start this command from your client; it" if transport == "stdio" else "Set these in your client; it"


def _connect(client: Client, settings: Settings, chosen: McpClient, typed: str, wish: Wish) -> dict[str, Any]:
    from executor.surfaces.cli.client_files.check import check
    from executor.surfaces.cli.client_files.edit import agent_in

    target = _target(settings, chosen, wish)
    agent = wish.agent or (not wish.toolkit and agent_in(target.read_entry())) or _default_agent(typed, wish)
    shown = _snippet(client, chosen.id, agent, wish)
    transport = "http" if wish.over_http or not shown["stdioEntry"] else "stdio"
    if not shown[f"{transport}Entry"]:
        raise NotFound(f"{shown['name']} connects over stdio only", hint="leave out `--http`")
    kept = _valid_token(client, settings, agent, wish) or ""
    change = target.plan_connecting(_with_token(shown, transport, kept))
    if change.is_needed:
        _ask(change.diff, wish)
    entry = _with_token(shown, transport, kept or _kept_token(client, settings, agent, wish))
    change = target.connect(entry, is_secret=transport == "http")
    written = target.read_entry() or {}
    return {
        "client": chosen.id,
        "agent": agent,
        "transport": transport,
        "file": str(target.path),
        "change": change.word,
        "diff": change.diff,
        "backup": str(target.backup) if target.backup else None,
        "check": check(chosen, written).view,
    }


def _remove(settings: Settings, chosen: McpClient, wish: Wish) -> dict[str, Any]:
    target = _target(settings, chosen, wish)
    change = target.plan_removal()
    if change.is_needed:
        _ask(change.diff, wish)
        change = target.remove()
    return {"client": chosen.id, "file": str(target.path), "change": change.word, "diff": change.diff}


def _target(settings: Settings, chosen: McpClient, wish: Wish) -> Any:
    from executor.surfaces.cli.client_files.change import Target
    from executor.surfaces.cli.client_files.edit import Entry

    path = (wish.file or chosen.find_file()).absolute()
    return Target(Entry(chosen, wish.name), path, settings.data_dir / "clients")


def _ask(diff: str, wish: Wish) -> None:
    if not wish.as_json:
        say(clean_lines(diff))
    if wish.yes:
        return
    if not interactive():
        raise ConsentRequired("no one is here to agree to this", hint="check it, then repeat with --yes")
    if not click.confirm("change the file?", default=False, err=True):
        raise ConsentRequired("nothing was changed", hint="")


def _attempt(chosen: McpClient, act: Any) -> dict[str, Any] | ExecutorError:
    try:
        done: dict[str, Any] = act(chosen)
        return done
    except ExecutorError as error:
        error.details.setdefault("client", chosen.id)
        return error


def _report(done: list[dict[str, Any] | ExecutorError], every: bool, wish: Wish) -> int:
    if not every and isinstance(done[0], ExecutorError):
        raise done[0]
    views = [{"client": one.details["client"], "error": error_object(one)} if isinstance(one, ExecutorError) else one
             for one in done]  # fmt: skip
    if wish.as_json:
        emit_json({"items": views} if every else views[0])
    else:
        for one in done:
            _show(one)
        if not done:
            say("no client was found on this machine")
    checks = [one.get("check") or {"ok": "error" not in one} for one in views]
    return exit_codes.COMPLETED if all(one["ok"] for one in checks) else exit_codes.FAILED


def _show(one: dict[str, Any] | ExecutorError) -> None:
    if isinstance(one, ExecutorError):
        say(f"{one.details['client']}:")
        show_error(one)
        return
    words = {"none": "unchanged", "removed": "removed from"}
    emit(f"{one['client']}: {words.get(one['change'], one['change'] + ' in')} {clean(one['file'])}")
    if "check" not in one:
        return
    say(f"{one['client']} acts as agent {one['agent']}; restart it if it is running")
    if one["change"] != "none" and one["backup"]:
        say(f"the version before is in {clean(one['backup'])}")
    if one["check"]["ok"]:
        say(f"checked: it starts and offers {', '.join(map(clean, one['check']['tools']))}")
    else:
        say(f"error: it does not work: {clean(one['check']['problem'])}")


def _found_clients() -> list[McpClient]:
    return [one for one in CLIENTS if one.is_present()]


def _known_client(client_id: str) -> McpClient:
    found = find_client(client_id)
    if found is None:
        raise _unknown_error(client_id, [one.id for one in CLIENTS])
    return found


def _unknown_error(client_id: str, known: list[str]) -> NotFound:
    return NotFound(f"there is no client {client_id[:100]!r}", hint=f"known clients: {', '.join(known)}")


def _default_agent(client_id: str, wish: Wish) -> str:
    return f"{client_id}-{wish.toolkit}" if wish.toolkit else client_id


def _snippet(client: Client, client_id: str, agent: str, wish: Wish) -> dict[str, Any]:
    page = client.get("/v1/clients", agent=agent, toolkit=wish.toolkit)
    for one in page["items"]:
        if one["id"] == client_id:
            return {**one, "placeholder": page["tokenPlaceholder"]}
    raise _unknown_error(client_id, [one["id"] for one in page["items"]])


def _with_token(shown: dict[str, Any], transport: str, token: str) -> dict[str, Any]:
    entry: dict[str, Any] = shown[f"{transport}Entry"]
    filled = {
        name: value.replace(shown["placeholder"], token) if isinstance(value, str) else value
        for name, value in _headers_of(entry).items()
    }
    return {name: filled if value is _headers_of(entry) else value for name, value in entry.items()}


def _headers_of(entry: dict[str, Any]) -> dict[str, Any]:
    return next((one for one in entry.values() if isinstance(one, dict) and "Authorization" in one), {})


def _bundle(client: Client, settings: Settings, file: Path, wish: Wish, client_id: str) -> int:
    from executor.surfaces.cli.client_files.bundle import write_bundle

    if _known_client(client_id).id != "claude-desktop":
        raise InvalidRequest("only Claude Desktop installs bundles", hint="`executor connect claude-desktop --bundle`")
    agent = wish.agent or _default_agent(client_id, wish)
    entry = _snippet(client, "claude-desktop", agent, wish)["stdioEntry"]
    if entry is None:
        raise NotFound("the daemon runs programs only for its operator", hint="run this on the daemon's machine")
    _kept_token(client, settings, agent, wish)
    write_bundle(file, entry)
    if wish.as_json:
        emit_json({"client": "claude-desktop", "agent": agent, "file": str(file)})
    else:
        emit(str(file))
        say(f"open it with Claude Desktop, which then acts as agent {agent}")
    return exit_codes.COMPLETED


def _write_server_json(client: Client, file: Path, as_json: bool) -> int:
    import json

    entry = client.get("/v1/clients")["serverJson"]
    try:
        file.write_text(json.dumps(entry, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise InvalidRequest(f"{file} can't be written: {error.strerror}", hint="choose another file") from error
    if as_json:
        emit_json({"file": str(file), "server": entry})
    else:
        emit(str(file))
        say("it contains no token: each client asks its user for the one of an agent")
    return exit_codes.COMPLETED


def _kept_token(client: Client, settings: Settings, name: str, wish: Wish) -> str:
    """Of the agent of that name, which is created unless it exists and its token is kept."""
    if kept := _valid_token(client, settings, name, wish):
        return kept
    address = f"/v1/toolkits/{segment(wish.toolkit)}/keys" if wish.toolkit else "/v1/agents"
    made: str = client.post(address, {"name": name, "keepToken": True})["token"]
    return made


def _valid_token(client: Client, settings: Settings, name: str, wish: Wish) -> str | None:
    from executor.identity.local_tokens import agent_file, read_token

    kept = read_token(agent_file(settings.data_dir, name))
    agents = client.get("/v1/agents")["items"] if kept else []
    found = next((one for one in agents if one["name"] == name and _is_of(kept, one)), None) if kept else None
    if found is None:
        return None
    wanted = client.get(f"/v1/toolkits/{segment(wish.toolkit)}")["id"] if wish.toolkit else None
    if found["toolkitId"] != wanted:
        hint = "choose another name with `--agent`, or run `executor agents revoke` first"
        raise InvalidRequest(f"the agent {name!r} is for {'another' if wanted else 'one'} toolkit", hint=hint)
    return kept


def _is_of(token: str, agent: dict[str, Any]) -> bool:
    return bool(agent["prefix"]) and token.startswith(agent["prefix"]) and agent["revokedAt"] is None

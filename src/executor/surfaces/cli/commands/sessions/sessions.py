"""`executor sessions`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from executor.errors import ExecutorError, InvalidRequest
from executor.surfaces.cli.client import Client, connect, segment
from executor.surfaces.cli.commands.sessions.session_agents import agents, install, uninstall
from executor.surfaces.cli.commands.sessions.session_keys import keys
from executor.surfaces.cli.exit_codes import FAILED, INTERRUPTED
from executor.surfaces.cli.main import add_group, group
from executor.surfaces.cli.options import Number, limit_option
from executor.surfaces.cli.output import clean, emit, emit_json, emit_page, emit_result, facts, program, say, table
from executor.surfaces.cli.session_follow import SessionFollower, exit_code_of

ISOLATIONS = ("simple", "insulated", "strict", "sandbox")
MODES = ("plan", "default", "acceptEdits", "bypassPermissions")
UNATTENDED = ("wait", "deny", "stop")
STATUSES = ("idle", "queued", "running", "waiting", "stopped")

command = group("sessions")
add_group(command, keys)
command.add_command(agents)
command.add_command(install)
command.add_command(uninstall)


@command.command("start")
@click.argument("agent")
@click.option("--cwd", metavar="DIRECTORY", help="The agent's directory. Default: the current one.")
@click.option(
    "--repository",
    metavar="NAME",
    help="Work on a clone of this repository, by its path or name, instead of a directory.",
)
@click.option("--isolation", type=click.Choice(ISOLATIONS), help="Default: the setting session_isolation.")
@click.option("--unix-user", metavar="NAME", help="With --isolation strict: the Unix user that the agent runs as.")
@click.option("--mode", type=click.Choice(MODES), default="default", show_default=True, help="The permission mode.")
@click.option("--unattended", type=click.Choice(UNATTENDED), help="What to do when no one answers a request.")
@click.option("--budget", type=Number(min=0, min_open=True), metavar="USD", help="The most to spend.")
@click.option("--model", default="", help="The model to use. Default: the agent's own.")
@click.option("--title", default="", help="A name for the session. Default: its first prompt.")
@click.option("--prompt", "first", metavar="TEXT", help="Send this prompt and follow it.")
def start(
    agent: str, cwd: str | None, repository: str | None, mode: str, budget: float | None, first: str | None,
    unix_user: str | None, as_json: bool, **asked: Any,
) -> None:  # fmt: skip
    """Start a session with AGENT: claude-code, codex, gemini, opencode, or one of the setting session_agents."""
    client = connect()
    body: dict[str, Any] = {"agent": agent, "permissionMode": mode, "unixUser": unix_user, **asked}
    if repository:
        body["repository"] = _find_repository(repository)
    if cwd or not repository:
        body["cwd"] = str((Path(cwd) if cwd else Path.cwd()).absolute())
    if budget is not None:
        body["budget"] = {"usd": budget}
    session = client.post("/v1/sessions", {name: value for name, value in body.items() if value not in (None, "")})
    if first is None:
        emit_result(session, session["id"], as_json)
        if not as_json:
            say(f"to send a prompt:\n  {program()} sessions prompt {clean(session['id'])} 'TEXT'")
        return
    say(f"session {clean(session['id'])}")
    _send(client, session["id"], first, as_json=as_json)


def _find_repository(given: str) -> str:
    """A path as the daemon can use it, which works elsewhere. Anything else is a name, or an address."""
    if "://" in given or not ("/" in given or given.startswith((".", "~"))) or ":" in given.split("/")[0]:
        return given
    path = Path(given).expanduser().resolve()
    if path.is_dir() and not ((path / ".git").exists() or (path / "HEAD").is_file()):
        raise InvalidRequest(f"{path} is not a git repository", hint="pass the directory that has `.git`, or use --cwd")
    return str(path)


@command.command("prompt")
@click.argument("session_id", metavar="ID")
@click.argument("text", required=False)
@click.option("--file", "file", type=click.File(encoding="utf-8"), help="Read the prompt from a file; - is stdin.")
@click.option("--interrupt", is_flag=True, help="Stop the running task and remove queued prompts first.")
@click.option("--no-wait", is_flag=True, help="Return once the prompt is queued.")
def prompt(session_id: str, text: str | None, file: Any, interrupt: bool, no_wait: bool, as_json: bool) -> None:
    """Send a prompt and show what the agent does. Without a terminal, it exits with 3 if a decision is needed."""
    if (text is None) == (file is None):
        raise click.UsageError("pass either TEXT or --file")
    wanted = text if text is not None else file.read()
    _send(connect(), session_id, wanted, interrupt=interrupt, no_wait=no_wait, as_json=as_json)


def _send(
    client: Client, session_id: str, text: str, *, interrupt: bool = False, no_wait: bool = False, as_json: bool
) -> None:
    path = f"/v1/sessions/{segment(session_id)}"
    before = _newest_sequence(client, path)
    task = client.post(f"{path}/prompt", {"prompt": text, "interrupt": interrupt})
    if no_wait:
        emit_result(task, f"queued {clean(task['id'])}", as_json)
        return
    follower = SessionFollower(client, session_id, as_json=as_json, after=before)
    try:
        follower.follow(task["id"])
    except KeyboardInterrupt:
        say(f"\ninterrupted; task {clean(task['id'])} keeps running")
        say(f"to stop it:\n  {program()} sessions stop {clean(session_id)} --task")
        raise SystemExit(INTERRUPTED) from None
    _finish(client.get(f"{path}/tasks/{segment(task['id'])}"), as_json)


def _newest_sequence(client: Client, path: str) -> int:
    """What was there before is not shown again. Of the last records, any may have changed last."""
    found = client.get(f"{path}/messages", before=2**62, limit=200)["items"]
    return max((int(one["sequence"]) for one in found), default=0)


def _finish(task: dict[str, Any], as_json: bool) -> None:
    if as_json:
        emit_json(task)
    elif failure := task.get("failure"):
        say(f"{clean(task['status'])}: {clean(failure.get('message', ''))}")
        if failure.get("hint"):
            say(f"hint: {clean(failure['hint'])}")
    raise SystemExit(exit_code_of(task["status"]))


@command.command("list")
@click.option("--status", type=click.Choice(STATUSES), multiple=True, help="Only these; repeatable.")
@click.option("--agent", help="Only sessions of this agent.")
@click.option("--mine", is_flag=True, help="Only your own.")
@click.option("--archived", is_flag=True, help="Archived sessions instead of the others.")
@click.option("--before", metavar="ID", help="Only entries older than this one.")
@limit_option(50)
def listing(as_json: bool, mine: bool, archived: bool, **asked: Any) -> None:
    """List sessions, newest first."""
    asked |= {name: "true" for name, wanted in (("mine", mine), ("archived", archived)) if wanted}
    page = connect().get("/v1/sessions", **asked)
    columns = {"id": "ID", "agent": "AGENT", "status": "STATUS", "isolation": "ISOLATION", "updatedAt": "UPDATED"}
    emit_page(page, {**columns, "actor": "BY", "title": "TITLE"}, as_json, empty="no sessions")


@command.command("show")
@click.argument("session_id", metavar="ID")
def show(session_id: str, as_json: bool) -> None:
    """Show a session and its last tasks."""
    view = connect().get(f"/v1/sessions/{segment(session_id)}")
    if as_json:
        emit_json(view)
        return
    first = ("id", "agent", "status", "title", "isolation", "unixUser", "permissionMode", "model", "cwd")
    middle = ("repository", "branch", "cloneRemovedAt", "snapshot")
    rest = ("actor", "pid", "createdAt", "archivedAt", "url")
    spent = [("tokens", _tokens(view["usage"])), ("cost", _cost(view))]
    known = [(name, view.get(name)) for name in (*first, *middle)]
    emit(facts([*known, *spent, *((name, view.get(name)) for name in rest)]))
    if view["tasks"]:
        emit("\n" + table(view["tasks"], {"id": "TASK", "number": "NO", "status": "STATUS", "prompt": "PROMPT"}))


def _tokens(usage: dict[str, int]) -> str:
    parts = {"input": "input", "cacheRead": "cached input", "cacheWrite": "written to the cache", "output": "output"}
    return ", ".join(f"{usage[name]} {said}" for name, said in parts.items() if usage[name])


def _cost(view: dict[str, Any]) -> str:
    budget = view["budget"]["usd"]
    cost = f"${view['costUsd']:.4f}"
    return f"{cost} of ${budget:g}" if budget is not None else cost if view["costUsd"] else ""


@command.command("attach")
@click.argument("session_id", metavar="ID")
@click.option("--new", is_flag=True, help="Only what comes from now on, without the transcript so far.")
@click.option("--terminal", metavar="ID", help="Attach to this terminal of the session instead. Ctrl-] detaches.")
@click.option("--watch", is_flag=True, help="With --terminal: only watch.")
@click.option("--take-over", is_flag=True, help="With --terminal: write, also if someone else does.")
def attach(session_id: str, new: bool, terminal: str | None, watch: bool, take_over: bool, as_json: bool) -> None:
    """Follow a session live, and decide its requests at a terminal. Ctrl-C detaches."""
    if terminal is not None:
        from executor.surfaces.cli.terminal import attach_terminal

        attach_terminal(connect(), session_id, terminal, "no" if watch else "take_over" if take_over else "if_free")
        return
    if watch or take_over:
        raise click.UsageError("--watch and --take-over need --terminal")
    client, path = connect(), f"/v1/sessions/{segment(session_id)}"
    client.get(path)
    follower = SessionFollower(client, session_id, as_json=as_json, after=_newest_sequence(client, path) if new else 0)
    try:
        follower.follow()
    except KeyboardInterrupt:
        say("\ndetached")


@command.command("terminal")
@click.argument("session_id", metavar="ID")
@click.option("--record", is_flag=True, help="Keep what it shows, in the format of asciinema.")
def open_terminal(session_id: str, record: bool, as_json: bool) -> None:
    """Open a terminal in a session and attach to it. Ctrl-] detaches. With --json, only open it."""
    from executor.surfaces.cli.terminal import attach_terminal, check_terminal, size

    if not as_json:
        check_terminal()
    client = connect()
    terminal = client.post(f"/v1/sessions/{segment(session_id)}/terminals", {**size(), "record": record})
    if as_json:
        emit_json(terminal)
    else:
        attach_terminal(client, session_id, terminal["id"], "if_free")


@command.command("stop")
@click.argument("session_id", metavar="ID")
@click.option("--task", is_flag=True, help="Stop only the running task; the session continues.")
@click.option("--reason", default="", help="Kept in the audit log.")
def stop(session_id: str, task: bool, reason: str, as_json: bool) -> None:
    """Stop a session and every process of its agent."""
    client, path = connect(), f"/v1/sessions/{segment(session_id)}"
    if not task:
        view = client.post(f"{path}/stop", {"reason": reason})
        emit_result(view, f"{clean(view['status'])} {clean(view['id'])}", as_json)
        return
    running = [one for one in client.get(path)["tasks"] if one["status"] in ("running", "waiting")]
    if not running:
        raise InvalidRequest(f"session {session_id} has no running task", hint="leave out --task to stop the session")
    ended = client.delete(f"{path}/tasks/{segment(running[0]['id'])}")
    emit_result(ended, f"{clean(ended['status'])} {clean(ended['id'])}", as_json)


@command.command("resume")
@click.argument("session_id", metavar="ID")
def resume(session_id: str, as_json: bool) -> None:
    """Let a stopped or archived session take prompts again."""
    view = connect().post(f"/v1/sessions/{segment(session_id)}/resume")
    emit_result(view, f"{clean(view['status'])} {clean(view['id'])}", as_json)


@command.command("fork")
@click.argument("session_id", metavar="ID")
def fork(session_id: str, as_json: bool) -> None:
    """Start a session that continues from this one, if its agent supports that."""
    view = connect().post(f"/v1/sessions/{segment(session_id)}/fork")
    emit_result(view, clean(view["id"]), as_json)


@command.command("archive")
@click.argument("session_id", metavar="ID")
def archive(session_id: str, as_json: bool) -> None:
    """Stop a session and leave it out of the list."""
    view = connect().post(f"/v1/sessions/{segment(session_id)}/archive")
    emit_result(view, f"archived {clean(view['id'])}", as_json)


@command.command("rm")
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
def remove(ids: tuple[str, ...], as_json: bool) -> None:
    """Delete sessions with their transcripts. Work in a repository is kept there under a reference."""
    client = connect()
    items: list[dict[str, Any]] = []
    failed = 0
    for session_id in dict.fromkeys(ids):
        try:
            kept = client.delete(f"/v1/sessions/{segment(session_id)}")["snapshot"]
            items.append({"id": session_id, "snapshot": kept})
            if not as_json:
                emit(f"deleted {clean(session_id)}" + (f"; its work is kept as {clean(kept)}" if kept else ""))
        except ExecutorError as error:
            if len(ids) == 1:
                raise
            failed += 1
            say(f"skipped {clean(session_id)}: {clean(error.message)}")
    if as_json:
        emit_json({"items": items})
    if failed:
        raise SystemExit(FAILED)


@command.command("export")
@click.argument("session_id", metavar="ID")
@click.option("--format", "form", type=click.Choice(("markdown", "jsonl")), default="markdown", show_default=True)
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="Write to this file.")
def export(session_id: str, form: str, output: Path | None, as_json: bool) -> None:
    """Export the transcript."""
    form = "jsonl" if as_json else form
    lines = connect().lines(f"/v1/sessions/{segment(session_id)}/export?format={form}")
    if output is None:
        for line in lines:
            click.echo(line)
        return
    with output.open("w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)
    say(f"wrote {output}")


@command.command("changes")
@click.argument("session_id", metavar="ID")
@click.option("--diff", is_flag=True, help="Print the diff instead of the files.")
def changes(session_id: str, diff: bool, as_json: bool) -> None:
    """Show what a session changed in its repository, and what of it will execute."""
    view = connect().get(f"/v1/sessions/{segment(session_id)}/changes")
    if as_json:
        emit_json(view)
    elif diff:
        click.echo(view["diff"], nl=False)
    elif not view["files"]:
        say("no changes")
    else:
        emit(
            table(
                view["files"],
                {"status": "STATUS", "added": "ADDED", "removed": "REMOVED", "runs": "RUN BY", "path": "PATH"},
            )
        )


@command.command("commit")
@click.argument("session_id", metavar="ID")
@click.option("--message", "-m", required=True, help="The commit message.")
def commit(session_id: str, message: str, as_json: bool) -> None:
    """Commit a session's changes, and create its branch in the original repository."""
    view = connect().post(f"/v1/sessions/{segment(session_id)}/commit", {"message": message})
    emit_result(view, f"{clean(view['commit'])} on {clean(view['branch'])}", as_json)


@command.command("discard")
@click.argument("session_id", metavar="ID")
def discard(session_id: str, as_json: bool) -> None:
    """Return a session's files to where they started. What was there is kept under a reference."""
    view = connect().post(f"/v1/sessions/{segment(session_id)}/discard")
    emit_result(view, f"kept as {clean(view['snapshot'])}" if view["snapshot"] else "no changes", as_json)

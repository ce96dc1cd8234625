from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import click

from executor.errors import DaemonUnreachable, ExecutorError, InvalidRequest
from executor.surfaces.cli.client import Client, connect, segment
from executor.surfaces.cli.exit_codes import FAILED, code_of
from executor.surfaces.cli.main import group
from executor.surfaces.cli.options import limit_option
from executor.surfaces.cli.output import clean, emit, emit_json, facts, interactive, json_text, program, say, table
from executor.surfaces.cli.policy_options import describe_matches
from executor.surfaces.cli.prompts import elicitation
from executor.surfaces.cli.prompts.approval import prompt, settle, ways_to_decide
from executor.surfaces.cli.prompts.credential import give
from executor.surfaces.escape import shorten

SCOPES = ("once", "execution", "session", "always")
COVERS = ("call", "tool", "source")
LONG = 64 * 1024
SHORT = 60  # characters of arguments in a list; `show` has all
ANSWERS = {"approved": "answered", "denied": "declined"}  # what becomes of a request for input
STATUSES = ("pending", "approved", "denied", "expired", "cancelled", "superseded", "all")


command = group("approvals")


@command.command("list")
@click.option(
    "--status",
    type=click.Choice(STATUSES),
    default="pending",
    show_default=True,
    help=("Only interactions with this status."),
)
@click.option("--execution-id", metavar="ID", help="Only from this execution.")
@click.option("--actor", metavar="NAME", help="Only approvals for this actor's code, by name or ID.")
@click.option("--source", metavar="NAMESPACE", help="Only calls of this source.")
@limit_option(50)
def listing(
    status: str, execution_id: str | None, actor: str | None, source: str | None, limit: int, as_json: bool
) -> None:
    """List pending approvals."""
    client = connect()
    wanted = None if status == "all" else status
    page = client.get(
        "/v1/interactions", status=wanted, executionId=execution_id, actor=actor, source=source, limit=limit
    )
    if as_json:
        emit_json(page)
    elif page["items"]:
        columns = {"id": "ID", "kind": "KIND", "status": "STATUS", "tool": "TOOL", "effect": "EFFECT"}
        rows = [{**one, "short": shorten(json_text(one["arguments"], indent=None), SHORT)} for one in page["items"]]
        emit(table(rows, {**columns, "actor": "ACTOR", "createdAt": "REQUESTED", "short": "ARGUMENTS"}))
        if page["total"] > len(page["items"]):
            say(f"{page['total']} in total; --limit shows more")
    else:
        say("no pending approvals" if status == "pending" else "none")


@command.command("show")
@click.argument("interaction_id", metavar="ID")
def show(interaction_id: str, as_json: bool) -> None:
    """Show an approval with everything you need to decide it."""
    interaction = connect().get(f"/v1/interactions/{segment(interaction_id)}")
    if as_json:
        emit_json(interaction)
        return
    emit(prompt(interaction))
    emit(_facts(interaction))
    if refusal := interaction.get("refusal"):
        say(f"it needs {clean(interaction['waitsFor'])}: {clean(refusal['message'])}")
        say(f"hint: {clean(refusal['hint'])}")
    if interaction.get("status") == "pending":
        for line in ways_to_decide(interaction):
            say(line)


@command.command("approve")
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@click.option(
    "--for",
    "scope",
    type=click.Choice(SCOPES),
    default="once",
    show_default=True,
    help="Approve this call, also the rest of its execution or session, or always (shows the policy first).",
)
@click.option(
    "--pin",
    multiple=True,
    metavar="POINTER",
    help="With --for always: pin this argument to its current value, for example /owner.",
)
@click.option(
    "--covers",
    type=click.Choice(COVERS),
    help="With --for always: cover calls with exactly these arguments, the tool (default), or all tools of its source "
    "with the same effect.",
)
@click.option(
    "--treat-as-read",
    is_flag=True,
    help="Also create a policy that allows the tool like a read, for every caller (shows it first).",
)
@click.option(
    "--yes", is_flag=True, help="With --for always or --treat-as-read: create the policy without confirmation."
)
@click.option("--result", metavar="JSON", help="For an unknown outcome: the result that the call actually had.")
@click.option("--full", is_flag=True, help="Confirm that you have read very long arguments in full (`approvals show`).")
def approve(
    ids: tuple[str, ...],
    scope: str,
    pin: tuple[str, ...],
    covers: str | None,
    treat_as_read: bool,
    yes: bool,
    result: str | None,
    full: bool,
    as_json: bool,
) -> None:
    """Approve one or more calls: once, for the execution, or always."""
    client = connect()
    if len(ids) > 1 and (scope == "always" or treat_as_read or result is not None):
        raise click.UsageError("--for always, --treat-as-read and --result take one ID")
    if treat_as_read and scope != "once":
        raise click.UsageError("--treat-as-read creates its own policy: leave out --for")
    details: dict[str, Any] = {} if result is None else {"result": _parse(result)}
    if treat_as_read:
        confirm_draft(client, ids[0], [("treatAsRead", "true")], yes=yes)
        details["treatAsRead"] = True
    if scope == "always":
        details["rule"] = confirm_policy(client, ids[0], pin, covers or "tool", yes=yes)
        details |= {"broader": True} if covers == "source" else {}
    elif pin or covers:
        raise click.UsageError("--pin and --covers are only for --for always")
    if scope != "once":
        details["scope"] = scope

    def decide(interaction_id: str) -> dict[str, Any]:
        if not full:
            check_length(client.get(f"/v1/interactions/{segment(interaction_id)}"))
        return _check_applied(client, settle(client, interaction_id, "approve", **details))

    _decide_each(ids, decide, as_json)


@command.command("give")
@click.argument("interaction_id", metavar="ID")
@click.option("--way", help="Which of the accepted credentials to use. Default: the first.")
@click.option("--secret", default="", metavar="NAME", help="Use this secret instead of entering a value.")
@click.option("--own", is_flag=True, help="Only for the requesting actor. Default: the whole workspace.")
@click.option("--name", default="", help="A name for the connection.")
def give_(interaction_id: str, way: str | None, secret: str, own: bool, name: str, as_json: bool) -> None:
    """Give the credential that a call is waiting for.

    Values are prompted for, or read from standard input. A login opens the browser and waits.
    """
    client = connect()
    interaction = client.get(f"/v1/interactions/{segment(interaction_id)}")
    scope = "actor" if own else "workspace"
    _print_decision(give(client, interaction, way=way, scope=scope, name=name, secret=secret), as_json)


@command.command("answer")
@click.argument("interaction_id", metavar="ID")
@click.option("--set", "pairs", multiple=True, metavar="NAME=VALUE", help="A field of the form. Repeat it for more.")
@click.option("--content", metavar="JSON", help="All fields of the form, as one JSON object.")
@click.option("--accept", is_flag=True, help="Accept without prompting: a page that you have visited, or a form.")
@click.option("--decline", is_flag=True, help="Decline: the server gets no answer from you, and knows it.")
@click.option("--cancel", is_flag=True, help="Dismiss it without a choice.")
@click.option("--no-open", is_flag=True, help="Don't offer to open the page in the browser.")
def answer(
    interaction_id: str,
    pairs: tuple[str, ...],
    content: str | None,
    accept: bool,
    decline: bool,
    cancel: bool,
    no_open: bool,
    as_json: bool,
) -> None:
    """Answer what a server asks during a call.

    Without options, it shows what the server asks and prompts for each field.
    """
    gives = accept or bool(pairs) or content is not None
    if sum((gives, decline, cancel)) > 1:
        raise click.UsageError("choose one of --accept (or --set, --content), --decline and --cancel")
    client = connect()
    interaction = client.get(f"/v1/interactions/{segment(interaction_id)}")
    if interaction.get("kind") != elicitation.KIND:
        raise InvalidRequest(
            f"{interaction_id} does not ask for input", hint=f"see `{program()} approvals show {interaction_id}`"
        )
    if decline or cancel:
        settled = elicitation.send(client, interaction_id, "decline" if decline else "cancel")
    elif gives:
        is_form = interaction["elicitation"]["mode"] == "form"
        values = elicitation.read_content(interaction, pairs, content) if is_form or pairs or content else None
        settled = elicitation.send(client, interaction_id, "accept", values)
    else:
        settled = _answer_in_terminal(client, interaction, may_open=not no_open)
    _print_decision(settled, as_json)


def _answer_in_terminal(client: Client, interaction: dict[str, Any], *, may_open: bool) -> dict[str, Any]:
    interaction_id = interaction["id"]
    if not interactive():
        raise InvalidRequest(
            "this is not a terminal; nothing was answered",
            hint="pass --set NAME=VALUE, --accept, --decline or --cancel",
        )
    if interaction["status"] == "pending":
        say(prompt(interaction))
        if elicitation.answer_here(client, interaction, may_open=may_open):
            answered: dict[str, Any] = client.get(f"/v1/interactions/{segment(interaction_id)}")
            return answered
        raise InvalidRequest("nothing was answered", hint=f"run `{program()} approvals answer {interaction_id}` again")
    return elicitation.send(client, interaction_id, "cancel")


@command.command("deny")
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@click.option("--reason", default="", help="Shown to the code that made the call.")
def deny(ids: tuple[str, ...], reason: str, as_json: bool) -> None:
    """Deny one or more calls. The code gets a typed error that it can handle."""
    client = connect()
    _decide_each(ids, lambda one: settle(client, one, "deny", reason=reason), as_json)


def check_length(interaction: dict[str, Any]) -> None:
    """What fills many screens is not approved in passing."""
    length = len(interaction.get("prompt") or "")
    if length > LONG:
        raise InvalidRequest(
            f"the arguments are long: the prompt has {length} characters; nothing was decided",
            hint=f"read it with `executor approvals show {interaction['id']}`, then approve it with --full",
        )


def confirm_policy(
    client: Client, interaction_id: str, pins: tuple[str, ...], covers: str, *, yes: bool
) -> dict[str, Any]:
    """The policy exactly as it is shown; whatever is not clearly a yes is no yes."""
    policy = confirm_draft(client, interaction_id, [("covers", covers), *(("pin", pin) for pin in pins)], yes=yes)
    kept = {name: policy[name] for name in ("pattern", "action", "conditions", "note", "level", "effect")}
    named = {"actor": policy["actorId"], "source": policy["sourceId"]}
    return {name: value for name, value in {**kept, **named}.items() if value not in (None, "")}


def confirm_draft(client: Client, interaction_id: str, query: list[tuple[str, str]], *, yes: bool) -> dict[str, Any]:
    drafted = client.get(f"/v1/interactions/{segment(interaction_id)}/rule?{urlencode(query)}")
    policy: dict[str, Any] = drafted["rule"]
    matches = describe_matches(drafted["matches"], policy["pattern"])
    say(f"this policy will be created:\n  {clean(policy['text'])}\n{matches}")
    if not yes and not (interactive() and click.confirm("create it and approve the call?", err=True)):
        raise InvalidRequest("the policy was not confirmed; nothing was decided", hint="answer y, or pass --yes")
    return policy


def _decide_each(ids: tuple[str, ...], decide: Callable[[str], dict[str, Any]], as_json: bool) -> None:
    """One that can't be decided keeps no other from it, but the command has failed then."""
    if len(ids) == 1:
        _print_decision(decide(ids[0]), as_json)
        return
    settled: list[dict[str, Any]] = []
    failed: list[dict[str, Any]] = []
    for interaction_id in dict.fromkeys(ids):
        try:
            settled.append(decide(interaction_id))
        except DaemonUnreachable:
            raise
        except ExecutorError as error:
            failed.append({"id": interaction_id, "code": code_of(error), "message": error.message})
    if as_json:
        emit_json({"items": settled, "failed": failed})
    else:
        for one in settled:
            emit(_outcome(one, one["status"]))
        for problem in failed:
            say(f"skipped {clean(problem['id'])}: {clean(problem['message'])}")
    if failed or any(map(_is_replaced, settled)):
        raise SystemExit(FAILED)


def _print_decision(interaction: dict[str, Any], as_json: bool) -> None:
    if as_json:
        emit_json(interaction)
    else:
        _say_decision(interaction)
    if _is_replaced(interaction):
        raise SystemExit(FAILED)


def _say_decision(interaction: dict[str, Any]) -> None:
    status = interaction["status"]
    word = ANSWERS.get(status, status) if interaction.get("kind") == elicitation.KIND else status
    emit(_outcome(interaction, word))
    if execution_id := interaction.get("executionId"):
        say(f"to see its outcome:\n  {program()} resume --execution-id {clean(execution_id)}")


def _check_applied(client: Client, settled: dict[str, Any]) -> dict[str, Any]:
    """As it is now: an approval of something that has changed since is replaced by a new request."""
    now: dict[str, Any] = client.get(f"/v1/interactions/{segment(settled['id'])}")
    return {**settled, "status": now["status"], "outdated": now.get("outdated")}


def _is_replaced(interaction: dict[str, Any]) -> bool:
    return interaction["status"] == "superseded" or bool(interaction.get("outdated"))


def _outcome(interaction: dict[str, Any], word: str) -> str:
    named = f"{clean(interaction['id'])}: {clean(interaction.get('tool', ''))}"
    if not _is_replaced(interaction):
        return f"{clean(word)} {named}"
    why = clean(interaction.get("outdated") or "something changed after the request was shown")
    return f"not approved {named}\n{why}. A new request replaces it: {program()} approvals list"


def _parse(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise InvalidRequest(f"--result is not JSON: {error}", hint="quote it: --result '{\"id\": 1}'") from error


def _facts(interaction: dict[str, Any]) -> str:
    return facts(
        [
            ("id", interaction.get("id")),
            ("kind", interaction.get("kind")),
            ("status", interaction.get("status")),
            ("outdated", interaction.get("outdated")),
            ("execution", interaction.get("executionId")),
            ("session", interaction.get("sessionId")),
            ("expires", interaction.get("expiresAt")),
            ("settled", interaction.get("settledAt")),
            ("decision", interaction.get("decisionReason")),
            ("scope", interaction.get("scope")),
            ("by", interaction.get("settledBy")),
            ("from", interaction.get("settledFrom")),
            ("binding", interaction.get("binding")),
        ]
    )

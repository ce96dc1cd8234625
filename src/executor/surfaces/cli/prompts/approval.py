"""A decision asked for in the terminal. Whatever is not clearly a yes is no yes."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Literal

from executor.errors import DaemonUnreachable, ExecutorError
from executor.surfaces.cli.client import Client, Refused, segment
from executor.surfaces.cli.output import clean, clean_lines, program, say, show_error
from executor.surfaces.cli.prompts import credential, elicitation, secret_input
from executor.surfaces.cli.prompts.terminal_line import LEAVE, choose, forget_typed_ahead, read_line

Answer = Literal["approve", "deny"]

# Someone else decided, or time ran out, while the prompt was open: that decision counts.
OVERTAKEN = ("already_settled", "interaction_expired")


def decide_all(client: Client, interactions: list[dict[str, Any]]) -> bool:
    """True when every one of them was decided, so that the execution can continue."""
    decided = [decide(client, whole(client, interaction)) for interaction in interactions]
    return all(decided)


def decide(client: Client, interaction: dict[str, Any]) -> bool:
    """Ask about one. False if it was left for later, or must be: someone else decides it, or it was refused."""
    say()
    say(prompt(interaction))
    try:
        if interaction.get("kind") in credential.KINDS:
            return supply(client, interaction)
        if interaction.get("kind") == elicitation.KIND:
            return elicitation.answer_here(client, interaction)
        # The tool once more: long arguments may have pushed its name off the screen.
        tool = clean(interaction.get("tool", ""))
        answers, choices = ["approve", "deny"], "[a]pprove, [d]eny"
        if scope := interaction.get("sessionScope"):
            say(f"  for the session: {clean(scope)}")
            answers, choices = [*answers, "session"], "[a]pprove, for the [s]ession, [d]eny"
        answer = choose(f"{tool}: {choices} or [l]eave it for later?", answers)
        if answer in ("approve", "session"):
            settle(client, interaction["id"], "approve", **({"scope": "session"} if answer == "session" else {}))
        return answer in ("approve", "session") or (answer == "deny" and deny(client, interaction))
    except DaemonUnreachable:
        raise
    except ExecutorError as error:
        if isinstance(error, Refused) and error.reported in OVERTAKEN:
            say(clean(error.message))
            return True
        show_error(error)
        return False


def supply(client: Client, interaction: dict[str, Any]) -> bool:
    """What a call lacks. No answer is echoed: it may be a secret that was pasted a moment too early."""
    credential.check_may_give(client)
    if credential.needs_login(interaction):
        question = f"{clean(interaction.get('tool', ''))}: [g]o to the login, [d]eny or [l]eave it for later?"
        answer = choose(question, ("go", "deny"), hidden=True)
        if answer == "go":
            credential.log_in(client, interaction)
            return True
    else:
        way = credential.way_of(interaction)
        forget_typed_ahead()
        if values := secret_input.inputs_or_none(way["inputs"]):
            credential.send(client, interaction, {"way": way["name"], "scope": "workspace", "values": values})
            return True
        if credential.is_settled(client, interaction):
            return True
        answer = choose("[d]eny or [l]eave it for later?", ("deny",), hidden=True)
    if answer == LEAVE:
        return credential.is_settled(client, interaction)
    return deny(client, interaction)


def deny(client: Client, interaction: dict[str, Any]) -> bool:
    reason = read_line("reason, shown to the code (Enter for none): ")
    settle(client, interaction["id"], "deny", reason=(reason or "").strip())
    return True


def prompt(interaction: dict[str, Any]) -> str:
    """As the daemon rendered it from its own data."""
    text = clean_lines(interaction.get("prompt") or interaction.get("tool") or "")
    return "\n".join(f"  {line}" for line in text.splitlines())


def settle(client: Client, interaction_id: str, answer: Answer, **details: Any) -> dict[str, Any]:
    settled: dict[str, Any] = client.post(f"/v1/interactions/{segment(interaction_id)}/{answer}", details)
    return settled


def whole(client: Client, interaction: dict[str, Any]) -> dict[str, Any]:
    """With all of its arguments, if some were left out among others."""
    if not interaction.get("argumentsCut"):
        return interaction
    found: dict[str, Any] = client.get(f"/v1/interactions/{segment(interaction['id'])}")
    return found


def say_how_to_go_on(view: dict[str, Any], shown: Collection[str] = ()) -> None:
    """The exact commands, to be pasted. Approvals that were `shown` already are only named."""
    execution_id = clean(view["executionId"])
    say(f"paused: execution {execution_id} needs a decision")
    for interaction in view.get("interactions") or ():
        say(f"  {clean(interaction.get('tool', ''))}" if interaction["id"] in shown else prompt(interaction))
        for line in ways_to_decide(interaction):
            say(line)
    say("then, to continue:")
    say(f"  {program()} resume --execution-id {execution_id}")


def ways_to_decide(interaction: dict[str, Any]) -> list[str]:
    """Commands to be pasted, and the page."""
    if interaction.get("kind") == elicitation.KIND:
        return elicitation.ways_to_answer(interaction)
    does, command = credential.next_command(interaction)
    denying = f"{program()} approvals deny {clean(interaction['id'])}"
    page = [f"or decide in the browser:\n  {clean(interaction['url'])}"] if interaction.get("url") else []
    reads = f"{program()} approvals approve {clean(interaction['id'])} --treat-as-read"
    taking = [f"to treat the tool as a read from now on:\n  {reads}"] if interaction.get("suggestion") else []
    return [f"to {does}:\n  {command}", *taking, f"to deny it:\n  {denying}", *page]

"""A decision asked for in the terminal. Whatever is not clearly a yes is no yes."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import Any, Literal

from executor.surfaces.cli.client import Client, Refused, segment
from executor.surfaces.cli.giving import KINDS, give
from executor.surfaces.cli.output import clean, clean_lines, program, say

Answer = Literal["approve", "deny", "leave", "give"]
ANSWERS: dict[str, Answer] = {"a": "approve", "approve": "approve", "d": "deny", "deny": "deny"}

# Somebody else decided, or time ran out, while the question stood here: the execution goes on by that.
OVERTAKEN = ("already_settled", "interaction_expired")

# Somebody else has to decide: the execution waits for them.
ELSEWHERE = ("forbidden", "separation_of_duties")


def ask(interaction: dict[str, Any]) -> Answer:
    say()
    say(prompt(interaction))
    _forget_typed_ahead()
    # The tool once more: long arguments may have pushed its name off the screen.
    yes = "[g]ive it" if interaction.get("kind") in KINDS else "[a]pprove"
    sys.stderr.write(f"{clean(interaction.get('tool', ''))}: {yes}, [d]eny or [l]eave it for later? [leave] ")
    sys.stderr.flush()
    try:
        line = sys.stdin.readline()
    except (OSError, ValueError):
        return "leave"
    if not line:
        say()
    word = line.strip().lower()
    if interaction.get("kind") in KINDS:
        return "give" if word in ("g", "give") else "deny" if word in ("d", "deny") else "leave"
    return ANSWERS.get(word, "leave")


def _forget_typed_ahead() -> None:
    """What was typed before the question was shown is no answer to it."""
    import termios

    with suppress(OSError, ValueError, termios.error):
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


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


def decide_all(client: Client, interactions: list[dict[str, Any]]) -> bool:
    """True when every one of them was decided, so that the execution can go on."""
    decided = True
    for interaction in interactions:
        answer = ask(whole(client, interaction))
        if answer == "leave":
            decided = False
            continue
        try:
            if answer == "give":
                give(client, interaction)
            else:
                settle(client, interaction["id"], answer)
        except Refused as error:
            if error.reported in ELSEWHERE:
                decided = False
                say(f"{clean(error.message)}\nhint: {clean(error.hint)}")
            elif error.reported in OVERTAKEN:
                say(clean(error.message))
            else:
                raise
    return decided


def say_how_to_go_on(view: dict[str, Any]) -> None:
    """The exact commands, to be pasted."""
    execution_id = clean(view["executionId"])
    say(f"paused: execution {execution_id} waits for a decision")
    for interaction in view.get("interactions") or ():
        say(prompt(interaction))
        needs = interaction.get("kind") in KINDS
        say("to give it:" if needs else "to approve it:")
        say(f"  {program()} approvals {'give' if needs else 'approve'} {clean(interaction['id'])}")
        say("to deny it:")
        say(f"  {program()} approvals deny {clean(interaction['id'])}")
    say("then, to go on:")
    say(f"  {program()} resume --execution-id {execution_id}")

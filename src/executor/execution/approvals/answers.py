"""A human answers what a server asks during a call."""

from __future__ import annotations

from dataclasses import replace

import orjson
from sqlalchemy.engine import Connection

from executor.errors import Conflict, Forbidden, InvalidRequest
from executor.execution.approvals.authority import Authority
from executor.execution.approvals.expiry import Settled, check_open
from executor.execution.approvals.interactions import missing
from executor.execution.approvals.settlement import find_locked, settle
from executor.execution.engine import Engine
from executor.model.identity.actor import Actor
from executor.model.interaction import Action, ElicitationAnswer, Interaction, InteractionStatus
from executor.schemas.form import find_problems, read_form

STATUSES: dict[Action, InteractionStatus] = {"accept": "approved", "decline": "denied", "cancel": "cancelled"}
SHOWN_PROBLEMS = 5


async def answer(engine: Engine, actor: Actor, interaction_id: str, given: ElicitationAnswer) -> Interaction:
    """The content goes to the server and is not stored: only who answered, when, and what they chose."""
    if not actor.may_decide:
        raise Forbidden("only a human can answer this", hint="use a terminal, or a browser that is signed in")

    def job(c: Connection) -> Settled:
        asked = find_locked(c, actor.workspace_id, interaction_id)
        if asked is None:
            raise missing(interaction_id)
        check_answerable(c, asked)
        Authority(c, actor).check(asked, approves=given.action == "accept")
        check_content(asked, given)
        if not engine.may_wait(asked):
            raise Conflict(
                "the server no longer waits for this answer: its call ended or Executor was restarted",
                hint=f"see `executor executions show {asked.execution_id}`",
            )
        content = orjson.dumps(given.content).decode() if given.content is not None else None
        kept = None if engine.has_waiting(asked) else content  # for the process that has the call
        settled, resumed = settle(c, asked, STATUSES[given.action], by=actor, result=kept)
        return [(replace(settled, result=content), resumed)]

    settled = (await engine.settle_by(job))[0]
    return replace(settled, result=None)


def check_answerable(c: Connection, asked: Interaction) -> None:
    check_open(c, asked)
    if asked.kind != "elicitation":
        raise InvalidRequest(f"interaction {asked.id} does not ask for input", hint="approve or deny it")


def check_content(asked: Interaction, given: ElicitationAnswer) -> None:
    """Raises InvalidRequest unless it is what the server asked for. Nothing is settled then."""
    elicitation = asked.prompt["elicitation"]
    if given.action != "accept" or elicitation["mode"] == "url":
        if given.content is not None:
            raise InvalidRequest("only an accepted form takes `content`", hint="leave out `content`")
        return
    problems = find_problems(read_form(elicitation["schema"]), given.content if given.content is not None else {})
    if problems:
        more = f" (and {len(problems) - SHOWN_PROBLEMS} more)" if len(problems) > SHOWN_PROBLEMS else ""
        raise InvalidRequest(
            f"the answer is not valid: {'; '.join(problems[:SHOWN_PROBLEMS])}{more}",
            hint="correct it and answer again; nothing was sent",
            problems=problems,
        )

"""Who may settle an interaction: somebody who may do the act directly, and somebody else than the one who asked for it
where the organization separates the two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.engine import Connection

from executor.errors import Forbidden, SeparationOfDuties
from executor.execution import builtins
from executor.execution.door import parse_arguments
from executor.execution.questions import NEEDS
from executor.model.authority import HOLDERS, lacking
from executor.model.interaction import Interaction
from executor.model.tenancy import OPERATOR, ROLES, Actor, Permission
from executor.storage import calls, members, separation, tenancy

NAMED = 5


@dataclass(frozen=True, slots=True)
class Verdict:
    """`needs` are the permissions that settling takes. `refusal` says why this actor may not let it happen."""

    needs: tuple[Permission, ...]
    refusal: Forbidden | None = None


def judge(c: Connection, actor: Actor, asked: Interaction) -> Verdict:
    needs = needed(c, asked)
    missing = next((one for one in needs if not actor.may(one)), None)
    if missing is not None:
        act = "giving this credential" if asked.kind in NEEDS else "settling this"
        return Verdict(needs, lacking(missing, act))
    return Verdict(needs, separated(c, actor, asked, needs))


def check_may_settle(c: Connection, actor: Actor, asked: Interaction, *, approves: bool) -> None:
    """Whoever asked for something may always withdraw it, if their role lets them settle it at all."""
    verdict = judge(c, actor, asked)
    if verdict.refusal is not None and (approves or not isinstance(verdict.refusal, SeparationOfDuties)):
        raise verdict.refusal


def needed(c: Connection, asked: Interaction) -> tuple[Permission, ...]:
    """By what is written in the journal, not by what is shown of it."""
    if asked.kind in NEEDS:
        return ("connect",) if (asked.prompt.get("credential") or {}).get("ways") else ("connect", "administer")
    own = builtins.BUILTINS.get(asked.binding.path)
    if own is None:
        return ("decide",)
    call = calls.one(c, asked.workspace_id, asked.execution_id, asked.call_seq)
    return ("decide", *(builtins.needed(own, parse_arguments(call.arguments)) if call is not None else OPERATOR))


def separated(c: Connection, actor: Actor, asked: Interaction, needs: Sequence[Permission]) -> Forbidden | None:
    """Why the one who asked may not also approve. Never where nobody else could: that would be a dead end."""
    if asked.kind in NEEDS:
        return None
    effect = asked.prompt.get("effect", "destructive")
    mode = separation.in_force(c, asked.workspace_id)
    if mode == "off" or (mode == "destructive" and effect != "destructive"):
        return None
    owner = tenancy.account_behind(c, asked.workspace_id, asked.binding.actor_id)
    if not owner or owner != actor.account_id:
        return None
    others = others_who_may(c, asked.workspace_id, owner, needs)
    if not others:
        return None
    named = ", ".join(others[:NAMED]) + (f" and {len(others) - NAMED} more" if len(others) > NAMED else "")
    what = "a destructive call" if mode == "destructive" else "a call"
    return SeparationOfDuties(
        f"you can't approve {what} that you or your agent asked for: another person has to",
        hint=f"ask {named}; an administrator changes this with `executor organizations separation`",
    )


def others_who_may(c: Connection, workspace_id: str, account_id: str, needs: Sequence[Permission]) -> list[str]:
    """Names of the other people of the organization who could settle it."""
    local = tenancy.local_account(c)
    found = []
    for member in members.of_workspace(c, workspace_id):
        held = ROLES[member.role] | ({"operate"} if member.account.id == local else set())
        if member.account.id != account_id and held.issuperset(needs):
            found.append(member.account.name)
    return found


def waits_for(needs: Sequence[Permission]) -> str:
    """Whom it waits for, as people say it."""
    return HOLDERS[max(needs, key=list(HOLDERS).index)]

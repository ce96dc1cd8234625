"""Who may settle an interaction: someone who may do the act directly, and someone else than the one who asked for it
where the organization separates the two."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.engine import Connection

from executor.dataclass import dataclass
from executor.errors import Forbidden, SeparationOfDuties
from executor.execution.approvals.requests import NEEDS
from executor.execution.builtins import tools
from executor.execution.calls.arguments import parse_arguments
from executor.model.identity.actor import Actor, SeparationChoice
from executor.model.identity.permissions import HOLDERS, OPERATOR, ROLES, Permission, lacking
from executor.model.interaction import Interaction
from executor.sources.lifecycle.consent import refusal_of_strangers
from executor.storage.executions import calls, separation
from executor.storage.identity import anonymous, members, tenancy
from executor.storage.sessions import sessions

NAMED = 5


@dataclass(frozen=True, slots=True)
class Verdict:
    """`needs` are the permissions that settling takes. `refusal` says why this actor may not let it happen."""

    needs: tuple[Permission, ...]
    refusal: Forbidden | None = None


class Authority:
    """What one actor may settle, as it is in one transaction. What applies to many interactions is looked up once."""

    def __init__(self, c: Connection, actor: Actor) -> None:
        self._c = c
        self._actor = actor
        self._choice: SeparationChoice | None = None
        self._owners: dict[str, str] = {}

    def judge(self, asked: Interaction) -> Verdict:
        needs = needed_permissions(self._c, asked)
        missing = next((one for one in needs if not self._actor.may(one)), None)
        if missing is not None and missing != "extend" and self._actor.is_stranger:
            return Verdict(needs, refusal_of_strangers())
        if missing is not None:
            act = "giving this credential" if asked.kind in NEEDS else "settling this"
            return Verdict(needs, lacking(missing, act))
        return Verdict(needs, self._check_separation(asked, needs))

    def check(self, asked: Interaction, *, approves: bool) -> None:
        """Anyone who asked for something may always withdraw it, if their role lets them settle it at all. So may the
        browser of an anonymous workspace: no one else is there."""
        refusal = self.judge(asked).refusal
        may_withdraw = isinstance(refusal, SeparationOfDuties) or self._actor.is_stranger
        if refusal is not None and (approves or not may_withdraw):
            raise refusal

    def _check_separation(self, asked: Interaction, needs: Sequence[Permission]) -> Forbidden | None:
        """Why the one who asked may not also approve. Never where no one else could: that would be a dead end."""
        if asked.kind in NEEDS:
            return None
        if self._choice is None:
            self._choice = separation.read_choice(self._c, asked.workspace_id)
        destructive = asked.prompt.get("effect", "destructive") == "destructive"
        if self._choice == "off" or (self._choice != "all" and not destructive):
            return None
        owner = self._owner(asked)
        if not owner or owner != self._actor.account_id:
            return None
        others = others_who_may(self._c, asked.workspace_id, owner, needs)
        return own_request(self._choice, others) if others else None

    def _owner(self, asked: Interaction) -> str:
        actor_id = asked.binding.actor_id
        if actor_id not in self._owners:
            self._owners[actor_id] = tenancy.account_behind(self._c, asked.workspace_id, actor_id)
        return self._owners[actor_id]


def needed_permissions(c: Connection, asked: Interaction) -> tuple[Permission, ...]:
    """By what is written in the journal, not by what is shown of it.

    Outside a sandbox, the agent of a session acts as the user that the daemon runs as.
    """
    if asked.session_id:
        session = sessions.get(c, asked.workspace_id, asked.session_id)
        return ("decide",) if session is not None and session.isolation == "sandbox" else ("decide", "operate")
    if asked.kind in NEEDS:
        return ("connect",) if (asked.prompt.get("credential") or {}).get("ways") else ("connect", "administer")
    own = tools.BUILTINS.get(asked.binding.path)
    if own is None:
        return ("decide",)
    call = calls.one(c, asked.workspace_id, asked.execution_id, asked.call_seq)
    if call is None:
        return ("decide", *OPERATOR)
    is_anonymous = anonymous.of_workspace(c, asked.workspace_id) is not None
    return ("decide", *tools.needed_permissions(own, parse_arguments(call.arguments), anonymous=is_anonymous))


def own_request(choice: SeparationChoice, others: Sequence[str]) -> SeparationOfDuties:
    named = ", ".join(others[:NAMED]) + (f" and {len(others) - NAMED} more" if len(others) > NAMED else "")
    what = "a call" if choice == "all" else "a destructive call"
    return SeparationOfDuties(
        f"you can't approve {what} that you or your agent requested: another person must",
        hint=f"ask {named}; an administrator can change this with `executor organizations separation`",
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

"""Anyone who has signed in at the identity provider: which account that is, and whether it may come in."""

from __future__ import annotations

from sqlalchemy.engine import Connection

from executor.errors import Forbidden
from executor.identity import sessions
from executor.identity.oidc.provider import Person
from executor.model.identity.actor import Account, Actor
from executor.model.identity.permissions import Role
from executor.model.ids import now_ms
from executor.storage.database import Database
from executor.storage.executions import events
from executor.storage.identity import external_subjects, members, tenancy, workspaces
from executor.storage.identity.tenancy import Tenancy


async def sign_in(
    database: Database, local: Tenancy, person: Person, default_role: Role | None, *, agent: str, address: str
) -> tuple[Actor, str, int]:
    """Who came in, the token of the cookie, and when it expires. Someone new needs an invitation, or `default_role`.

    An account is only ever found by issuer and subject: addresses change hands.
    """
    at = now_ms()

    def write(c: Connection) -> tuple[Actor, str, int]:
        account = _account(c, person)
        places = workspaces.of_account(c, account.id)
        joined = None if places else _join(c, local, account, person, default_role, at)
        first = places[0].workspace.id if places else workspaces.ids(c, joined[0])[0] if joined else ""
        actor = tenancy.human(c, first, account.id) if first else None
        if actor is None:
            raise Forbidden(
                "you signed in, but you are not a member of this installation",
                hint="ask an owner to invite the address that your identity provider has verified",
            )
        came = sessions.open_for(c, actor, agent=agent, address=address, at=at)
        if joined is not None:
            data = {"accountId": account.id, "issuer": person.issuer, "name": account.name, **joined[1]}
            events.append(c, first, joined[2], data, by=came[0])
        return came

    return await database.write(write)


def _account(c: Connection, person: Person) -> Account:
    found = external_subjects.account(c, person.issuer, person.subject)
    if found is None:
        return external_subjects.add_account(c, person.issuer, person.subject, person.name, person.email)
    account, is_disabled = found
    if is_disabled:
        raise Forbidden("this account may not sign in", hint="ask the operator of this daemon")
    return account


def _join(
    c: Connection, local: Tenancy, account: Account, person: Person, default_role: Role | None, at: int
) -> tuple[str, dict[str, str], str] | None:
    """The organization, its data and the event to record. People who were removed can only return by invitation."""
    invited = external_subjects.invitation(c, person.email, at) if person.email else None
    if invited is not None and external_subjects.use_invitation(c, invited, account.id, at):
        members.add(c, invited.organization_id, account.id, invited.role)
        return invited.organization_id, {"invitationId": invited.id, "role": invited.role}, "invitation.accepted"
    if default_role is None or external_subjects.was_member(c, account.id):
        return None
    members.add(c, local.organization.id, account.id, default_role)
    return local.organization.id, {"role": default_role}, "member.added"

"""What an act needs, and the refusal that says who may do it."""

from __future__ import annotations

from executor.errors import Forbidden
from executor.model.tenancy import Actor, Permission

# Who holds a permission, as people say it.
HOLDERS: dict[Permission, str] = {
    "decide": "a member",
    "connect": "a member",
    "administer": "an administrator",
    "manage": "an administrator",
    "own": "an owner",
    "operate": "the operator of this installation",
}
# Where `operate` comes from: a token that only the owner of the data directory can read.
OPERATOR_HINT = "it is done where Executor is installed, in a terminal or in a browser that `executor web` opens"


def require(actor: Actor, permission: Permission, act: str) -> None:
    """`act` begins the sentence: `to run a command`."""
    if not actor.may(permission):
        raise lacking(permission, act)


def lacking(permission: Permission, act: str) -> Forbidden:
    who = HOLDERS.get(permission, f"somebody with the permission `{permission}`")
    hint = OPERATOR_HINT if permission == "operate" else "`executor members list` names the administrators and owners"
    return Forbidden(f"{act} is up to {who}: it needs the permission `{permission}`", hint=hint, needs=permission)

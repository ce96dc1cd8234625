"""Acts that need more than the route or the tool they come by, what they need, and the refusal that says who may."""

from __future__ import annotations

from typing import Literal, get_args

from executor.errors import Forbidden
from executor.model.tenancy import Actor, Permission

Act = Literal[
    "running a command",
    "importing a module into the daemon",
    "running a source's code again",
    "reading a file of this machine",
    "pointing at a value outside the store",
    "signing in as this installation's own account",
    "using a stored secret",
    "saying by hand where a credential goes",
    "giving a credential for another person's calls",
    "sharing a connection with the workspace",
]
OPERATED: frozenset[Act] = frozenset(get_args(Act)[:6])
NEEDED: dict[Act, Permission] = {act: "operate" if act in OPERATED else "administer" for act in get_args(Act)}

# Who holds a permission, as people say it; the last one of several is the rarest.
HOLDERS: dict[Permission, str] = {
    "decide": "a member",
    "connect": "a member",
    "administer": "an administrator",
    "manage": "an administrator",
    "own": "an owner",
    "operate": "the operator of this installation",
}
HINTS: dict[Act, str] = {"sharing a connection with the workspace": "create one of your own: scope `actor`"}
OPERATOR_HINT = "do this where Executor is installed, in a terminal or in a browser opened by `executor web`"


def require(actor: Actor, act: Act) -> None:
    if not actor.may(NEEDED[act]):
        raise refusal_of(act)


def refusal_of(act: Act) -> Forbidden:
    refusal = lacking(NEEDED[act], act)
    refusal.hint = HINTS.get(act, refusal.hint)
    return refusal


def lacking(permission: Permission, act: str) -> Forbidden:
    """`act` begins the sentence."""
    who = HOLDERS.get(permission, f"someone with the permission `{permission}`")
    hint = OPERATOR_HINT if permission == "operate" else ("`executor members list` shows the administrators and owners")
    return Forbidden(
        f"permission denied: {act} requires the permission `{permission}`, which {who} has", hint=hint, needs=permission
    )

"""Which role has which permissions, and the acts that need one beyond that of their route or tool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

from executor.errors import Forbidden

if TYPE_CHECKING:
    from executor.model.identity.actor import Actor

Role = Literal["owner", "admin", "member", "viewer"]
# discover: find and describe tools · execute: run code and see what came of it · read: look at everything of the
# workspace · decide: settle interactions · connect: give one's own credentials · prompt: start agent sessions and
# prompt them · administer: sources, policies, secrets, shared connections, keys of agents · manage: members,
# invitations, policies of the organization · own: the organization itself · operate: the machine (commands, Python
# modules, files, the daemon's own vault and environment) · extend: let code connect services at public addresses.
# No role gives `operate`: the account of this installation has it, at its terminal and in its browsers. No role gives
# `extend` either: the browser of an anonymous workspace has it, if the setting `anonymous_sources` says so.
Permission = Literal[
    "discover", "execute", "read", "decide", "connect", "prompt", "administer", "manage", "own", "operate", "extend"
]  # fmt: skip

AGENT: frozenset[Permission] = frozenset(("discover", "execute"))
# What a key may be given: nothing that an agent holding it could use to decide or to change what it may do.
KEY: frozenset[Permission] = frozenset(("discover", "execute", "read"))
VIEWER: frozenset[Permission] = frozenset(("discover", "read"))
MEMBER: frozenset[Permission] = VIEWER | {"execute", "decide", "connect", "prompt"}
ADMIN: frozenset[Permission] = MEMBER | {"administer", "manage"}
OWNER: frozenset[Permission] = ADMIN | {"own"}
# Of the browser that an anonymous workspace was opened in: nothing that starts a process, or that keeps a credential.
STRANGER: frozenset[Permission] = VIEWER | {"execute", "decide"}
OPERATOR: frozenset[Permission] = OWNER | {"operate"}
ROLES: dict[Role, frozenset[Permission]] = {"viewer": VIEWER, "member": MEMBER, "admin": ADMIN, "owner": OWNER}

Act = Literal[
    "running a command",
    "importing a module into the daemon",
    "running a source's code again",
    "reading a file of this machine",
    "pointing at a value outside the store",
    "signing in as this installation's own account",
    "sending webhooks to a private address",
    "using a stored secret",
    "saying by hand where a credential goes",
    "giving a credential for another person's calls",
    "sharing a connection with the workspace",
    "sharing a model key with the workspace",
]
OPERATED: frozenset[Act] = frozenset(get_args(Act)[:7])
NEEDED: dict[Act, Permission] = {act: "operate" if act in OPERATED else "administer" for act in get_args(Act)}

# Who holds a permission, as people say it; the last one of several is the rarest.
HOLDERS: dict[Permission, str] = {
    "extend": "the browser of an anonymous workspace",
    "decide": "a member",
    "connect": "a member",
    "prompt": "a member",
    "administer": "an administrator",
    "manage": "an administrator",
    "own": "an owner",
    "operate": "the operator of this installation",
}
HINTS: dict[Act, str] = {
    "sharing a connection with the workspace": "create one of your own: scope `actor`",
    "sharing a model key with the workspace": "set one of your own: scope `actor`",
}
WHERE: dict[Permission, str] = {
    "operate": "do this where Executor is installed, in a terminal or in a browser opened by `executor web`",
    "extend": "the operator can allow a number of sources with the setting `anonymous_sources`",
}


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
    hint = WHERE.get(permission, "`executor members list` shows the administrators and owners")
    return Forbidden(
        f"permission denied: {act} requires the permission `{permission}`, which {who} has", hint=hint, needs=permission
    )

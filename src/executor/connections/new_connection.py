"""What a human enters for a source, and the connection that results from it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Literal

from sqlalchemy.engine import Connection as Database

from executor.connections.origin import origin_of
from executor.connections.placement import Placement, check_placement, fill
from executor.connections.resolution import WAY, ways_of
from executor.connections.schemes import Needed
from executor.dataclass import dataclass
from executor.errors import Conflict, InvalidRequest, NotFound
from executor.model.credentials import DEFAULT_NAME, Connection, Scheme
from executor.model.identity.actor import Actor
from executor.model.identity.permissions import refusal_of
from executor.model.ids import new_id, now_ms
from executor.model.source import Source
from executor.secrets.origins import bind_origin
from executor.secrets.secrets import OWN, Secrets
from executor.storage.credentials import connections
from executor.storage.credentials import secrets as secret_rows
from executor.storage.executions import events
from executor.storage.identity import tenancy

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}\Z")
MAX_PLACEMENTS = 20
VARIABLE = "environment"  # where the credential of a command goes

Owner = Literal["actor", "workspace"]


@dataclass(frozen=True, slots=True)
class Offer:
    """`values` are entered now, `secrets` name ones that are there, both by input. `way` names one of the source's.

    `placements` say where the parts go when the source's document does not. `allow_origin` lets a secret that belongs
    elsewhere be sent to this source too.
    """

    values: Mapping[str, str] = field(default_factory=dict, repr=False)
    secrets: Mapping[str, str] = field(default_factory=dict)
    way: str = ""
    placements: Sequence[Placement] = ()
    name: str = ""
    scope: Owner = "workspace"
    replace: bool = False
    allow_origin: bool = False


def needed_for(source: Source, offer: Offer) -> Needed:
    """By hand, or what the source asks for. OAuth is granted elsewhere, and nothing is typed in for it."""
    if offer.placements:
        if len(offer.placements) > MAX_PLACEMENTS:
            raise InvalidRequest(f"a credential has at most {MAX_PLACEMENTS} parts", hint="remove some of them")
        for placement in offer.placements:
            check_placement(placement)
        return Needed("", scheme_of(offer.placements), tuple(dict(one) for one in offer.placements))
    return choose_way(ways_of(source, None), offer.way, source.namespace)


def choose_way(ways: Sequence[Needed], name: str, namespace: str) -> Needed:
    typed = [one for one in ways if one.oauth is None]
    found = next((one for one in typed if one.name == name), None) if name else next(iter(typed), None)
    if found is None:
        known = ", ".join(one.name for one in typed)
        raise InvalidRequest(
            f"{namespace} does not list {name!r} as a way to authenticate"
            if name
            else f"{namespace} does not say how to authenticate",
            hint=f"choose one of: {known}"
            if known
            else "say where the credential goes, such as a bearer token or a header",
        )
    return found


def scheme_of(placements: Sequence[Placement]) -> Scheme:
    if all(one["in"] == VARIABLE for one in placements):
        return "environment"
    if len(placements) == 1:
        template = placements[0]["template"]
        return "basic" if "{basic}" in template else "bearer" if template == "Bearer {token}" else "api_key"
    return "headers"


def save(
    c: Database,
    secrets: Secrets,
    source: Source,
    needed: Needed,
    offer: Offer,
    *,
    actor_id: str,
    by: Actor,
    origin: str = "",
) -> Connection:
    """In a writing job. An older one of the same name is replaced only if that was said.

    `origin` is what the human was shown; else it is where the source's calls go now.
    """
    origin = origin or pinned_origin(source)
    name = offer.name or free_name(c, source, actor_id, needed, origin)
    check_name(name)
    check_permitted(c, source, offer, by)
    check_complete(needed, offer)
    before, at = connections.find_named(c, source.id, actor_id, name), now_ms()
    if before is not None and not offer.replace:
        raise Conflict(
            f"{source.namespace} already has a connection {name!r}",
            hint="choose another `name`, or say `replace`",
        )
    connection = Connection(
        id=before.id if before else new_id("con"),
        workspace_id=source.workspace_id,
        source_id=source.id,
        name=name,
        scheme=needed.scheme,
        origin=origin,
        actor_id=actor_id,
        options={"placements": [dict(one) for one in needed.placements], WAY: needed.name},
        revision=before.revision if before else 1,
        created_by=by.id,
        created_at=at,
        updated_at=at,
    )
    connection = replace(connection, inputs=store_inputs(c, secrets, connection, needed, offer, by))
    (connections.update if before else connections.insert)(c, connection)
    what = "connection.replaced" if before else "connection.added"
    events.append(c, source.workspace_id, what, describe_connection(connection, source), by=by)
    return connection


def check_name(name: str) -> None:
    if not NAME.match(name):
        raise InvalidRequest(
            f"{name[:64]!r} is not a valid connection name", hint="use letters, digits, dots and dashes"
        )


def check_permitted(c: Database, source: Source, offer: Offer, by: Actor) -> None:
    """In a job. Members fill in what the source or an administrator has named, with values of their own.

    A variable of a command is the operator's to name: there is always one more that some program runs, or loads.
    """
    made = {key_of(one) for made in connections.of_source(c, source.id) if not made.actor_id
            for one in made.options.get("placements", ())}  # fmt: skip
    unnamed = [one for one in offer.placements if key_of(one) not in made]
    if not by.may("administer"):
        if offer.secrets:
            raise refusal_of("using a stored secret")
        if unnamed:
            raise refusal_of("saying by hand where a credential goes")
    variables = {name for name, _ in source.known_keys.get("environment") or ()}
    added = [one for one in unnamed if one["in"] == VARIABLE and one["name"] not in variables]
    if added and source.known_keys.get("command") and not by.may("operate"):
        raise refusal_of("running a command")


def key_of(placement: Placement) -> tuple[str, str]:
    return placement["in"], placement["name"]


def check_owner(c: Database, workspace_id: str, actor_id: str, by: Actor) -> None:
    """In a job. A connection that another person's calls will use is theirs to make, or an administrator's."""
    if actor_id in ("", by.id) or by.may("administer"):
        return
    owner = tenancy.actor(c, workspace_id, actor_id)
    if owner is None or owner.kind == "human":
        raise refusal_of("giving a credential for another person's calls")


def describe_connection(connection: Connection, source: Source) -> dict[str, str]:
    scope = "actor" if connection.actor_id else "workspace"
    named = {"id": connection.id, "name": connection.name, "source": source.namespace, "scheme": connection.scheme}
    return {**named, "scope": scope, "origin": connection.origin}


def store_inputs(
    c: Database, secrets: Secrets, connection: Connection, needed: Needed, offer: Offer, by: Actor
) -> dict[str, str]:
    """The id of the secret of each input."""
    found: dict[str, str] = {}
    for name in needed.inputs:
        if name in offer.secrets:
            secret = secret_rows.get(c, connection.workspace_id, offer.secrets[name])
            if secret is None or OWN in secret.name:
                raise NotFound(f"there is no secret {offer.secrets[name][:100]!r}", hint="see `executor secrets list`")
            bind_origin(c, secret, connection.origin, allow=offer.allow_origin, by=by)
            found[name] = secret.id
        else:
            kept = f"connection{OWN}{connection.id}{OWN}{name}"
            found[name] = secrets.keep(c, connection.workspace_id, kept, offer.values[name], by.id).id
    return found


def check_complete(needed: Needed, offer: Offer) -> None:
    given = {**offer.values, **offer.secrets}
    lacking = [name for name in needed.inputs if not given.get(name)]
    unknown = [name for name in given if name not in needed.inputs]
    if lacking or unknown:
        said = f"lacks {', '.join(lacking)}" if lacking else f"does not take {', '.join(map(repr, unknown))[:100]}"
        raise InvalidRequest(f"the credential {said}", hint=f"expected: {', '.join(needed.inputs)}")
    typed = {**dict.fromkeys(needed.inputs, ""), **offer.values}
    for placement in needed.placements:
        fill(placement, typed)  # a line break is refused now, not when a call fails


def free_name(c: Database, source: Source, actor_id: str, needed: Needed, origin: str) -> str:
    """`default`, unless that is for another scheme of the same source, or for another place."""
    names = [DEFAULT_NAME, plain(needed.name), plain(f"{needed.name}-{origin.partition('://')[2]}")]
    for name in names:
        present = connections.find_named(c, source.id, actor_id, name) if name else None
        same = present is not None and (present.options.get(WAY, ""), present.origin) == (needed.name, origin)
        if name and (present is None or same):
            return name
    return f"{DEFAULT_NAME}-{new_id('n')[-6:]}"


def plain(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", text).strip("-._")[:64]


def pinned_origin(source: Source) -> str:
    """Where its calls go; of a source that can't be read yet, where it would be read."""
    origin = source.known_keys.get("unread") or origin_of(source)
    if not origin:
        raise InvalidRequest(
            f"{source.namespace} has no address to send a credential to",
            hint="add it again with its address as `baseUrl`",
        )
    return origin

"""Toolkits. Their policies are theirs alone, so they are kept with them."""

from __future__ import annotations

from dataclasses import replace

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.model.policy import Condition, Policy
from executor.model.toolkit import Toolkit
from executor.storage.rows import WORDS, RowMapper, Stored, dump, load
from executor.storage.scan import Unindexed
from executor.storage.tables.access import toolkits
from executor.storage.tables.core import executions, interactions


def _write_policies(policies: tuple[Policy, ...]) -> str:
    return dump(
        [
            {
                "pattern": one.pattern,
                "action": one.action,
                "conditions": [[test.path, test.test, test.value] for test in one.conditions],
                "effect": one.effect,
                "note": one.note,
            }
            for one in policies
        ]
    )


def _read_policies(text: str) -> tuple[Policy, ...]:
    return tuple(
        Policy(
            "",
            "toolkit",
            "",
            position,
            one["pattern"],
            one["action"],
            tuple(Condition(*test) for test in one["conditions"]),
            effect=one["effect"],
            note=one["note"],
        )
        for position, one in enumerate(load(text))
    )


_rows = RowMapper(
    Toolkit, patterns=WORDS, pass_through=WORDS, policies=Stored(_write_policies, _read_policies)
)  # fmt: skip
_t = toolkits.c


def own_policies(toolkit: Toolkit) -> Toolkit:
    """Each of its policies with an id, so that decisions can name it."""
    owned = [replace(one, id=f"{toolkit.id}.{one.position}", owner_id=toolkit.id) for one in toolkit.policies]
    return replace(toolkit, policies=tuple(owned))


def listing(c: Connection, workspace_id: str) -> list[Toolkit]:
    found = _rows.every(c.execute(sa.select(toolkits).where(_t.workspace_id == workspace_id).order_by(_t.slug)))
    return [own_policies(one) for one in found]


def get(c: Connection, workspace_id: str, id_or_slug: str) -> Toolkit | None:
    named = sa.or_(_t.id == id_or_slug, _t.slug == id_or_slug)
    found = _rows.first(c.execute(sa.select(toolkits).where(_t.workspace_id == workspace_id, named)))
    return own_policies(found) if found is not None else None


def exists(c: Connection, workspace_id: str, toolkit_id: str) -> bool:
    mine = (_t.workspace_id == workspace_id, _t.id == toolkit_id)
    return c.execute(sa.select(_t.id).where(*mine)).first() is not None


def insert(c: Connection, toolkit: Toolkit) -> None:
    c.execute(sa.insert(toolkits), _rows.values(toolkit))


def change(c: Connection, toolkit: Toolkit) -> None:
    mine = (_t.workspace_id == toolkit.workspace_id, _t.id == toolkit.id)
    c.execute(sa.update(toolkits).where(*mine).values(_rows.values(toolkit)))


def delete(c: Connection, workspace_id: str, toolkit_id: str) -> None:
    c.execute(sa.delete(toolkits).where(_t.workspace_id == workspace_id, _t.id == toolkit_id))


def pending_in(c: Connection, workspace_id: str, toolkit_id: str) -> list[str]:
    """The ids of the interactions that executions in the toolkit wait for."""
    i, e = interactions.c, executions.c
    mine = (i.workspace_id == workspace_id, i.status == "pending", Unindexed(e.toolkit_id) == toolkit_id)
    return list(c.execute(sa.select(i.id).join(executions, e.id == i.execution_id).where(*mine)).scalars())

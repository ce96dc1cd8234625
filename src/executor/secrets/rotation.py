"""A new master key and a new data key. Killed at any moment, everything stays readable."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from executor.secrets.sealing import Sealed, Sealing
from executor.storage.credentials import secrets as rows
from executor.storage.tables.access import grants, oauth_clients, oauth_flows, secrets
from executor.storage.tables.webhooks import webhooks

# Seals again whatever else is sealed, in the same transaction; those who seal other things register one.
Reseal = Callable[[Connection, Sealing], None]


def rotate(c: Connection, sealing: Sealing, others: Sequence[Reseal] = ()) -> int:
    """One transaction: every value is sealed with the new data key, every data key with the new master key.

    The new master key is on the disk beside the old one before the commit, and takes its place after it
    (`Sealing.finish_rotation`). A value that someone has replaced since it was read is newer and stays, with the key it
    was sealed with. How many values were sealed again.
    """
    sealing.new_data_key(c)
    count = 0
    for secret_id, workspace_id, key_id, data in rows.every_sealed(c):
        bound = context(workspace_id, secret_id)
        fresh = sealing.seal(c, sealing.unseal(c, Sealed(key_id, data), bound), bound)
        count += rows.reseal(c, secret_id, fresh.key_id, fresh.data, before=data)
    for reseal in others:
        reseal(c, sealing)
    sealing.drop_unused(c, keys_in_use(c))
    sealing.rotate_master(c)
    return count


def keys_in_use(c: Connection) -> set[str]:
    columns = (secrets.c.key_id, grants.c.key_id, oauth_clients.c.key_id, oauth_flows.c.key_id, webhooks.c.key_id)
    return {key for column in columns for key in c.execute(sa.select(column).distinct()).scalars() if key}


def context(workspace_id: str, secret_id: str) -> str:
    """What a sealed value is bound to: it does not open in another row or another workspace."""
    return f"secret {workspace_id} {secret_id}"

"""What is sealed of a webhook: its whole address, which may itself be a credential, and the secrets that sign."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

import orjson
from sqlalchemy.engine import Connection

from executor.model.webhook import Webhook
from executor.secrets.sealing import Sealed, Sealing
from executor.storage.webhooks import webhooks


@dataclass(frozen=True, slots=True, repr=False)
class Private:
    """`previous` signs too, until the time in milliseconds; a webhook of the kind `slack` has no secrets."""

    url: str
    secret: str = ""
    previous: str = ""
    previous_until: int = 0

    def valid_secrets(self, now: int) -> list[str]:
        return [self.secret, *([self.previous] if self.previous and now < self.previous_until else [])]


def seal(c: Connection, sealing: Sealing, workspace_id: str, webhook_id: str, private: Private) -> Sealed:
    return sealing.seal(c, orjson.dumps(asdict(private)), context(workspace_id, webhook_id))


def unseal(c: Connection, sealing: Sealing, webhook: Webhook) -> Private:
    sealed = Sealed(webhook.key_id, webhook.sealed)
    return Private(**orjson.loads(sealing.unseal(c, sealed, context(webhook.workspace_id, webhook.id))))


def with_private(c: Connection, sealing: Sealing, webhook: Webhook, private: Private) -> Webhook:
    sealed = seal(c, sealing, webhook.workspace_id, webhook.id, private)
    return replace(webhook, key_id=sealed.key_id, sealed=sealed.data)


def reseal(c: Connection, sealing: Sealing) -> None:
    """All of it under the newest key: part of the rotation of keys."""
    for webhook in webhooks.everywhere(c):
        fresh = with_private(c, sealing, webhook, unseal(c, sealing, webhook))
        webhooks.reseal(c, webhook.id, fresh.key_id, fresh.sealed, before=webhook.sealed)


def context(workspace_id: str, webhook_id: str) -> str:
    return f"webhook {workspace_id} {webhook_id}"

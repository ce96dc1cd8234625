"""What anonymous agents may use and leave behind: executions, and bytes on the disk of anyone who runs this daemon."""

from __future__ import annotations

from dataclasses import field, replace
from functools import partial

from sqlalchemy.engine import Connection

from executor.dataclass import dataclass
from executor.errors import QuotaExceeded
from executor.model.event import ENDINGS, Announcement
from executor.model.execution import Limits
from executor.model.identity.actor import Actor
from executor.model.source import Source
from executor.storage.database import Database
from executor.storage.feed import Feed
from executor.storage.identity import anonymous

OUTPUT_BYTES = 2 * 1024 * 1024
RESULT_BYTES = 4 * 1024 * 1024
LOG_BYTES = 256 * 1024
CALLS = 100
HINT = "ask the operator for a token of your own: `executor agents create`"


@dataclass(frozen=True, slots=True)
class Allowance:
    """Of one session: how many `executions`, how many of them `live` (running or paused), how many `sources`, and
    `bytes` that are kept.

    `bytes_of_all` is for all sessions together.
    """

    executions: int = 500
    sources: int = 0
    live: int = 8
    bytes: int = 32 * 1024 * 1024
    bytes_of_all: int = 512 * 1024 * 1024


@dataclass(slots=True)
class Use:
    """`ended` are the executions whose bytes are not counted yet."""

    executions: int = 0
    bytes: int = 0
    live: set[str] = field(default_factory=set)
    ended: set[str] = field(default_factory=set)
    is_stale: bool = False  # its sources have changed


class Quotas:
    """Counted once from the database, then with every execution that ends: asking costs the same however many there
    are."""

    def __init__(self, database: Database, feed: Feed, allowance: Allowance) -> None:
        self._database = database
        self._allowance = allowance
        self._uses: dict[str, Use] | None = None
        feed.listen(self._on_event, self._forget)

    async def admit(self, actor: Actor) -> None:
        """Raises when its workspace has used up what it has."""
        use, allowance = await self._use(actor.workspace_id), self._allowance
        if use.executions >= allowance.executions:
            raise quota_exceeded(f"this anonymous session has run {use.executions} executions, which is the limit")
        if len(use.live) >= allowance.live:
            raise quota_exceeded(f"this anonymous session already has {len(use.live)} executions running or paused")
        if use.bytes >= allowance.bytes:
            raise quota_exceeded(f"this anonymous session stores {use.bytes:,} bytes, which is the limit")
        if sum(one.bytes for one in (self._uses or {}).values()) >= allowance.bytes_of_all:
            raise quota_exceeded(
                f"all anonymous sessions together store {allowance.bytes_of_all:,} bytes, which is the limit"
            )

    def note(self, workspace_id: str, execution_id: str) -> None:
        """It was admitted and has begun."""
        if self._uses is not None and (use := self._uses.get(workspace_id)):
            use.executions += 1
            use.live.add(execution_id)

    async def _use(self, workspace_id: str) -> Use:
        if self._uses is None:
            found = await self._database.read(anonymous.uses)
            if self._uses is None:
                self._uses = {one: Use(count, size, set(live)) for one, (count, size, live) in found.items()}
        use = self._uses.setdefault(workspace_id, Use())
        for name, one in list(self._uses.items()):
            if one.is_stale:
                one.is_stale, one.ended = False, set()
                one.bytes = await self._database.read(partial(anonymous.size, workspace_id=name))
            elif one.ended:
                ended, one.ended = one.ended, set()
                one.bytes += await self._database.read(partial(anonymous.size, workspace_id=name, of=ended))
        return use

    def _forget(self) -> None:
        self._uses = None

    def _on_event(self, announcement: Announcement) -> None:
        if self._uses is None:
            return
        if announcement.type == "session.lapsed":
            self._uses.pop(announcement.workspace_id, None)
        elif announcement.type in ENDINGS and (use := self._uses.get(announcement.workspace_id)):
            use.live.discard(announcement.execution_id)
            use.ended.add(announcement.execution_id)
        elif announcement.type == "source.added" and (use := self._uses.get(announcement.workspace_id)):
            use.is_stale = True


def check_sources(allowance: Allowance, c: Connection, source: Source) -> None:
    """In the transaction that adds a source to an anonymous workspace. Raises if there is no room for it."""
    if anonymous.count_sources(c, source.workspace_id) > allowance.sources:
        raise quota_exceeded(f"an anonymous workspace connects at most {allowance.sources} sources")
    if anonymous.size(c, source.workspace_id) > allowance.bytes:
        raise quota_exceeded(f"with this source, the workspace would store more than {allowance.bytes:,} bytes")
    if sum(anonymous.size_of_sources(c, one.workspace_id) for one in anonymous.listing(c)) > allowance.bytes_of_all:
        raise quota_exceeded(
            f"all anonymous sessions together store {allowance.bytes_of_all:,} bytes, which is the limit"
        )


def narrow_limits(limits: Limits) -> Limits:
    """So that the executions which are under way can't leave much more behind than what is allowed."""
    return replace(
        limits,
        calls=min(limits.calls, CALLS),
        output_bytes=min(limits.output_bytes, OUTPUT_BYTES),
        result_bytes=min(limits.result_bytes, RESULT_BYTES),
        log_bytes=min(limits.log_bytes, LOG_BYTES),
    )


def quota_exceeded(message: str) -> QuotaExceeded:
    return QuotaExceeded(message, hint=HINT)

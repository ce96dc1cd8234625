"""`ModelProxy`: gives sessions virtual keys, and answers what they send with them."""

from __future__ import annotations

import asyncio
import logging
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from aiohttp import web

from executor.errors import Conflict
from executor.model.ids import now_ms
from executor.model.sessions.model_usage import ModelProvider, ModelRequest, Spending
from executor.sessions.model_proxy.access import BASE_PATHS, Terms, VirtualKey
from executor.sessions.model_proxy.admission import Admission, Allowance, Caller
from executor.sessions.model_proxy.exchange import Exchange
from executor.sessions.model_proxy.ledger import Ledger
from executor.sessions.model_proxy.listener import AgentDelivery, Listener
from executor.sessions.model_proxy.prices import Prices
from executor.sessions.model_proxy.provider_keys import ProviderKeys
from executor.sessions.model_proxy.upstream import Upstreams
from executor.sessions.model_proxy.virtual_keys import VirtualKeys
from executor.sessions.model_proxy.wire.refusals import Refusal, Refused, provider_of_path, refuse, render
from executor.sessions.noted_events import NotedEvents
from executor.sessions.party import SessionParty
from executor.sessions.socket_folder import SocketFolder
from executor.storage.database import Database
from executor.storage.executions import events

KEY_MS = 24 * 3600 * 1000
MOST_AT_ONCE = 64  # requests of one session
GRACE_SECONDS = 2.0
NOT_SERVED = refuse("unavailable", "fault", "the request could not be served").why

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class OpenSession:
    party: SessionParty
    terms: Terms
    folder: Path
    peer_uid: int | None
    listener: Listener
    keys: VirtualKeys = field(default_factory=VirtualKeys)
    in_progress: int = 0
    budget_refusal: str = ""  # why its latest request was refused, if a budget did not cover it


class ModelProxy:
    """Lives in the daemon. `close` must come before the database closes."""

    def __init__(
        self,
        database: Database,
        keys: ProviderKeys,
        upstreams: Upstreams,
        prices: Prices,
        sockets: SocketFolder,
        noted: NotedEvents,
        allowance: Allowance | None = None,
    ) -> None:
        self._database = database
        self._keys = keys
        self._upstreams = upstreams
        self._sockets = sockets
        self._noted = noted
        self.ledger = Ledger(database)
        self._admission = Admission(keys, self.ledger, prices, allowance or Allowance())
        self._open: dict[str, OpenSession] = {}
        self._exchanges: set[asyncio.Task[None]] = set()
        self._opening = asyncio.Lock()
        self._is_recovered = False

    async def listen(self, party: SessionParty, terms: Terms | None = None, *, peer_uid: int | None = None) -> Listener:
        """The socket of a session, before it has any key. `terms`, if given, apply to all its keys from now on.

        `peer_uid` is the user that may connect to the socket: by default the daemon's own.
        """
        async with self._opening:
            await self._recover()
            session = self._open.get(party.session_id) or await self._begin(party, peer_uid)
        if (session.party, session.peer_uid) != (party, peer_uid):
            raise Conflict(f"the session {party.session_id} is open for another user", hint="close it first")
        session.terms = terms or session.terms
        return session.listener

    async def open(
        self,
        party: SessionParty,
        provider: ModelProvider,
        terms: Terms | None = None,
        *,
        peer_uid: int | None = None,
        loopback: bool = False,
        key_ms: int = KEY_MS,
    ) -> VirtualKey:
        """A new virtual key; earlier ones of the session stay good. With `loopback` a TCP port is served too.

        Raises CredentialRequired if no key is set for the provider.
        """
        await self._keys.find(party, provider)
        listener = await self.listen(party, terms, peer_uid=peer_uid)
        origin = await listener.listen_on_loopback() if loopback else ""
        expires_at = now_ms() + key_ms
        api_key = self._open[party.session_id].keys.issue(provider, expires_at)
        data = {"sessionId": party.session_id, "provider": provider}
        await self._database.write(
            lambda c: events.append(c, party.workspace_id, "model_key.issued", data, by=party.author)
        )
        base_url = f"{origin}{BASE_PATHS[provider]}" if origin else ""
        return VirtualKey(api_key, provider, listener.path, base_url, expires_at)

    def take_budget_refusal(self, session_id: str) -> str:
        """Why no budget covered the latest request of a session; empty if it was let through, or there was none since
        the last time."""
        session = self._open.get(session_id)
        if session is None:
            return ""
        found, session.budget_refusal = session.budget_refusal, ""
        return found

    async def close_session(self, session_id: str) -> None:
        """Its keys are good for nothing from now on. Answers that were under way are still counted."""
        session = self._open.pop(session_id, None)
        if session is None:
            return
        session.keys.revoke()
        await session.listener.close()
        shutil.rmtree(session.folder, ignore_errors=True)
        party, data = session.party, {"sessionId": session_id}
        await self._database.write(
            lambda c: events.append(c, party.workspace_id, "model_key.revoked", data, by=party.author)
        )

    async def spending(self, workspace_id: str, session_id: str) -> Spending:
        return await self.ledger.spending(workspace_id, session_id)

    async def requests(self, workspace_id: str, session_id: str, *, before: str = "") -> list[ModelRequest]:
        return await self.ledger.requests(workspace_id, session_id, before=before)

    async def close(self) -> None:
        """What a provider is still answering is billed as it was reserved."""
        for session_id in list(self._open):
            await self.close_session(session_id)
        if self._exchanges:
            await asyncio.wait(self._exchanges, timeout=GRACE_SECONDS)
        for task in self._exchanges:
            task.cancel()
        await asyncio.gather(*self._exchanges, return_exceptions=True)
        await self._upstreams.close()
        await asyncio.to_thread(self._sockets.close)

    async def _recover(self) -> None:
        if not self._is_recovered:
            await asyncio.to_thread(self._sockets.clear)
            await self.ledger.recover()
            self._is_recovered = True

    async def _begin(self, party: SessionParty, peer_uid: int | None) -> OpenSession:
        folder = await asyncio.to_thread(self._sockets.create, peer_uid)
        listener = Listener(folder, lambda request: self._answer(session, request), peer_uid)
        session = OpenSession(party, Terms(), folder, peer_uid, listener)
        await listener.start()
        self._open[party.session_id] = session
        return session

    async def _answer(self, session: OpenSession, request: web.BaseRequest) -> web.StreamResponse:
        provider = provider_of_path(request.raw_path)
        caller = Caller(session.party, session.terms, session.keys)
        delivery = AgentDelivery(request)
        session.in_progress += 1
        try:
            provider = self._admission.identify(caller, request)
            if session.in_progress > MOST_AT_ONCE:
                raise refuse("rate", "at_once", f"at most {MOST_AT_ONCE} requests at once", retry_seconds=2)
            admitted = await self._admission.admit(caller, provider, request)
            session.budget_refusal = ""
            exchange = Exchange(admitted, self.ledger, self._upstreams, delivery)
            await asyncio.shield(self._start(exchange))
        except Refused as refused:
            return self._refuse(session, request, provider, refused.why, delivery)
        except Exception:
            logger.exception("model.failed")
            return self._refuse(session, request, provider, NOT_SERVED, delivery)
        finally:
            session.in_progress -= 1
        return delivery.response

    def _start(self, exchange: Exchange) -> asyncio.Task[None]:
        """A task of its own: it outlives the connection, the listener and the session."""
        task = asyncio.create_task(exchange.run())
        self._exchanges.add(task)
        task.add_done_callback(self._exchanges.discard)
        return task

    def _refuse(
        self,
        session: OpenSession,
        request: web.BaseRequest,
        provider: ModelProvider,
        why: Refusal,
        delivery: AgentDelivery,
    ) -> web.StreamResponse:
        path = request.raw_path.partition("?")[0][:200]
        data = {"provider": provider, "method": request.method[:20], "path": path, "reason": why.reason}
        self._noted.note(session.party, "model.refused", **data)
        if why.kind == "budget":
            session.budget_refusal = why.message
        if delivery.has_begun:
            return delivery.response
        body, headers = render(provider, why)
        response = web.Response(status=why.status, body=body, headers=headers)
        if why.kind in ("upgrade", "too_large", "timeout") or why.reason in ("host", "absolute_form"):
            response.force_close()
        return response

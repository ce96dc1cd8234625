"""What is let through: whose key it is, which endpoint, model and content, how often, and within which budget."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from fnmatch import fnmatchcase

from aiohttp import web

from executor.dataclass import dataclass
from executor.errors import CredentialRequired, RateLimited, SecretElsewhere, SecretUnavailable, SourceUnreachable
from executor.identity.rate_limit import RateLimit
from executor.model.fairness import Party
from executor.model.sessions.model_usage import ModelProvider
from executor.network.addresses import is_private_host
from executor.network.slots import Shares, Slots
from executor.sessions.model_proxy.access import Terms
from executor.sessions.model_proxy.exchange import Admitted
from executor.sessions.model_proxy.ledger import Budgets, Ledger
from executor.sessions.model_proxy.prices import Prices
from executor.sessions.model_proxy.provider_keys import ProviderKeys
from executor.sessions.model_proxy.virtual_keys import VirtualKeys
from executor.sessions.model_proxy.wire.content import Asked, judge
from executor.sessions.model_proxy.wire.endpoints import Route, find_route, split_target
from executor.sessions.model_proxy.wire.headers import presented_keys
from executor.sessions.model_proxy.wire.refusals import refuse
from executor.sessions.party import SessionParty

MEGABYTE = 1024 * 1024
MAX_BODY = 32 * MEGABYTE
BODY_SECONDS = 120.0
BODIES = Shares(256 * MEGABYTE, 128 * MEGABYTE, 96 * MEGABYTE)
LARGE_BODY = 256 * 1024  # from here on it is judged in a thread
FREE = Asked(b"", "", 0, 0)


@dataclass(frozen=True, slots=True)
class Allowance:
    """What the settings allow every session and user. No models: all. None: no limit, no budget."""

    models: tuple[str, ...] = ()
    session_budget: int | None = None
    user_budget: int | None = None
    session_requests: int = 120
    user_requests: int = 600


@dataclass(frozen=True, slots=True)
class Caller:
    """A session as admission sees it."""

    party: SessionParty
    terms: Terms
    keys: VirtualKeys


class Admission:
    def __init__(self, keys: ProviderKeys, ledger: Ledger, prices: Prices, allowance: Allowance) -> None:
        self._keys = keys
        self._ledger = ledger
        self._prices = prices
        self._allowance = allowance
        self._bodies = Slots(BODIES, MAX_BODY)
        self._users = RateLimit(allowance.user_requests, allowance.user_requests / 60)
        self._sessions: dict[int, RateLimit] = {}

    def identify(self, caller: Caller, request: web.BaseRequest) -> ModelProvider:
        """Whose request it is, before anything of it is believed. The key says which provider it is for."""
        if "upgrade" in request.headers:
            raise refuse("upgrade", "websocket", "WebSockets are not served; use HTTP")
        _, query = split_target(request.raw_path)
        host = request.headers.get("Host", "localhost").rpartition(":")
        if not is_private_host((host[0] if host[1] else host[2]).strip("[]").lower()):
            raise refuse("invalid", "host", "only requests to this address are served, not to another host")
        found = caller.keys.find(presented_keys(request.headers.items(), query))
        if found is None:
            raise refuse("authentication", "key", "this key is not valid for this session")
        return found.provider

    async def admit(self, caller: Caller, provider: ModelProvider, request: web.BaseRequest) -> Admitted:
        path, query = split_target(request.raw_path)
        route = find_route(provider, request.method, path, query)
        self._check_rate(caller)
        room = BodyRoom(self._bodies, caller.party)
        try:
            raw = await room.read(request) if route.endpoint.method == "POST" else b""
            return await self._judge(caller, route, request, raw, room)
        except BaseException:
            room.release()
            raise

    async def _judge(
        self, caller: Caller, route: Route, request: web.BaseRequest, raw: bytes, room: BodyRoom
    ) -> Admitted:
        asked = await read_asked(route, raw, caller.terms)
        model = asked.model or route.model
        if model:
            check_model(model, self._allowance.models, caller.terms.models)
        provider = route.endpoint.provider
        key = await self._real_key(caller.party, provider)
        price = self._prices.find(provider, model)
        output = price.max_output if asked.output is None else asked.output
        amount = price.highest_cost(asked.input, output) if route.endpoint.is_metered else 0
        reserved = await self._ledger.reserve(
            caller.party, provider, model, route.endpoint.name, amount, self._budgets(caller.terms)
        )
        headers = list(request.headers.items())
        return Admitted(reserved, route, price, headers, asked.body, key, asked.hides_usage, room.release)

    def _budgets(self, terms: Terms) -> Budgets:
        limits = [one for one in (terms.budget, self._allowance.session_budget) if one is not None]
        return Budgets(min(limits, default=None), self._allowance.user_budget)

    def _check_rate(self, caller: Caller) -> None:
        asked = caller.terms.requests_per_minute
        most = self._allowance.session_requests if asked is None else min(asked, self._allowance.session_requests)
        try:
            self._session_limit(most).take(caller.party.session_id)
            self._users.take(caller.party.actor_id)
        except RateLimited as error:
            seconds = int(error.details["seconds"])
            message = f"too many requests a minute; try again in {seconds} s"
            raise refuse("rate", "rate", message, retry_seconds=seconds) from error

    def _session_limit(self, per_minute: int) -> RateLimit:
        if per_minute not in self._sessions:
            self._sessions[per_minute] = RateLimit(per_minute, max(per_minute, 1) / 60)
        return self._sessions[per_minute]

    async def _real_key(self, party: SessionParty, provider: ModelProvider) -> str:
        try:
            return await self._keys.value(party, provider)
        except (CredentialRequired, SecretUnavailable, SecretElsewhere) as error:
            message = f"the {provider} key of this workspace can't be used: {error.message}"
            raise refuse("permission", error.code, message) from error


class BodyRoom:
    """Memory for one body, shared fairly between sessions."""

    def __init__(self, slots: Slots, party: SessionParty) -> None:
        self._slots = slots
        self._party = Party(party.actor_id, party.session_id)
        self._held = 0

    async def read(self, request: web.BaseRequest) -> bytes:
        if request.headers.get("Content-Encoding", "identity").strip().lower() != "identity":
            raise refuse("invalid", "encoding", "compressed request bodies are not served")
        declared = request.content_length
        if declared is not None and declared > MAX_BODY:
            raise too_large()
        await self._acquire(MAX_BODY if declared is None else declared)
        try:
            async with asyncio.timeout(BODY_SECONDS):
                return await read_limited(request)
        except TimeoutError:
            raise refuse("timeout", "slow_body", f"the request was not complete within {BODY_SECONDS:g} s") from None

    def release(self) -> None:
        if self._held:
            self._slots.release(self._party, self._held)
        self._held = 0

    async def _acquire(self, amount: int) -> None:
        try:
            await self._slots.acquire(self._party, "models", None, BODY_SECONDS, max(amount, 1))
        except SourceUnreachable as error:
            raise refuse("rate", "busy", "too many large requests are in progress", retry_seconds=10) from error
        self._held = max(amount, 1)


async def read_limited(request: web.BaseRequest) -> bytes:
    body = bytearray()
    async for chunk in request.content.iter_any():
        body += chunk
        if len(body) > MAX_BODY:
            raise too_large()
    return bytes(body)


async def read_asked(route: Route, raw: bytes, terms: Terms) -> Asked:
    dialect = route.endpoint.dialect
    if dialect is None:
        return FREE
    if len(raw) < LARGE_BODY:
        return judge(dialect, raw, route.model, allow_provider_tools=terms.provider_tools)
    return await asyncio.to_thread(judge, dialect, raw, route.model, allow_provider_tools=terms.provider_tools)


def check_model(model: str, *allowed: Sequence[str]) -> None:
    for patterns in allowed:
        if patterns and not any(fnmatchcase(model, pattern) for pattern in patterns):
            message = f"the model {model[:100]!r} is not allowed here; allowed: {', '.join(patterns)[:500]}"
            raise refuse("permission", "model", message)


def too_large() -> Exception:
    return refuse("too_large", "too_large", f"a request has at most {MAX_BODY // MEGABYTE} MB")

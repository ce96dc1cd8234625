"""Model providers: whose key serves a session, what its requests used, and what that cost.

Money is in nanodollars (a billionth of a US dollar), so that the price of one token is a whole number.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Literal, get_args

from executor.dataclass import dataclass

ModelProvider = Literal["anthropic", "openai", "gemini"]
PROVIDERS: tuple[ModelProvider, ...] = get_args(ModelProvider)
NANODOLLARS = 1_000_000_000
# open: on its way · settled: as the provider counted it · estimated: cut off before that, so billed as reserved
RequestState = Literal["open", "settled", "estimated"]


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one request, no token in two fields: `input` is without what was cached, `output` without thoughts."""

    input: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cache_write_1h: int = 0
    output: int = 0
    thoughts: int = 0

    @property
    def prompt(self) -> int:
        return self.input + self.cache_read + self.cache_write + self.cache_write_1h


USAGE_FIELDS = tuple(field.name for field in fields(Usage))


@dataclass(frozen=True, slots=True)
class ModelKey:
    """Which secret is the key for a provider: of the whole workspace, or of one actor if `actor_id` is set."""

    workspace_id: str
    provider: ModelProvider
    actor_id: str
    secret_id: str
    created_by: str
    created_at: int


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """`reserved` is the most it may cost, held back from the budgets until `cost` is known."""

    id: str
    workspace_id: str
    session_id: str
    actor_id: str
    provider: ModelProvider
    model: str
    endpoint: str
    state: RequestState
    reserved: int
    started_at: int
    cost: int = 0
    status: int = 0
    finished_at: int | None = None
    usage: Usage = Usage()


@dataclass(frozen=True, slots=True)
class Spending:
    """What a session, or a user on one day, has used so far; `reserved` is held by requests in progress."""

    requests: int = 0
    reserved: int = 0
    cost: int = 0
    usage: Usage = Usage()

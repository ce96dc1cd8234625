"""Who may read `/metrics`. They are of the whole installation, so no role of a workspace is enough: its operator may,
and the holder of a token that is good for nothing else."""

from __future__ import annotations

import hmac
import logging
from pathlib import Path

from starlette.types import Scope

from executor.errors import DataDirectoryUnusable, Forbidden, MethodNotAllowed
from executor.identity.local_tokens import METRICS_PREFIX, read_token
from executor.model.identity.actor import Actor

ACTOR = "executor.actor"
SCRAPE = "executor.scrape"  # in the scope of a request that showed the token for metrics
logger = logging.getLogger(__name__)


def is_metrics_token(file: Path | None, authorization: str | None) -> bool:
    """The file is read for each request, so that a new token is good at once."""
    if file is None or authorization is None:
        return False
    scheme, _, shown = authorization.partition(" ")
    if scheme.lower() != "bearer" or not shown.strip().startswith(METRICS_PREFIX):
        return False
    try:
        token = read_token(file)
    except DataDirectoryUnusable as error:  # what is wrong with the file is none of the caller's business
        logger.error("metrics.token_unusable", extra={"reason": error.message})
        return False
    return token is not None and hmac.compare_digest(shown.strip().encode(), token.encode())


def check_scrape(scope: Scope) -> None:
    """Raises Forbidden unless the guard has seen the token for metrics, or the operator asks."""
    if scope["method"] != "GET":
        raise MethodNotAllowed(f"{scope['method']} is not allowed at this address")
    actor: Actor | None = scope.get(ACTOR)
    if SCRAPE not in scope and (actor is None or not actor.may("operate")):
        raise Forbidden(
            "permission denied: metrics are of the whole installation, and require the permission `operate`",
            hint="use the operator's token, or set metrics_token_file and use the token in that file",
        )

"""What an answer of any service comes to: its JSON, or the error that says what came instead."""

from __future__ import annotations

import json
import math
from contextvars import ContextVar
from typing import Any

import orjson

from executor.errors import EgressRefused, SourceError, SourceUnreachable, ToolError
from executor.model.tool import Tool
from executor.network.addresses import display_url
from executor.network.client import Answer
from executor.network.error_reasons import explain
from executor.sources import challenges
from executor.sources.rate_limits import is_limited, seconds_until_reset

# What a call has to say besides its result: shown among the log lines of the execution that made it.
MAX_WARNINGS = 5
WARNINGS: ContextVar[list[str] | None] = ContextVar("executor_call_warnings", default=None)


def warn(text: str) -> None:
    """Nothing of a credential may be in it, nor words of the service's own. Without an execution no one reads it."""
    found = WARNINGS.get()
    if found is not None and text not in found and len(found) < MAX_WARNINGS:
        found.append(text)


SNIPPET = 500
MAX_ERROR_BODY = 64_000
HINTS = {
    400: "the service rejects these arguments; `details` has its answer",
    401: "the service requires a credential that this source does not have",
    403: "the credential of this source is not allowed to do this",
    404: "not found: check the identifiers in the arguments",
    405: "the service does not offer this operation; refresh the source",
    409: "it conflicts with the current state; read that first",
    410: "it was permanently removed",
    413: "send less at once",
    415: "the service does not accept this type of body; refresh the source",
    422: "the service rejects these arguments; `details` names the fields",
    429: "too many requests: wait before the next one",
}
CODES = {"timeout": "upstream_timeout", "too_large": "result_too_large", "busy": "upstream_busy",
         "encoding": "unexpected_response"}  # fmt: skip
RETRYABLE = frozenset({408, 425, 429, 500, 502, 503, 504})


def read_json(body: bytes) -> tuple[str, Any]:
    """The text as it came, unless JSON's readers would disagree about it: huge integers, half surrogate pairs."""
    try:
        return body.removeprefix(b"\xef\xbb\xbf").decode(), orjson.loads(body.removeprefix(b"\xef\xbb\xbf"))
    except (orjson.JSONDecodeError, UnicodeDecodeError):
        value = json.loads(body, parse_int=small_int, parse_float=finite, parse_constant=no_constant)
        text = json.dumps(value, ensure_ascii=False).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return text, orjson.loads(text)


def small_int(digits: str) -> int | float:
    if len(digits) > 400:
        raise ValueError("a number with too many digits")
    number = int(digits)
    return number if -(2**63) <= number < 2**64 else finite(digits)


def finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError("a number that is too large")
    return number


def no_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def upstream_error(tool: Tool, answer: Answer) -> ToolError:
    hint = HINTS.get(answer.status) or ("the service failed" if answer.status >= 500 else "see `details`")
    details, seconds = error_body(answer), retry_after(answer)
    if seconds is not None:
        hint += f" (the service asks to wait {seconds:g} seconds)"
        details = {**(details if isinstance(details, dict) else {"body": details}), "retryAfter": seconds}
    error = ToolError(
        "upstream_error",
        f"{tool.path}: {display_url(answer.url)} answered {answer.status}{message_of(answer)}",
        status=answer.status,
        details=details,
        hint=hint,
        retryable=answer.status in RETRYABLE and (tool.effect == "read" or answer.status == 429),
    )
    return with_challenge(error, answer)


def with_challenge(error: ToolError, answer: Answer) -> ToolError:
    if answer.status == 401:
        error.asks = challenges.views(challenges.asked_for(challenges.header_values(answer.headers)))
    return error


def retry_after(answer: Answer) -> float | None:
    """In how many seconds the service wants to be asked again, if it says so."""
    if not is_limited(answer.status, answer.headers):
        return None
    seconds = seconds_until_reset(answer.headers)
    return seconds if seconds is None else math.ceil(seconds * 10) / 10


def message_of(answer: Answer) -> str:
    """The service's own words for what is wrong, where they are easily found."""
    words = explain(error_body(answer))
    return f": {words}" if words else ""


def error_body(answer: Answer) -> Any:
    if len(answer.body) <= MAX_ERROR_BODY and ("json" in answer.media_type or answer.body[:1] in (b"{", b"[")):
        try:
            return read_json(answer.body)[1]
        except (ValueError, RecursionError):
            pass
    return answer.body[:MAX_ERROR_BODY].decode("utf-8", "replace") if answer.body else None


def unexpected_answer(tool: Tool, answer: Answer, message: str, details: dict[str, Any]) -> ToolError:
    done = "" if tool.effect == "read" else "; the call itself was accepted, so don't repeat it blindly"
    return ToolError(
        "unexpected_response",
        f"{tool.path}: {message}",
        status=answer.status,
        details={**details, "contentType": answer.media_type},
        hint=f"the answer does not match the service's document: check the base URL, or refresh the source{done}",
    )


def snippet(answer: Answer) -> str:
    return answer.body[:SNIPPET].decode("utf-8", "replace")


def transport_error(tool: Tool, error: SourceError) -> ToolError:
    """Why no answer came. What may have been sent and isn't a read is never called retryable."""
    reason, sent = error.details.get("reason", ""), error.details.get("sent", False)
    safe = tool.effect == "read" or not sent
    hint = error.hint if safe else "it may have taken effect anyway: check before you repeat it"
    if isinstance(error, EgressRefused):
        return ToolError("egress_refused", f"{tool.path}: {error.message}", hint=error.hint)
    assert isinstance(error, SourceUnreachable)  # noqa: S101 - the only other error of the client
    code = CODES.get(reason, "upstream_unreachable")
    retryable = safe and reason not in ("too_large", "redirects", "tls", "encoding")
    status = error.details.get("status")  # of an answer that came and can't be read
    if status is not None and tool.effect != "read":
        hint = f"{error.hint}; the call itself was accepted, so don't repeat it blindly"
    message, details = f"{tool.path}: {error.message}", {"sent": sent}
    return ToolError(code, message, status=status, hint=hint, details=details, retryable=retryable)

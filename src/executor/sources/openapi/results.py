"""From an answer to the JSON text that submitted code gets, or the error that says what came instead."""

from __future__ import annotations

import base64
import json
import math
from typing import Any

import orjson

from executor.errors import EgressRefused, SourceError, SourceUnreachable, ToolError
from executor.model.tool import Tool
from executor.sources.addresses import shown
from executor.sources.egress import Answer
from executor.sources.openapi.answers import broken_promise, promised
from executor.sources.openapi.media import is_json, is_stream, is_text
from executor.sources.openapi.streams import stream_items

SNIPPET = 500
MAX_ERROR_BODY = 64_000
HINTS = {
    400: "the service rejects these arguments; `details` holds its answer",
    401: "the service wants a credential that this source does not have",
    403: "the credential of this source may not do this",
    404: "nothing is there: check the identifiers in the arguments",
    405: "the service does not offer this operation; refresh the source",
    409: "it conflicts with the present state; read that first",
    410: "it is gone for good",
    413: "send less at once",
    415: "the service does not accept this form of body; refresh the source",
    422: "the service rejects these arguments; `details` names the fields",
    429: "too many requests: wait before the next one",
}
RETRYABLE = frozenset({408, 425, 429, 500, 502, 503, 504})


def result_text(tool: Tool, answer: Answer) -> str:
    if answer.status >= 300:
        raise upstream_error(tool, answer)
    if not answer.body or tool.binding["method"] == "HEAD":
        return empty_result(tool, answer)
    if is_stream(answer.media_type):
        return orjson.dumps(stream_items(answer)).decode()
    promise = promised(tool.binding["answers"], answer.status)
    wants_json = promise is not None and promise["form"] == "json"
    if is_json(answer.media_type) or (wants_json and not answer.media_type):
        return json_result(tool, answer, promise)
    if wants_json:
        what = answer.media_type or "no content type"
        raise unexpected(tool, answer, f"the document promises JSON, the answer is {what}", {"body": snippet(answer)})
    return other_result(answer, promise["form"] if promise is not None else "any")


def empty_result(tool: Tool, answer: Answer) -> str:
    promise = promised(tool.binding["answers"], answer.status)
    if answer.status == 200 and promise is not None and tool.binding["method"] != "HEAD":
        types = promise.get("types")
        if types and "null" not in types:
            raise unexpected(tool, answer, f"the document promises {' or '.join(types)}, the answer is empty", {})
    return "null"


def json_result(tool: Tool, answer: Answer, promise: dict[str, Any] | None) -> str:
    try:
        text, value = read_json(answer.body)
    except (ValueError, RecursionError) as error:
        message = "the answer says it is JSON, but can't be read as JSON"
        raise unexpected(tool, answer, message, {"body": snippet(answer)}) from error
    problem = broken_promise(promise, value) if promise is not None else ""
    if problem:
        problems = [{"at": "", "message": problem}]
        raise unexpected(tool, answer, problem, {"problems": problems, "data": value})
    return text


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


def other_result(answer: Answer, form: str) -> str:
    """Text where it is meant to be text; everything else is `{contentType, base64}`."""
    media_type = answer.media_type
    if form == "text" or is_text(media_type) or not media_type:
        try:
            return orjson.dumps(answer.body.decode(charset(answer))).decode()
        except (UnicodeDecodeError, LookupError):
            pass
    encoded = base64.b64encode(answer.body).decode()
    return orjson.dumps({"contentType": media_type, "base64": encoded}).decode()


def charset(answer: Answer) -> str:
    _, _, named = answer.headers.get("Content-Type", "").lower().partition("charset=")
    return named.partition(";")[0].strip(' "') or "utf-8"


def upstream_error(tool: Tool, answer: Answer) -> ToolError:
    wait = answer.headers.get("Retry-After", "")[:60]
    hint = HINTS.get(answer.status) or ("the service failed" if answer.status >= 500 else "see `details`")
    if wait.isprintable() and wait and answer.status in (429, 503):
        hint += f" (the service asks to wait {wait}{' seconds' if wait.isdigit() else ''})"
    return ToolError(
        "upstream_error",
        f"{tool.path}: {shown(answer.url)} answered {answer.status}{said(answer)}",
        status=answer.status,
        details=error_body(answer),
        hint=hint,
        retryable=answer.status in RETRYABLE and (tool.effect == "read" or answer.status == 429),
    )


def said(answer: Answer) -> str:
    """The service's own word for what is wrong, where it is easily found."""
    body = error_body(answer)
    for key in ("detail", "message", "title", "error_description", "error"):
        text = body.get(key) if isinstance(body, dict) else None
        if isinstance(text, str) and text.strip():
            return ": " + " ".join("".join(c if c.isprintable() else " " for c in text).split())[:200]
    return ""


def error_body(answer: Answer) -> Any:
    if len(answer.body) <= MAX_ERROR_BODY and (is_json(answer.media_type) or answer.body[:1] in (b"{", b"[")):
        try:
            return read_json(answer.body)[1]
        except (ValueError, RecursionError):
            pass
    return answer.body[:MAX_ERROR_BODY].decode("utf-8", "replace") if answer.body else None


def unexpected(tool: Tool, answer: Answer, message: str, details: dict[str, Any]) -> ToolError:
    done = "" if tool.effect == "read" else "; the call itself was accepted, so don't repeat it blindly"
    return ToolError(
        "unexpected_response",
        f"{tool.path}: {message}",
        status=answer.status,
        details={**details, "contentType": answer.media_type},
        hint=f"the service does not keep to its document: check the base URL, or refresh the source{done}",
    )


def snippet(answer: Answer) -> str:
    return answer.body[:SNIPPET].decode("utf-8", "replace")


def transport_error(tool: Tool, error: SourceError) -> ToolError:
    """Why no answer came. What may have been sent and isn't a read is never called retryable."""
    reason, sent = error.details.get("reason", ""), error.details.get("sent", False)
    safe = tool.effect == "read" or not sent
    hint = error.hint if safe else "it may have taken effect all the same: look before you repeat it"
    if isinstance(error, EgressRefused):
        return ToolError("egress_refused", f"{tool.path}: {error.message}", hint=error.hint)
    assert isinstance(error, SourceUnreachable)  # noqa: S101 - the only other error of the client
    code = {"timeout": "upstream_timeout", "too_large": "result_too_large"}.get(reason, "upstream_unreachable")
    retryable = safe and reason not in ("too_large", "redirects", "tls")
    return ToolError(code, f"{tool.path}: {error.message}", hint=hint, details={"sent": sent}, retryable=retryable)

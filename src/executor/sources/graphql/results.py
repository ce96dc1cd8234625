"""From a GraphQL answer to the JSON text that submitted code gets, or the error that says what came instead."""

from __future__ import annotations

from typing import Any

import orjson

from executor.errors import ToolError
from executor.model.tool import Tool
from executor.network.client import Answer
from executor.network.error_reasons import one_line
from executor.sources import rate_limits
from executor.sources.graphql.storage_format import binding_of
from executor.sources.results import (
    HINTS,
    RETRYABLE,
    read_json,
    retry_after,
    snippet,
    unexpected_answer,
    upstream_error,
    with_challenge,
)

MAX_ERRORS = 50
CODE_HINTS = {
    "UNAUTHENTICATED": HINTS[401],
    "UNAUTHORIZED": HINTS[401],
    "FORBIDDEN": HINTS[403],
    "INSUFFICIENT_SCOPES": ("the credential of this source can't read all of this; choose other fields with `select`"),
    "NOT_FOUND": HINTS[404],
    "RATE_LIMITED": HINTS[429],
    "GRAPHQL_VALIDATION_FAILED": "the schema of the service has changed: refresh the source",
}
LATER = frozenset({"RATE_LIMITED", "THROTTLED"})
AGAIN = frozenset({"RATE_LIMITED", "THROTTLED", "TIMEOUT", "SERVICE_UNAVAILABLE", "INTERNAL_SERVER_ERROR"})


def result_text(tool: Tool, answer: Answer) -> str:
    """The value of the tool's field; of a document of one's own, all data. Any error in the answer is an error here."""
    value = json_of(answer)
    if isinstance(value, dict) and value.get("errors"):
        raise answered_errors(tool, answer, value)
    if answer.status >= 300:
        raise upstream_error(tool, answer)
    data = value.get("data") if isinstance(value, dict) else None
    if not isinstance(data, dict):
        what = "contains no data" if isinstance(value, dict) else "is not JSON"
        raise unexpected_answer(tool, answer, f"the answer {what}, so it is not GraphQL", {"body": snippet(answer)})
    field = binding_of(tool).get("field")
    if field is None:
        return orjson.dumps(data).decode()
    if field not in data:
        raise unexpected_answer(tool, answer, f"the answer has no {field!r}", {"data": data})
    return orjson.dumps(data[field]).decode()


def json_of(answer: Answer) -> Any:
    """None if it can't be read: some services name the wrong content type, so that isn't asked."""
    try:
        return read_json(answer.body)[1]
    except (ValueError, RecursionError):
        return None


def answered_errors(tool: Tool, answer: Answer, value: dict[str, Any]) -> ToolError:
    """`details.errors` are the service's own; `details.data` is what came beside them, so that nothing is lost."""
    errors = value["errors"] if isinstance(value["errors"], list) else [value["errors"]]
    data = value.get("data")
    field = binding_of(tool).get("field")
    if field is not None and isinstance(data, dict):
        data = data.get(field)
    more, seconds = f" (and {len(errors) - 1} more)" if len(errors) > 1 else "", retry_after(answer)
    error = ToolError(
        "upstream_error",
        f"{tool.path}: {message_of(errors[0])}{more}",
        status=answer.status,
        details={
            "errors": errors[:MAX_ERRORS],
            "data": data,
            **({"retryAfter": seconds} if seconds is not None else {}),
        },
        hint=hint_for(tool, answer, errors, data),
        retryable=tool.effect == "read" and (answer.status in RETRYABLE or bool(codes(errors) & AGAIN)),
    )
    return with_challenge(error, answer)


def says_later(answer: Answer) -> bool:
    """Also where only a code among the errors says so."""
    if rate_limits.says_later(answer):
        return True
    if not any(code.encode() in answer.body for code in LATER):
        return False
    value = json_of(answer)
    errors = value.get("errors") if isinstance(value, dict) else None
    return isinstance(errors, list) and bool(codes(errors) & LATER)


def message_of(error: Any) -> str:
    """The service's own words, and which field they are about."""
    message = error.get("message") if isinstance(error, dict) else error
    text = message if isinstance(message, str) and message.strip() else "the service reports an error without a message"
    text = one_line(text, 300)
    path = error.get("path") if isinstance(error, dict) else None
    steps = [str(step)[:60] for step in path[:20]] if isinstance(path, list) else []
    return f"{text} (at {'.'.join(steps)})" if len(steps) > 1 and all(step.isprintable() for step in steps) else text


def codes(errors: list[Any]) -> set[str]:
    """Where services put them: `extensions.code`, or `type` beside the message."""
    found: set[str] = set()
    for error in errors[:MAX_ERRORS]:
        extensions = error.get("extensions") if isinstance(error, dict) else None
        given = [error.get("type")] if isinstance(error, dict) else []
        given += [extensions.get("code"), extensions.get("type")] if isinstance(extensions, dict) else []
        found |= {code.upper() for code in given if isinstance(code, str)}
    return found


def hint_for(tool: Tool, answer: Answer, errors: list[Any], data: Any) -> str:
    found = codes(errors)
    hint = next((text for code, text in CODE_HINTS.items() if code in found), "")
    hint = hint or (HINTS.get(answer.status, "") if answer.status >= 400 else "")
    parts = [hint or "`details.errors` shows what the service rejects"]
    if data is not None:
        parts.append("`details.data` has the data that arrived anyway")
        if tool.effect != "read":
            parts.append("it may have taken effect, so don't repeat it blindly")
    return "; ".join(parts)

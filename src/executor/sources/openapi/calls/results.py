"""From an answer to the JSON text that submitted code gets, or the error that says what came instead."""

from __future__ import annotations

import base64
from typing import Any

import orjson

from executor.model.tool import Tool
from executor.network.client import Answer
from executor.sources.openapi.calls.media import is_json, is_stream, is_text
from executor.sources.openapi.calls.streams import stream_result
from executor.sources.openapi.storage_format import Promise, binding_of
from executor.sources.openapi.tools.responses import broken_promise, find_promise
from executor.sources.results import read_json, snippet, unexpected_answer, upstream_error

MAX_LINES = 100_000


def result_text(tool: Tool, answer: Answer) -> str:
    if answer.status >= 300:
        raise upstream_error(tool, answer)
    if answer.file is not None:
        return orjson.dumps(answer.file.handle).decode()
    if not answer.body or binding_of(tool)["method"] == "HEAD":
        return empty_result(tool, answer)
    if is_stream(answer.media_type):
        return orjson.dumps(stream_result(answer)).decode()
    promise = find_promise(binding_of(tool)["answers"], answer.status)
    wants_json = promise is not None and promise["form"] == "json"
    if is_json(answer.media_type) or (wants_json and not answer.media_type):
        return json_result(tool, answer, promise)
    if wants_json:
        what = answer.media_type or "no content type"
        raise unexpected_answer(
            tool, answer, f"the document declares JSON, but the answer is {what}", {"body": snippet(answer)}
        )
    return other_result(answer, promise["form"] if promise is not None else "any")


def empty_result(tool: Tool, answer: Answer) -> str:
    promise = find_promise(binding_of(tool)["answers"], answer.status)
    if answer.status == 200 and promise is not None and binding_of(tool)["method"] != "HEAD":
        types = promise.get("types")
        if types and "null" not in types:
            raise unexpected_answer(
                tool, answer, f"the document declares {' or '.join(types)}, but the answer is empty", {}
            )
    return "null"


def json_result(tool: Tool, answer: Answer, promise: Promise | None) -> str:
    try:
        text, value = read_json(answer.body)
    except (ValueError, RecursionError) as error:
        values = json_lines(answer.body)
        if values is not None:
            return orjson.dumps(values).decode()
        message = "the answer says it is JSON, but can't be parsed as JSON"
        raise unexpected_answer(tool, answer, message, {"body": snippet(answer)}) from error
    problem = broken_promise(promise, value) if promise is not None else ""
    if problem:
        problems = [{"at": "", "message": problem}]
        raise unexpected_answer(tool, answer, problem, {"problems": problems, "data": value})
    return text


def json_lines(body: bytes) -> list[Any] | None:
    """A value a line, as some services send what they call JSON. None if it is anything else."""
    rows = [row for row in body.removeprefix(b"\xef\xbb\xbf").replace(b"\x1e", b"\n").split(b"\n") if row.strip()]
    if not 1 < len(rows) <= MAX_LINES:
        return None
    try:
        return [read_json(row.strip())[1] for row in rows]
    except (ValueError, RecursionError):
        return None


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

"""Counting tokens as each provider reports them, while an answer passes."""

from __future__ import annotations

from typing import Any, Protocol

import orjson

from executor.model.sessions.model_usage import Usage
from executor.sessions.model_proxy.wire.endpoints import Dialect
from executor.sessions.model_proxy.wire.event_stream import EventSplitter, EventTooLarge, data_of

MAX_BODY = 32 * 1024 * 1024
# Only events with one of these words are parsed; most of a stream is text.
MARKS = (b'"usage"', b'"usageMetadata"', b'"finishReason"', b'"promptFeedback"', b'"message_stop"')


class Counter(Protocol):
    """`usage` is None until the provider has said everything that there is to say."""

    def note(self, event: dict[str, Any]) -> None: ...

    @property
    def usage(self) -> Usage | None: ...


class MessagesCounter:
    """`message_start` has the prompt, `message_delta` the output so far: the last word on each number counts."""

    def __init__(self) -> None:
        self._said: dict[str, Any] = {}
        self._is_final = False

    def note(self, event: dict[str, Any]) -> None:
        said = event.get("usage")
        if event.get("type") == "message_start" and isinstance(event.get("message"), dict):
            said = event["message"].get("usage")
        elif event.get("type") in ("message_stop", "message"):
            self._is_final = True
        if isinstance(said, dict):
            self._said |= {name: value for name, value in said.items() if value is not None}

    @property
    def usage(self) -> Usage | None:
        if not (self._said and self._is_final):
            return None
        written = number(self._said, "cache_creation_input_tokens")
        by_hour = min(number(inner(self._said, "cache_creation"), "ephemeral_1h_input_tokens"), written)
        return Usage(
            input=number(self._said, "input_tokens"),
            cache_read=number(self._said, "cache_read_input_tokens"),
            cache_write=written - by_hour,
            cache_write_1h=by_hour,
            output=number(self._said, "output_tokens"),
        )


class ResponsesCounter:
    """In the last event, whichever way the response ended; without streaming, in the response itself."""

    ENDINGS = ("response.completed", "response.incomplete", "response.failed", "response.cancelled")

    def __init__(self) -> None:
        self._usage: Usage | None = None

    def note(self, event: dict[str, Any]) -> None:
        response = event.get("response") if event.get("type") in self.ENDINGS else event
        if isinstance(response, dict) and response.get("object", "response") == "response":
            said = response.get("usage")
            self._usage = openai_usage(said, "input_tokens", "output_tokens") if isinstance(said, dict) else self._usage

    @property
    def usage(self) -> Usage | None:
        return self._usage


class ChatCounter:
    """In a chunk of its own at the end, which the proxy requests; without streaming, in the body."""

    def __init__(self) -> None:
        self._usage: Usage | None = None

    def note(self, event: dict[str, Any]) -> None:
        said = event.get("usage")
        if isinstance(said, dict):
            self._usage = openai_usage(said, "prompt_tokens", "completion_tokens")

    @property
    def usage(self) -> Usage | None:
        return self._usage


class GenerateCounter:
    """Repeated with every chunk, and the last one counts. Thoughts and what tools brought in are apart."""

    def __init__(self) -> None:
        self._said: dict[str, Any] = {}
        self._is_final = False

    def note(self, event: dict[str, Any]) -> None:
        said = event.get("usageMetadata")
        if isinstance(said, dict):
            self._said = said
        candidates = event.get("candidates")
        ended = isinstance(candidates, list) and any(inner_of(one).get("finishReason") for one in candidates)
        self._is_final = self._is_final or ended or "promptFeedback" in event

    @property
    def usage(self) -> Usage | None:
        if not (self._said and self._is_final):
            return None
        prompt = number(self._said, "promptTokenCount") + number(self._said, "toolUsePromptTokenCount")
        cached = min(number(self._said, "cachedContentTokenCount"), prompt)
        return Usage(
            input=prompt - cached,
            cache_read=cached,
            output=number(self._said, "candidatesTokenCount"),
            thoughts=number(self._said, "thoughtsTokenCount"),
        )


COUNTERS: dict[Dialect, type[Counter]] = {
    "messages": MessagesCounter,
    "responses": ResponsesCounter,
    "chat": ChatCounter,
    "generate": GenerateCounter,
}


class Meter:
    """Fed with an answer as it passes: a stream of events, or one JSON document (or a list of them)."""

    def __init__(self, dialect: Dialect, *, is_stream: bool) -> None:
        self._counter = COUNTERS[dialect]()
        self._events = EventSplitter() if is_stream else None
        self._body = bytearray()
        self._lost = False

    def feed(self, chunk: bytes) -> None:
        if self._lost:
            return
        try:
            self._feed(chunk)
        except EventTooLarge:
            self._lost = True

    def finish(self) -> Usage | None:
        """None if the answer ended before its usage was known."""
        if self._events is not None:
            self._note(data_of(self._events.rest()))
        else:
            self._note(bytes(self._body))
        return None if self._lost else self._counter.usage

    def _feed(self, chunk: bytes) -> None:
        if self._events is not None:
            for event in self._events.feed(chunk):
                self._note(data_of(event))
            return
        self._body += chunk
        self._lost = len(self._body) > MAX_BODY

    def _note(self, text: bytes) -> None:
        if not any(mark in text for mark in MARKS):
            return
        try:
            found = orjson.loads(text)
        except orjson.JSONDecodeError:
            return
        for one in found if isinstance(found, list) else [found]:
            if isinstance(one, dict):
                self._counter.note(one)


def openai_usage(said: dict[str, Any], prompt_name: str, output_name: str) -> Usage:
    prompt, output = number(said, prompt_name), number(said, output_name)
    cached = min(number(inner(said, f"{prompt_name}_details"), "cached_tokens"), prompt)
    thoughts = min(number(inner(said, f"{output_name}_details"), "reasoning_tokens"), output)
    return Usage(input=prompt - cached, cache_read=cached, output=output - thoughts, thoughts=thoughts)


def number(said: dict[str, Any], name: str) -> int:
    value = said.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def inner(said: dict[str, Any], name: str) -> dict[str, Any]:
    return inner_of(said.get(name))


def inner_of(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}

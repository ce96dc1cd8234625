"""The chunk of a Chat stream that says what was used, kept from a client that has not asked for it."""

from __future__ import annotations

import orjson

from executor.sessions.model_proxy.wire.event_stream import EventSplitter, EventTooLarge, data_of


class ChatUsageFilter:
    """Everything else passes byte for byte, event by event."""

    def __init__(self) -> None:
        self._events: EventSplitter | None = EventSplitter()

    def feed(self, chunk: bytes) -> bytes:
        if self._events is None:
            return chunk
        passed = []
        try:
            passed += [event for event in self._events.feed(chunk) if not is_usage_chunk(data_of(event))]
        except EventTooLarge:
            passed.append(self._events.rest())
            self._events = None
        return b"".join(passed)

    def finish(self) -> bytes:
        return self._events.rest() if self._events is not None else b""


def is_usage_chunk(text: bytes) -> bool:
    if b'"usage"' not in text or b'"choices"' not in text:
        return False
    try:
        chunk = orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    return isinstance(chunk, dict) and chunk.get("choices") == [] and isinstance(chunk.get("usage"), dict)

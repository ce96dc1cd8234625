"""The values that were used lately: whatever is logged while they are known here is redacted of them."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Collection

KEPT = 200
_known: OrderedDict[str, None] = OrderedDict()
_lock = threading.Lock()


def remember(values: Collection[str]) -> None:
    if not values:
        return
    with _lock:
        for value in values:
            _known[value] = None
            _known.move_to_end(value)
        while len(_known) > KEPT:
            _known.popitem(last=False)


def redact_line(text: str) -> str:
    """For log lines: called often, and nearly always with nothing known."""
    if not _known:
        return text
    from executor.secrets.redaction import redact

    with _lock:
        values = tuple(_known)
    for value in values:
        text = redact(text, (value,))
    return text

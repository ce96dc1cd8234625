"""Small conversions between rows and the nouns, shared by the repositories."""

from __future__ import annotations

from typing import Any

import orjson


def dump(value: Any) -> str:
    return orjson.dumps(value).decode()


def load(text: str | None) -> Any:
    return None if text is None else orjson.loads(text)

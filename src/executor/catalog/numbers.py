"""A number within the bounds of a schema."""

from __future__ import annotations

import math
from typing import Any, TypeGuard

from executor.model.tool import Schema


def number(schema: Schema) -> int | float:
    """1 if it may be that, else the nearest that may."""
    low, high = bounds(schema)
    given, default = schema.get("multipleOf"), schema.get("default")
    step = given if is_number(given) and given > 0 else None
    if is_number(default) and low <= default <= high and step is None:
        return default
    value: int | float = min(max(1, low), high)
    if step is not None:
        value = math.ceil(value / step) * step
        value = value - step if value > high else value
    if schema.get("type") == "integer" or (isinstance(value, float) and value.is_integer()):
        return math.ceil(value) if math.ceil(value) <= high else math.floor(value)
    return value


def bounds(schema: Schema) -> tuple[float, float]:
    """Exclusive bounds are moved by one, or by half of the way there is."""
    low, high = schema.get("minimum"), schema.get("maximum")
    above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    lowest = low if is_number(low) else -math.inf
    highest = high if is_number(high) else math.inf
    if is_number(above) and above >= lowest:
        lowest = above + 1 if above + 1 < min(highest, below if is_number(below) else math.inf) else above + 0.000001
    if is_number(below) and below <= highest:
        highest = below - 1 if below - 1 >= lowest else (below + lowest) / 2
    return lowest, max(lowest, highest)


def is_number(value: Any) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)

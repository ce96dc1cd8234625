"""Metrics in the text format of Prometheus, named as OpenTelemetry's specification says."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from executor.telemetry.metric import Distribution, Family, cumulate

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
UNITS = {"s": "seconds", "By": "bytes", "USD": "USD"}


def render(families: Iterable[Family]) -> bytes:
    return "".join(line for family in families for line in _lines(family)).encode()


def name_of(family: Family) -> str:
    name = family.name.replace(".", "_")
    unit = UNITS.get(family.unit, "")
    if unit and not name.endswith(f"_{unit}"):
        name = f"{name}_{unit}"
    return f"{name}_total" if family.kind == "counter" and not name.endswith("_total") else name


def _lines(family: Family) -> Iterator[str]:
    name = name_of(family)
    yield f"# HELP {name} {_escape(family.help)}\n# TYPE {name} {family.kind}\n"
    for labels, value in family.values.items():
        pairs = [f'{key.replace(".", "_")}="{_quote(text)}"' for key, text in zip(family.labels, labels, strict=True)]
        if isinstance(value, Distribution):
            yield from _distribution(name, pairs, family.bounds, value)
        else:
            yield f"{name}{_braces(pairs)} {_number(value)}\n"


def _distribution(name: str, pairs: list[str], bounds: tuple[float, ...], value: Distribution) -> Iterator[str]:
    for bound, count in zip((*bounds, math.inf), cumulate(value), strict=True):
        edge = f'le="{_number(bound)}"'
        yield f"{name}_bucket{_braces([*pairs, edge])} {count}\n"
    yield f"{name}_sum{_braces(pairs)} {_number(value.total)}\n{name}_count{_braces(pairs)} {value.count}\n"


def _braces(pairs: list[str]) -> str:
    return f"{{{','.join(pairs)}}}" if pairs else ""


def _number(value: float) -> str:
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if value == int(value) else repr(float(value))


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def _quote(text: str) -> str:
    return _escape(text).replace('"', '\\"')

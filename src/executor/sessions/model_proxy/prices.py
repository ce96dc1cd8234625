"""What models cost: a table of patterns, which an operator's file can extend and override."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from fnmatch import fnmatchcase
from importlib import resources
from pathlib import Path
from typing import Any

from executor.dataclass import dataclass
from executor.errors import InvalidRequest
from executor.model.sessions.model_usage import PROVIDERS, ModelProvider, Usage

PER_TOKEN = 1000  # nanodollars a token, for each dollar per million tokens
FIELDS = {
    *("input", "output", "cache_read", "cache_write", "cache_write_1h", "context", "max_output"),
    *("above", "long_input", "long_output", "long_cache_read", "long_cache_write"),
}


@dataclass(frozen=True, slots=True)
class Rate:
    """Nanodollars for each token."""

    input: int
    output: int
    cache_read: int
    cache_write: int
    cache_write_1h: int

    def cost(self, usage: Usage) -> int:
        prompt = usage.input * self.input + usage.cache_read * self.cache_read
        cached = usage.cache_write * self.cache_write + usage.cache_write_1h * self.cache_write_1h
        return prompt + cached + (usage.output + usage.thoughts) * self.output

    @property
    def dearest_input(self) -> int:
        return max(self.input, self.cache_write, self.cache_write_1h)


@dataclass(frozen=True, slots=True)
class Price:
    """`long_rate` is for prompts with more than `above` tokens."""

    rate: Rate
    context: int
    max_output: int
    above: int | None = None
    long_rate: Rate | None = None

    def rate_for(self, prompt: int) -> Rate:
        return self.long_rate if self.long_rate and self.above is not None and prompt > self.above else self.rate

    def cost(self, usage: Usage) -> int:
        return self.rate_for(usage.prompt).cost(usage)

    def highest_cost(self, prompt: int, output: int) -> int:
        """A prompt that does not fit the model is refused by the provider, so it costs no more than one that does."""
        prompt = min(prompt, self.context)
        rate = self.rate_for(prompt)
        return prompt * rate.dearest_input + output * rate.output


class Prices:
    def __init__(self, tables: Mapping[str, Mapping[str, Price]]) -> None:
        self._tables = {
            provider: sorted(table.items(), key=lambda entry: -len(entry[0])) for provider, table in tables.items()
        }

    def find(self, provider: ModelProvider, model: str) -> Price:
        """The longest pattern that matches; `*` always does."""
        return next(price for pattern, price in self._tables[provider] if fnmatchcase(model, pattern))


def load_prices(override: Path | None = None) -> Prices:
    text = resources.files(__package__).joinpath("prices.toml").read_text(encoding="utf-8")
    tables = read_tables(tomllib.loads(text), "prices.toml")
    if override is not None:
        for provider, table in read_tables(parse_file(override), str(override)).items():
            tables[provider] |= table
    return Prices(tables)


def parse_file(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise invalid(str(path), f"it can't be read: {error}") from error


def read_tables(data: Mapping[str, Any], origin: str) -> dict[str, dict[str, Price]]:
    tables: dict[str, dict[str, Price]] = {provider: {} for provider in PROVIDERS}
    for provider, entries in data.items():
        if provider not in tables or not isinstance(entries, dict):
            raise invalid(origin, f"{provider!r} is not one of {', '.join(PROVIDERS)}")
        for pattern, entry in entries.items():
            tables[provider][pattern] = read_price(entry, f"{provider}.{pattern}", origin)
    return tables


def read_price(entry: Any, name: str, origin: str) -> Price:
    if not isinstance(entry, dict) or not {"input", "output", "context", "max_output"} <= entry.keys() <= FIELDS:
        known = ", ".join(sorted(FIELDS))
        raise invalid(origin, f"{name} needs input, output, context and max_output, and has only {known}")
    if not all(is_number(value) for value in entry.values()):
        raise invalid(origin, f"{name} has a value that is not a number of 0 or more")
    plain = {key: value for key, value in entry.items() if not key.startswith("long_")}
    long = {key.removeprefix("long_"): value for key, value in entry.items() if key.startswith("long_")}
    return Price(
        read_rate(plain),
        int(entry["context"]),
        int(entry["max_output"]),
        int(entry["above"]) if "above" in entry else None,
        read_rate({**plain, **long, **({"cache_write_1h": long["cache_write"]} if "cache_write" in long else {})})
        if long
        else None,
    )


def read_rate(entry: Mapping[str, float]) -> Rate:
    per_input = entry["input"]
    write = entry.get("cache_write", per_input)
    values = (
        *(per_input, entry["output"], entry.get("cache_read", per_input)),
        *(write, entry.get("cache_write_1h", write)),
    )
    return Rate(*(round(value * PER_TOKEN) for value in values))


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e9


def invalid(origin: str, why: str) -> InvalidRequest:
    return InvalidRequest(f"the price table {origin} is not valid: {why}", hint="correct it, then restart the daemon")

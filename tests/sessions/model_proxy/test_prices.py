"""Prices: the longest pattern counts, long prompts and caches have their own, and an operator's file comes first."""

from __future__ import annotations

from pathlib import Path

import pytest

from executor.errors import InvalidRequest
from executor.model.sessions.model_usage import NANODOLLARS, PROVIDERS, Usage
from executor.sessions.model_proxy.prices import load_prices

MILLION = 1_000_000
MINE = '[anthropic]\n"claude-opus-*" = { input = 1, output = 2, context = 1000, max_output = 10 }\n'


def test_tokens_cost_what_the_table_says() -> None:
    price = load_prices().find("anthropic", "claude-opus-4-5-20251101")
    usage = Usage(MILLION, MILLION, MILLION, MILLION, MILLION, MILLION)
    assert price.cost(usage) == (5 + 0.5 + 6.25 + 10 + 25 + 25) * NANODOLLARS


def test_a_long_prompt_has_a_price_of_its_own() -> None:
    price = load_prices().find("gemini", "gemini-2.5-pro")
    assert price.cost(Usage(input=200_000)) == 200_000 * 1250
    assert price.cost(Usage(input=200_001, output=1)) == 200_001 * 2500 + 15_000


def test_an_unknown_model_costs_no_less_than_any_known_one() -> None:
    prices = load_prices()
    for provider in PROVIDERS:
        unknown = prices.find(provider, "some/new-model").rate
        for _, price in prices._tables[provider]:
            known = price.long_rate or price.rate
            assert (unknown.input, unknown.output) >= (known.input, known.output)


def test_what_is_reserved_covers_every_way_to_use_as_many_tokens() -> None:
    prices = load_prices()
    for provider in PROVIDERS:
        for _, price in prices._tables[provider]:
            for prompt in (10, 150_000, 250_000):
                most = price.highest_cost(prompt, 1000)
                used = min(prompt, price.context)
                for usage in (Usage(input=used), Usage(cache_write=used), Usage(cache_write_1h=used)):
                    assert price.cost(usage) + 1000 * price.rate_for(used).output <= most


def test_a_file_of_the_operator_comes_first(tmp_path: Path) -> None:
    path = tmp_path / "prices.toml"
    path.write_text(MINE)
    prices = load_prices(path)
    assert prices.find("anthropic", "claude-opus-4-7").cost(Usage(input=MILLION)) == NANODOLLARS
    assert prices.find("anthropic", "claude-opus-4-1").rate.input == 15_000, "a longer pattern of the table counts"


@pytest.mark.parametrize(
    "text",
    [
        "not toml",
        "[mistral]\n",
        '[openai]\n"x" = 3\n',
        '[openai]\n"x" = { input = 1 }\n',
        '[openai]\n"x" = { input = -1, output = 2, context = 1, max_output = 1 }\n',
        '[openai]\n"x" = { input = "1", output = 2, context = 1, max_output = 1 }\n',
        '[openai]\n"x" = { input = 1, output = 2, context = 1, max_output = 1, oops = 1 }\n',
    ],
)
def test_a_file_that_makes_no_sense_is_refused_with_its_name(tmp_path: Path, text: str) -> None:
    path = tmp_path / "prices.toml"
    path.write_text(text)
    with pytest.raises(InvalidRequest, match=r"prices\.toml"):
        load_prices(path)


def test_a_file_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match=r"none\.toml"):
        load_prices(tmp_path / "none.toml")

"""A locale or time zone that the sandbox has no data of is refused, with what to write instead."""

from __future__ import annotations

import pytest

from executor.runtime.typescript.runtime import TypeScriptRuntime
from tests.runtime.program_driver import failure_of, value_of

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.mark.parametrize(
    ("written", "what", "instead"),
    [
        ('new Date(0).toLocaleDateString("en-US", { timeZone: "Europe/Berlin" })', "Europe/Berlin", '"+02:00"'),
        ('new Intl.DateTimeFormat("en", { timeZone: "America/New_York" })', "America/New_York", '"+02:00"'),
        ('new Date(0).toLocaleTimeString([], { timeZone: "Asia/Tokyo" })', "Asia/Tokyo", '"+02:00"'),
        ('new Date(0).toLocaleDateString("en-CA")', "en-CA", "toISOString().slice(0, 10)"),
        ('new Date(0).toLocaleString("sv-SE")', "sv-SE", "toISOString().slice(0, 10)"),
        ('new Date(0).toLocaleDateString(["de-DE", "en"])', "de-DE", "toISOString().slice(0, 10)"),
        ('new Date(0).toLocaleDateString("en-GB")', "en-GB", "toISOString().slice(0, 10)"),
        ('new Date(0).toLocaleString("en", { era: "short" })', "era", "toISOString()"),
        ('new Date(0).toLocaleString("en", { calendar: "buddhist" })', "calendar", "gregory"),
        ('new Intl.DateTimeFormat("en").formatRange(0, 1)', "formatRange", "format both"),
        ('(1234.5).toLocaleString("de-DE")', "de-DE", "toFixed(2)"),
        ('new Intl.NumberFormat("en-IN")', "en-IN", "toFixed(2)"),
        ('(5).toLocaleString("en", { style: "unit", unit: "byte" })', "unit", "toFixed(2)"),
        ('(5).toLocaleString("en", { signDisplay: "always" })', "signDisplay", "toFixed(2)"),
        ('"a".localeCompare("b", "sv")', "sv", "leave the locale out"),
        ('new Intl.PluralRules("pl")', "pl", "English"),
        ('new Intl.RelativeTimeFormat("fr").format(-1, "day")', "fr", "days ago"),
        ('new Intl.ListFormat("es").format(["a"])', "es", "join"),
        ('new Intl.Segmenter("en")', "Intl.Segmenter", "[...text]"),
        ('new Intl.DisplayNames("en", { type: "region" })', "Intl.DisplayNames", "object"),
        ('"i".toLocaleUpperCase("tr")', "tr", "toUpperCase()"),
    ],
)
async def test_what_would_be_wrong_is_refused_with_what_to_write(
    runtime: TypeScriptRuntime, written: str, what: str, instead: str
) -> None:
    failure = await failure_of(runtime, f"return {written}")
    assert failure.code == "code_error"
    assert what in failure.message
    assert "not available in the sandbox" in failure.message
    assert instead in failure.hint


async def test_code_that_catches_a_refusal_sees_the_hint(runtime: TypeScriptRuntime) -> None:
    code = 'try { (5).toLocaleString("de") } catch (error) { return [error.name, error.hint.includes("toFixed")] }'
    assert await value_of(runtime, code) == ["RangeError", True]

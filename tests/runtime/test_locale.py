"""`Intl` and `toLocale…`: what every browser gives for US English in UTC. The same values are tested against Deno's."""

from __future__ import annotations

import pytest

from executor.runtime.typescript.runtime import TypeScriptRuntime
from tests.runtime.program_driver import value_of

pytestmark = pytest.mark.asyncio(loop_scope="session")

DATE = 'new Date("2026-01-02T15:04:05Z")'
USD = 'style: "currency", currency: "USD"'


WRITTEN: tuple[tuple[str, object], ...] = (
    ("(1234567.891).toLocaleString()", "1,234,567.891"),
    ("(0).toLocaleString()", "0"),
    ('(1.005).toLocaleString("en-US", { maximumFractionDigits: 2 })', "1.01"),
    ('(5).toLocaleString("en", { minimumFractionDigits: 2 })', "5.00"),
    ('(0.256).toLocaleString(undefined, { style: "percent" })', "26%"),
    ("(12345678901234567890n).toLocaleString()", "12,345,678,901,234,567,890"),
    (f'new Intl.NumberFormat("en-US", {{ {USD} }}).format(-1234.5)', "-$1,234.50"),
    (f'Intl.NumberFormat("en-US", {{ {USD}, maximumFractionDigits: 0 }}).format(1234.5)', "$1,235"),
    ('(99).toLocaleString("en-US", { style: "currency", currency: "JPY" })', "¥99"),
    ('(99).toLocaleString("en-US", { style: "currency", currency: "CHF" })', "CHF\u00a099.00"),
    (
        '[999, 1234, 15600, 1e6].map(new Intl.NumberFormat("en", { notation: "compact" }).format).join()',
        "999,1.2K,16K,1M",
    ),
    ('(0.00012345).toLocaleString("en", { maximumSignificantDigits: 2 })', "0.00012"),
    ('(7).toLocaleString("en", { minimumIntegerDigits: 2 })', "07"),
    ('(12345.6).toLocaleString("en", { useGrouping: false })', "12345.6"),
    ("[1234.5, null, 2].toLocaleString()", "1,234.5,,2"),
    (f"{DATE}.toLocaleString()", "1/2/2026, 3:04:05 PM"),
    (f"{DATE}.toLocaleDateString()", "1/2/2026"),
    (f"{DATE}.toLocaleTimeString()", "3:04:05 PM"),
    (f'{DATE}.toLocaleDateString("en-US", {{ weekday: "long", timeZone: "UTC" }})', "Friday"),
    (
        f'{DATE}.toLocaleDateString("en", {{ weekday: "long", year: "numeric", month: "long", day: "numeric" }})',
        "Friday, January 2, 2026",
    ),
    (f'{DATE}.toLocaleDateString("en-US", {{ month: "short", day: "numeric" }})', "Jan 2"),
    (
        f'{DATE}.toLocaleDateString("en-US", {{ year: "numeric", month: "2-digit", day: "2-digit" }})',
        "01/02/2026",
    ),
    (f'{DATE}.toLocaleTimeString("en-US", {{ hour: "2-digit", minute: "2-digit" }})', "03:04 PM"),
    (f'{DATE}.toLocaleTimeString("en-US", {{ hour: "2-digit", minute: "2-digit", hour12: false }})', "15:04"),
    (f'{DATE}.toLocaleString("en-US", {{ dateStyle: "medium", timeStyle: "short" }})', "Jan 2, 2026, 3:04 PM"),
    (
        f'{DATE}.toLocaleString("en-US", {{ dateStyle: "full", timeStyle: "short" }})',
        "Friday, January 2, 2026 at 3:04 PM",
    ),
    (f'{DATE}.toLocaleString("en-US", {{ timeZone: "+09:30" }})', "1/3/2026, 12:34:05 AM"),
    (f'{DATE}.toLocaleString("en-US", {{ timeZone: "UTC", timeZoneName: "short" }})', "1/2/2026, 3:04:05 PM UTC"),
    (
        f'new Intl.DateTimeFormat("en", {{ month: "long", day: "numeric" }}).formatToParts({DATE})'
        ".map((part) => part.type).join()",
        "month,literal,day",
    ),
    ("Intl.DateTimeFormat().resolvedOptions().timeZone", "UTC"),
    ("new Date(NaN).toLocaleDateString()", "Invalid Date"),
    ('["b", "a", "B", "é", "e", "A", "10", "9"].sort((a, b) => a.localeCompare(b)).join("")', "109aAbBeé"),
    ('["f10", "f9"].sort((a, b) => a.localeCompare(b, undefined, { numeric: true })).join()', "f9,f10"),
    ('"a".localeCompare("Á", "en", { sensitivity: "base" }) === 0', True),
    ('["z", "ä"].sort(new Intl.Collator("de").compare).join()', "ä,z"),
    ('new Intl.RelativeTimeFormat("en", { numeric: "auto" }).format(-1, "day")', "yesterday"),
    ('new Intl.RelativeTimeFormat("en").format(3, "hours")', "in 3 hours"),
    ('new Intl.PluralRules("en-US", { type: "ordinal" }).select(22)', "two"),
    ('new Intl.ListFormat("en", { type: "conjunction" }).format(["a", "b", "c"])', "a, b, and c"),
    ('"straße".toLocaleUpperCase()', "STRASSE"),
)


async def test_us_english_is_written_as_browsers_write_it(runtime: TypeScriptRuntime) -> None:
    """In one program: each takes a process of its own where this is run against Deno."""
    written = await value_of(runtime, f"return [{', '.join(code for code, _ in WRITTEN)}]")
    assert dict(zip((code for code, _ in WRITTEN), written, strict=True)) == dict(WRITTEN)

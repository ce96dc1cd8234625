"""What code is told about tools is told in its own language; which one that is, the code may show by itself."""

from __future__ import annotations

import pytest

from tests.execution.conftest import ExecutorHarness, value

HINTS = {
    "typescript": """\
const hints = [];
for (const call of [() => tools.ledger.slow.wait({ms: "soon"}), () => tools.discover({query: 1})]) {
  try { await call(); } catch (error) { hints.push(error.hint); }
}
return hints;""",
    "python": """\
hints = []
try:
    await tools.ledger.slow.wait(ms="soon")
except ToolError as error:
    hints.append(error.hint)
try:
    await tools.discover(query=1)
except ToolError as error:
    hints.append(error.hint)
hints""",
}
TOLD = {
    "typescript": """\
const found = await tools.discover({query: "ledger wait"});
return [found.items[0].signature, (await tools.describe.tool({path: "ledger.slow.wait"})).signature];""",
    "python": """\
found = await tools.discover(query="ledger wait")
[found["items"][0]["signature"], (await tools.describe.tool(path="ledger.slow.wait"))["signature"]]""",
}
WRITTEN = {"typescript": "tools.", "python": "async def "}


@pytest.mark.parametrize("language", HINTS)
async def test_a_refused_call_shows_the_signature_in_the_language_of_the_code(
    harness: ExecutorHarness, language: str
) -> None:
    outcome = await harness.run(HINTS[language], language=language, typecheck="off")
    hints = value(outcome)
    assert len(hints) == 2
    assert all(WRITTEN[language] in hint for hint in hints)


@pytest.mark.parametrize("language", TOLD)
async def test_signatures_are_written_in_the_language_of_the_code(harness: ExecutorHarness, language: str) -> None:
    told = value(await harness.run(TOLD[language], language=language))
    assert all(WRITTEN[language] in signature for signature in told)
    other = "async def " if language == "typescript" else "Promise<"
    assert not any(other in signature for signature in told)


@pytest.mark.parametrize(
    ("code", "language"),
    [
        ("import json\njson.dumps([1])", "python"),
        ('found = await tools.discover(query="ledger wait", limit=1)\nlen(found["items"])', "python"),
        ("return [x * 2 for x in range(3)]", "python"),
        ("const list = [1, 2]; list.length", "typescript"),
        ("return 1 + 1", "typescript"),
    ],
)
async def test_code_without_a_language_runs_in_the_one_it_shows(
    harness: ExecutorHarness, code: str, language: str
) -> None:
    outcome = await harness.run(code)
    assert outcome.execution.failure is None
    assert (outcome.execution.language, outcome.execution.runtime) == (language, language)


@pytest.mark.parametrize(
    ("code", "language", "hint"),
    [
        ("def f():\n    return 1\nf()", "typescript", 'this looks like Python: send it with language "python"'),
        ('await tools.discover(query="x")', "typescript", 'this looks like Python: send it with language "python"'),
        ("rows = [1]\n[x && 1 for x in rows]", "typescript", 'if this is Python, send it with language "python"'),
        ("const a = 1; return a", "python", 'this looks like TypeScript: send it with language "typescript"'),
        ("return [1].map((x) => x)", "python", 'this looks like TypeScript: send it with language "typescript"'),
    ],
)
async def test_code_sent_as_another_language_gets_the_name_of_the_right_one(
    harness: ExecutorHarness, code: str, language: str, hint: str
) -> None:
    failure = (await harness.run(code, language=language)).execution.failure
    assert failure is not None
    assert failure.hint == hint

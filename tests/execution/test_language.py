"""What code is told about tools is told in its own language."""

from __future__ import annotations

import pytest

from tests.execution.conftest import House, value

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
async def test_a_refused_call_is_told_the_signature_in_the_language_of_the_code(house: House, language: str) -> None:
    outcome = await house.run(HINTS[language], language=language, typecheck="off")
    hints = value(outcome)
    assert len(hints) == 2
    assert all(WRITTEN[language] in hint for hint in hints)


@pytest.mark.parametrize("language", TOLD)
async def test_signatures_are_told_in_the_language_of_the_code(house: House, language: str) -> None:
    told = value(await house.run(TOLD[language], language=language))
    assert all(WRITTEN[language] in signature for signature in told)
    other = "async def " if language == "typescript" else "Promise<"
    assert not any(other in signature for signature in told)

from __future__ import annotations

from tests.execution.conftest import ExecutorHarness, value


async def test_code_reads_a_tool_in_its_language_with_a_call_that_works(harness: ExecutorHarness) -> None:
    outcome = await harness.run("""
        const path = "ledger.entries.listEntries";
        const [ts, py] = await Promise.all(["typescript", "python"].map((language) =>
            tools.describe.tool({path, language, budget: 600})));
        return [ts.example, py.signature, py.example];
    """)
    example, signature, python = value(outcome)
    assert "async def listEntries(" in signature and python.startswith("await tools.ledger.entries.listEntries(")
    assert (await harness.run(f"return {example}")).execution.status == "completed"


async def test_built_in_tools_are_described_too(harness: ExecutorHarness) -> None:
    outcome = await harness.run("""
        const about = await tools.describe.tool({path: "discover", includeSchemas: true});
        return [about.source, about.example, about.signature.includes("query?: string"), typeof about.inputSchema];
    """)
    assert value(outcome) == ["executor", "await tools.discover()", True, "object"]


async def test_a_wrong_wish_is_refused_with_the_signature(harness: ExecutorHarness) -> None:
    outcome = await harness.run("""
        try { await tools.describe.tool({path: "discover", language: ["cobol"][0]}) }
        catch (error) { return [error.code, error.hint] }
    """)
    code, hint = value(outcome)
    assert code == "invalid_arguments" and '"typescript" | "python"' in hint

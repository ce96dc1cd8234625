"""The OpenAI Agents SDK as a program would use it. Runs in its own environment."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from agents import Agent, OpenAIChatCompletionsModel, Runner, set_tracing_disabled
from agents.mcp import MCPServerStdio, MCPServerStreamableHttp
from openai import AsyncOpenAI


async def main(address: str, server: dict[str, Any], seconds: str, task: str) -> None:
    set_tracing_disabled(True)
    given: dict[str, Any] = {"client_session_timeout_seconds": float(seconds)} if seconds else {}
    kind = MCPServerStdio if "command" in server else MCPServerStreamableHttp
    client = AsyncOpenAI(base_url=f"{address}/v1", api_key="scripted")
    async with kind(params=server, **given) as executor:
        model = OpenAIChatCompletionsModel("scripted", client)
        agent = Agent(name="tester", instructions="Use the tools.", model=model, mcp_servers=[executor])
        result = await Runner.run(agent, task, max_turns=12)
        print(result.final_output)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], json.loads(sys.argv[2]), sys.argv[3], sys.argv[4]))

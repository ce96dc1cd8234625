"""One agent of each framework with a scripted model. Runs in the framework's own environment."""

from __future__ import annotations

import asyncio
import json
import sys
from importlib.metadata import version
from typing import Any

from executor import Executor, tool

CODE = "return await tools.shop.add({ a: 20, b: 22 })"


@tool(effect="read")
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def try_openai_agents(executor: Executor) -> str:
    from agents import function_tool
    from agents.tool_context import ToolContext

    execute = function_tool(executor.execute_function())
    arguments = json.dumps({"code": CODE})
    context = ToolContext(context=None, tool_name=execute.name, tool_call_id="1", tool_arguments=arguments)
    return str(asyncio.run(execute.on_invoke_tool(context, arguments)))


def try_langchain(executor: Executor) -> str:
    from langchain.agents import create_agent
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage
    from langchain_core.tools import tool as as_tool

    class Scripted(GenericFakeChatModel):
        def bind_tools(self, tools: Any, **options: Any) -> Any:
            return self

    call = {"name": "execute", "args": {"code": CODE}, "id": "1"}
    model = Scripted(messages=iter([AIMessage("", tool_calls=[call]), AIMessage("done")]))
    agent = create_agent(model, [as_tool(executor.execute_function())])
    messages = agent.invoke({"messages": [("user", "add")]})["messages"]
    return str(messages[-2].content)


def try_pydantic_ai(executor: Executor) -> str:
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel

    def answer(messages: Any, info: Any) -> Any:
        last = messages[-1].parts[-1]
        if last.part_kind == "tool-return":
            return ModelResponse([TextPart(last.content)])
        return ModelResponse([ToolCallPart("execute", {"code": CODE})])

    return str(Agent(FunctionModel(answer), tools=[executor.execute_function()]).run_sync("add").output)


TRIALS = {"openai-agents": try_openai_agents, "langchain": try_langchain, "pydantic-ai": try_pydantic_ai}

if __name__ == "__main__":
    name = sys.argv[1]
    with Executor.embedded() as embedded:
        embedded.sources.add_functions("shop", add)
        got = TRIALS[name](embedded)
    print(f"{version('pydantic-ai-slim' if name == 'pydantic-ai' else name)} got {got}")
    sys.exit(got != "42")

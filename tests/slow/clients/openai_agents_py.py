"""openai-agents: `plan` in two dialects, whole and streamed."""

import asyncio
import os

import tools
from agents import (
    Agent,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    Runner,
    function_tool,
    set_tracing_disabled,
)
from openai import AsyncOpenAI

set_tracing_disabled(True)
KIND = {"chat": OpenAIChatCompletionsModel, "responses": OpenAIResponsesModel}


async def main() -> None:
    agent = Agent(
        name="reader",
        instructions="Be brief.",
        model=KIND[os.environ["DIALECT"]](model="gpt-4.1", openai_client=AsyncOpenAI()),
        tools=[function_tool(tools.list_files), function_tool(tools.read_file)],
    )
    whole = await Runner.run(agent, tools.TASK)
    print(whole.final_output)
    streamed = Runner.run_streamed(agent, tools.TASK)
    async for _ in streamed.stream_events():
        pass
    print(streamed.final_output)


asyncio.run(main())

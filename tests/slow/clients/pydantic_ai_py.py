"""pydantic-ai: `plan` in three dialects, whole and streamed."""

import asyncio
import os

import tools
from pydantic_ai import Agent
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel

MODELS = {
    "chat": lambda: OpenAIChatModel("gpt-4.1"),
    "responses": lambda: OpenAIResponsesModel("gpt-4.1"),
    "messages": lambda: AnthropicModel("claude-sonnet-4-5"),
}

agent = Agent(
    MODELS[os.environ["DIALECT"]](),
    tools=[tools.list_files, tools.read_file],
    system_prompt="Be brief.",
)
print(agent.run_sync(tools.TASK).output)


async def streamed() -> str:
    async with agent.run_stream(tools.TASK) as result:
        return await result.get_output()


print(asyncio.run(streamed()))

"""An agent of openai-agents: its own cap on turns, and a client that retries as told."""

import asyncio
import json

from agents import (
    Agent,
    FunctionTool,
    MaxTurnsExceeded,
    OpenAIChatCompletionsModel,
    RunConfig,
    Runner,
)
from openai import AsyncOpenAI


def run(task, tools, base_url, *, turns, http_client=None):
    """The answer, None at the cap. `tools` are (schema, function) by name."""
    client = AsyncOpenAI(base_url=base_url, api_key="any", http_client=http_client)
    agent = Agent(
        name="notes",
        model=OpenAIChatCompletionsModel(model="any", openai_client=client),
        tools=[_tool(schema, function) for schema, function in tools.values()],
    )
    quiet = RunConfig(tracing_disabled=True)
    try:
        return asyncio.run(Runner.run(agent, task, max_turns=turns, run_config=quiet)).final_output
    except MaxTurnsExceeded:
        return None


def _tool(schema, function):
    async def invoke(context, arguments):
        return function(**json.loads(arguments))

    return FunctionTool(
        name=schema["name"],
        description=schema.get("description", ""),
        params_json_schema=schema["parameters"],
        on_invoke_tool=invoke,
        strict_json_schema=False,
    )

"""An agent of pydantic-ai: a limit on its requests and one on its tokens."""

from openai import AsyncOpenAI
from pydantic_ai import Agent, Tool, UsageLimitExceeded, UsageLimits
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider


def run(task, tools, base_url, *, turns, tokens=None, http_client=None):
    """The answer, None at a limit. `tools` are (schema, function) by name."""
    client = AsyncOpenAI(base_url=base_url, api_key="any", http_client=http_client)
    agent = Agent(
        OpenAIChatModel("any", provider=OpenAIProvider(openai_client=client)),
        tools=[_tool(schema, function) for schema, function in tools.values()],
    )
    limits = UsageLimits(request_limit=turns, total_tokens_limit=tokens)
    try:
        return agent.run_sync(task, usage_limits=limits).output
    except UsageLimitExceeded:
        return None


def _tool(schema, function):
    return Tool.from_schema(
        function, schema["name"], schema.get("description", ""), dict(schema["parameters"])
    )

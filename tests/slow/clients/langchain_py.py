"""LangChain: `plan` in three dialects, whole and streamed."""

import os

import tools
from langchain.agents import create_agent
from langchain_anthropic import ChatAnthropic
from langchain_openai import ChatOpenAI

MODELS = {
    "chat": lambda **rest: ChatOpenAI(model="gpt-4.1", use_responses_api=False, **rest),
    "responses": lambda **rest: ChatOpenAI(model="gpt-4.1", use_responses_api=True, **rest),
    "messages": lambda **rest: ChatAnthropic(model="claude-sonnet-4-5", max_tokens=1000, **rest),
}
ASKED = {"messages": [{"role": "user", "content": tools.TASK}]}


def text(message: object) -> str:
    content = message.content
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content if isinstance(part, dict))


for streaming in (False, True):
    model = MODELS[os.environ["DIALECT"]](streaming=streaming)
    agent = create_agent(model, [tools.list_files, tools.read_file], system_prompt="Be brief.")
    print(text(agent.invoke(ASKED)["messages"][-1]))

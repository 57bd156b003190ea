"""smolagents: its last turn must call final_answer, which the preset sees to."""

import os

import tools
from smolagents import OpenAIModel, ToolCallingAgent, tool


@tool
def list_files() -> str:
    """List the files in the working directory."""
    return tools.list_files()


@tool
def read_file(path: str) -> str:
    """Read one file and return its contents.

    Args:
        path: The file's name.
    """
    return tools.read_file(path)


model = OpenAIModel(model_id="gpt-4.1", api_base=os.environ["OPENAI_BASE_URL"], api_key="any")
agent = ToolCallingAgent(tools=[list_files, read_file], model=model, max_steps=6)
print(agent.run(tools.TASK))

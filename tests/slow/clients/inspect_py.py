"""inspect-ai: it probes first, and its react agent ends by calling submit."""

import os

import tools
from inspect_ai import Task, eval
from inspect_ai.agent import react
from inspect_ai.dataset import Sample
from inspect_ai.tool import Tool, tool


@tool
def list_files() -> Tool:
    async def execute() -> str:
        """List the files in the working directory."""
        return tools.list_files()

    return execute


@tool
def read_file() -> Tool:
    async def execute(path: str) -> str:
        """Read one file and return its contents.

        Args:
            path: The file's name.
        """
        return tools.read_file(path)

    return execute


task = Task(dataset=[Sample(input=tools.TASK)], solver=react(tools=[list_files(), read_file()]))
(log,) = eval(
    task,
    model="openai/gpt-4.1",
    model_args={"responses_api": os.environ["DIALECT"] == "responses"},
    display="none",
    log_dir=os.environ["HOME"],
)
print(log.status, log.samples[0].output.completion)

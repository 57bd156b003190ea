"""The task, and the two tools that `plan` asks for, over the files of the working directory."""

import json
from pathlib import Path

TASK = "Which file mentions a timeout?"

SCHEMAS = [
    {
        "name": "list_files",
        "description": "List the files in the working directory.",
        "parameters": {"type": "object", "properties": {}},
    },
    {
        "name": "read_file",
        "description": "Read one file and return its contents.",
        "parameters": {
            "type": "object",
            "properties": {"path": {"type": "string"}},
            "required": ["path"],
        },
    },
]


def list_files() -> str:
    """List the files in the working directory."""
    return json.dumps(sorted(path.name for path in Path().iterdir() if path.is_file()))


def read_file(path: str) -> str:
    """Read one file and return its contents."""
    return Path(path).read_text()


def run(name: str, arguments: str | dict) -> str:
    """The result of a call."""
    given = json.loads(arguments) if isinstance(arguments, str) else arguments
    return {"list_files": list_files, "read_file": read_file}[name](**given)

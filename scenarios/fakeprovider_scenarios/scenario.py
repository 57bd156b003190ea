"""What a scenario is: a task, tools over a throw-away workspace, and the script that answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from fakeprovider_harness import Tool
from fakeprovider_scenarios.workspace import FILES, Workspace, file_tools

SYSTEM = (
    "You answer questions about the files in one directory. Use the tools; do not guess file names."
)
TASK = "Which file mentions a timeout?"


@dataclass(frozen=True)
class Scenario:
    """One behaviour to drive a harness through.

    `script` names what the provider plays, `about` says in a line what it shows, `ends` whether
    the script ends by itself (if not, a run needs a limit), `expect` what a sound harness makes
    of it, in words.
    """

    name: str
    script: str
    about: str
    expect: str
    ends: bool = True
    task: str = TASK
    system: str = SYSTEM
    files: Mapping[str, str] = field(default_factory=lambda: FILES)
    tools: Callable[[Workspace], list[Tool]] = file_tools

    def workspace(self) -> Workspace:
        """A fresh workspace with this scenario's files; use it as a context manager."""
        return Workspace(files=self.files)

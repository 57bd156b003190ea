"""What a scenario is (a task, tools over a throw-away workspace, a script), and all there are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from fakeprovider.registry import Registry
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
    of it, in words, `shown_by` the bench command that runs it, if it has another name.
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
    shown_by: str = ""

    @property
    def command(self) -> str:
        """The bench command that runs it."""
        return self.shown_by or self.name

    def workspace(self) -> Workspace:
        """A fresh workspace with this scenario's files; use it as a context manager."""
        return Workspace(files=self.files)


SCENARIOS: Registry[Scenario] = Registry(
    "scenario",
    (
        "fakeprovider_scenarios.basics",
        "fakeprovider_scenarios.projects",
        "fakeprovider_scenarios.trouble",
    ),
)
"""All scenarios by name."""


def register(scenario: Scenario) -> Scenario:
    """Add a scenario to `SCENARIOS`; raises `ValueError` for a name that is taken."""
    return SCENARIOS.add(scenario.name, scenario)


def scenario(
    name: str,
    about: str,
    expect: str,
    *,
    script: str = "",
    shown_by: str = "",
    ends: bool = True,
    task: str = TASK,
    system: str = SYSTEM,
    files: Mapping[str, str] = FILES,
    tools: Callable[[Workspace], list[Tool]] = file_tools,
) -> Scenario:
    """Register a scenario; its script has the same name unless `script` is another."""
    made = Scenario(name, script or name, about, expect, ends, task, system, files, tools, shown_by)
    return register(made)


def variant(base: Scenario, name: str, about: str, expect: str, *, ends: bool = True) -> Scenario:
    """Register a scenario with the task and tools of another one."""
    return register(replace(base, name=name, script=name, about=about, expect=expect, ends=ends))


def find(name: str) -> Scenario:
    """The scenario called `name`; raises `KeyError` naming what there is."""
    if name not in SCENARIOS:
        raise KeyError(f"no scenario {name!r}; there are {', '.join(SCENARIOS)}")
    return SCENARIOS[name]

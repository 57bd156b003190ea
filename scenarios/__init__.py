"""Named behaviours to drive an agent loop through: a task, tools, a script, what must come out."""

from scenarios.catalogue import SCENARIOS, find
from scenarios.scenario import Scenario
from scenarios.tools import file_tools
from scenarios.workspace import Workspace

__all__ = ["SCENARIOS", "Scenario", "Workspace", "file_tools", "find"]

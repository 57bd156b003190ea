"""Named behaviours to drive an agent loop through: a task, tools, a script, what must come out."""

from fakeprovider_scenarios.scenario import SCENARIOS, Scenario, find
from fakeprovider_scenarios.workspace import Workspace, file_tools

__all__ = ["SCENARIOS", "Scenario", "Workspace", "file_tools", "find"]

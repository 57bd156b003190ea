"""The loops around the loop: ralph, loop and goal, each with a stop rule of its own."""

from harness.outer.caps import Caps
from harness.outer.goal import Goal, goal, vague
from harness.outer.loop import loop
from harness.outer.plan import PlanFile
from harness.outer.prompts import loop_prompt
from harness.outer.ralph import Ralph, ralph
from harness.outer.report import Iteration, OuterKind, OuterReport, OuterStop
from harness.outer.schedule import Schedule, Task, TooManyTasks, parse_interval
from harness.outer.setup import Setup

__all__ = [
    "Caps",
    "Goal",
    "Iteration",
    "OuterKind",
    "OuterReport",
    "OuterStop",
    "PlanFile",
    "Ralph",
    "Schedule",
    "Setup",
    "Task",
    "TooManyTasks",
    "goal",
    "loop",
    "loop_prompt",
    "parse_interval",
    "ralph",
    "vague",
]

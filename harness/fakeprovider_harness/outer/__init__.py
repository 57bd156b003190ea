"""The loops around the loop: ralph, loop and goal, each with a stop rule of its own."""

from fakeprovider_harness.outer.caps import Caps
from fakeprovider_harness.outer.goal import Goal, goal, vague
from fakeprovider_harness.outer.interval_loop import (
    Schedule,
    Task,
    TooManyTasks,
    loop,
    parse_interval,
)
from fakeprovider_harness.outer.plan_file import PlanFile
from fakeprovider_harness.outer.ralph import Ralph, ralph
from fakeprovider_harness.outer.report import Iteration, OuterKind, OuterReport, OuterStop
from fakeprovider_harness.outer.setup import Setup, loop_prompt

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

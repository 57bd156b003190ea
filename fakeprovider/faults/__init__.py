"""Faults by name: what a provider can be told to get wrong, and how it is applied."""

from fakeprovider.faults.chaos import Chaos
from fakeprovider.faults.kind import Answer, BadFault, Kind, Param
from fakeprovider.faults.registry import FAULTS, Plan, Turns, find, plan
from fakeprovider.faults.selection import NONE, Choice, Faults, Moment, Orders, orders
from fakeprovider.faults.unstruck import unstruck

__all__ = [
    "FAULTS",
    "NONE",
    "Answer",
    "BadFault",
    "Chaos",
    "Choice",
    "Faults",
    "Kind",
    "Moment",
    "Orders",
    "Param",
    "Plan",
    "Turns",
    "find",
    "orders",
    "plan",
    "unstruck",
]

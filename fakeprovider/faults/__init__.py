"""Faults by name: what a provider can be told to get wrong, and how it is applied."""

from fakeprovider.faults.kind import Answer, BadFault, Kind, Param
from fakeprovider.faults.registry import FAULTS, find
from fakeprovider.faults.selection import (
    NONE,
    Chaos,
    Choice,
    Faults,
    Moment,
    Orders,
    Plan,
    Turns,
    orders,
    plan,
    unstruck,
)

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

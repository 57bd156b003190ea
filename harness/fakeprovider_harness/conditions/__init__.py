"""Stop conditions, each a pure function of the state.

The modules below hold the conditions, and each exports what it registers.
"""

# ruff: noqa: F403

from typing import TYPE_CHECKING

from fakeprovider_harness.conditions.budgets import *
from fakeprovider_harness.conditions.limits import *
from fakeprovider_harness.conditions.predicate import *
from fakeprovider_harness.conditions.progress import *
from fakeprovider_harness.conditions.registry import STOP_CONDITIONS
from fakeprovider_harness.conditions.registry import parse_stop as parse_stop
from fakeprovider_harness.conditions.repeats import *
from fakeprovider_harness.conditions.streaks import *

if not TYPE_CHECKING:  # type checkers take what the modules export, which is the same
    __all__ = sorted([*STOP_CONDITIONS, "parse_stop"])  # noqa: PLE0605

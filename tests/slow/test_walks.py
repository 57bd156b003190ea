"""The random walks of the state machine, eight times as many."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

MACHINE = Path(__file__).parents[1] / "harness" / "loop" / "test_machine.py"


@pytest.mark.parametrize("first", range(1_000, 2_200, 100))
def test_no_walk_breaks_an_invariant(first: int) -> None:
    walk = runpy.run_path(str(MACHINE))["walk"]
    for seed in range(first, first + 100):
        walk(seed)

"""The growth line is fitted from what was sent, and recovers a known curve."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from fakeprovider_bench.growth import fit
from fakeprovider_bench.output.tables import sparkline


@given(st.integers(1, 10_000), st.integers(0, 500), st.integers(8, 200))
def test_a_straight_line_of_prompts_is_recovered_exactly(base: int, step: int, turns: int) -> None:
    prompts = [base + step * turn for turn in range(1, turns + 1)]
    growth = fit(prompts)
    assert growth is not None
    assert math.isclose(growth.total(turns), sum(prompts), rel_tol=1e-9)
    assert math.isclose(growth.b, step / 2, abs_tol=1e-6)
    assert growth.residual < 1e-6
    assert 1 - 1e-9 <= growth.exponent <= 2.2


def test_a_flat_prompt_has_exponent_one() -> None:
    growth = fit([100] * 40)
    assert growth is not None
    assert math.isclose(growth.exponent, 1)


def test_noise_shows_in_the_residual() -> None:
    growth = fit([100 + (50 if turn % 2 else -50) for turn in range(40)])
    assert growth is not None
    assert 45 < growth.residual < 55


def test_seven_turns_are_too_few() -> None:
    assert fit([1] * 7) is None


@given(st.lists(st.integers(0, 10**6), max_size=300))
def test_a_sparkline_is_never_wider_than_asked_and_rises_with_its_values(values: list[int]) -> None:
    line = sparkline(values, 20)
    assert len(line) == min(len(values), 20)
    assert sparkline(sorted(values), 20) == "".join(sorted(sparkline(sorted(values), 20)))

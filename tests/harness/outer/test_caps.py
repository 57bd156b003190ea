"""Hard caps: 0 is refused, unlimited must be said, and what is left is what a run gets."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from fakeprovider_harness.outer import Caps, OuterKind
from fakeprovider_harness.outer.report import Spent


@pytest.mark.parametrize(
    "given", [{"iterations": 0}, {"cost": "0"}, {"tokens": 0}, {"seconds": 0}, {"iterations": -1}]
)
def test_a_cap_of_nothing_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="a cap is above 0"):
        Caps(**given)


def test_no_cap_at_all_must_be_said() -> None:
    with pytest.raises(ValueError, match="unlimited=True"):
        Caps()
    assert Caps(unlimited=True).room(Spent()) is None
    assert Caps(unlimited=True).reached(Spent(10**6)) is None


def test_a_float_is_no_amount_of_money() -> None:
    with pytest.raises(TypeError, match=r"cost is an amount in USD: write it as text, '0\.1'"):
        Caps(cost=0.1)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "spent", "kind"),
    [
        ({"iterations": 3}, Spent(3), OuterKind.MAX_ITERATIONS),
        ({"cost": "0.5"}, Spent(cost_usd=Decimal("0.5")), OuterKind.MAX_COST),
        ({"tokens": 100}, Spent(tokens=120), OuterKind.MAX_TOKENS),
        ({"seconds": 60}, Spent(seconds=60), OuterKind.MAX_SECONDS),
    ],
)
def test_each_cap_is_reached_by_its_own_number(
    given: dict[str, Any], spent: Spent, kind: OuterKind
) -> None:
    stop = Caps(**given).reached(spent)
    assert stop is not None
    assert stop.kind is kind
    assert Caps(**given).reached(Spent()) is None


def test_a_run_may_use_what_is_left_and_what_it_has_used_already() -> None:
    caps = Caps(cost="1.00", tokens=1000, seconds=60)
    spent = Spent(1, Decimal("0.40"), 300, 20.5)
    assert repr(caps.room(spent)) == (
        "MaxCost('0.60', reserve=True) | MaxTokens(700) | ActiveTime(39.5)"
    )
    own = Spent(0, Decimal("0.10"), 100, 5.0)
    assert repr(caps.room(spent, own)) == (
        "MaxCost('0.70', reserve=True) | MaxTokens(800) | ActiveTime(44.5)"
    )

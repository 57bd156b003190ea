"""What a run refuses when it is asked for, before any agent is called."""

from __future__ import annotations

from typing import Any

import pytest

from fakeprovider import Fault
from fakeprovider.faults import BadFault
from fakeprovider.kit import FakeProvider


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ("rate_limted", "rate_limted"),
        ("rate_limited,turns=1", "no parameter 'turns'"),
        ("rate_limited,turn", "not of the form name=value"),
        ("rate_limited,turn=x", "turn='x'"),
        (["rate_limited,turn=1", "nonsense"], "nonsense"),
        (Fault("nonsense"), "nonsense"),
        (Fault("rate_limited", {"colour": 1}), "no parameter 'colour'"),
    ],
    ids=["name", "parameter", "form", "value", "second", "object", "object-parameter"],
)
def test_a_bad_fault_is_refused_at_the_call(fault: Any, told: str) -> None:
    with FakeProvider() as provider, pytest.raises(BadFault, match=told):
        provider.run("runaway", fault=fault)


def test_chaos_that_is_no_share_is_refused_at_the_call() -> None:
    with FakeProvider() as provider, pytest.raises(BadFault, match="chaos"):
        provider.run("runaway", chaos=2.0)


def test_what_is_no_fault_and_no_reply_is_named_with_its_type() -> None:
    wrong: Any = [5]
    with FakeProvider() as provider:
        with pytest.raises(TypeError, match="5 is no fault"):
            provider.run("runaway", fault=wrong)
        with pytest.raises(TypeError, match=r"not 5 \(int\)"):
            provider.run(wrong)

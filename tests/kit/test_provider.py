"""What a run refuses when it is asked for, before any agent is called."""

from __future__ import annotations

from typing import Any

import pytest

from fakeprovider import Fault
from fakeprovider.errors import counted
from fakeprovider.faults import BadFault
from fakeprovider.journal import Exchange, Usage
from fakeprovider.testing import FakeProvider
from fakeprovider.verdict import ClauseResult, Facts


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ("rate_limted", "rate_limted"),
        ("rate_limited,turns=1", "no parameter 'turns'"),
        ("rate_limited,turn", "not of the form name=value"),
        ("rate_limited,turn=x", "turn='x'"),
        ("rate_limited,turn=5-2", "turn='5-2': the range ends before it begins"),
        (["rate_limited,turn=1", "nonsense"], "nonsense"),
        (Fault("nonsense"), "nonsense"),
        (Fault("rate_limited", {"colour": 1}), "no parameter 'colour'"),
    ],
    ids=["name", "parameter", "form", "value", "range", "second", "object", "object-parameter"],
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


def test_an_exchange_and_a_clause_print_as_a_line_and_keep_their_fields() -> None:
    usage = Usage(prompt_tokens=269, completion_tokens=29)
    exchange = Exchange(number=3, turn=2, tools=("list_files",), usage=usage, digest="abc")
    assert repr(exchange) == "<Exchange #3 turn 2 200 list_files 269→29 tokens>"
    assert repr(Exchange(number=1, status=429, fault="quota")) == "<Exchange #1 429 quota>"
    assert (exchange.digest, exchange.usage) == ("abc", usage)
    found = ClauseResult("cap", "fail", "2 calls under a cap of 1", (2,), "why", "link")
    assert repr(found) == "<cap: fail, 2 calls under a cap of 1>"
    assert found.rationale == "why"


def test_a_limit_below_zero_is_refused() -> None:
    with FakeProvider() as provider, pytest.raises(ValueError, match="max_requests=-1: must be 0"):
        provider.run("plan", max_requests=-1)
    with pytest.raises(ValueError, match="cap=-1: must be 0 or more"):
        Facts(cap=-1)


@pytest.mark.parametrize(("number", "told"), [(0, "0 turns"), (1, "1 turn"), (2, "2 turns")])
def test_a_number_agrees_with_its_noun(number: int, told: str) -> None:
    assert counted(number, "turn") == told

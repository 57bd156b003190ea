"""Switches of a run that cannot be meant are refused where they are written, in plain words."""

from __future__ import annotations

from typing import Any

import pytest

from fakeprovider_harness import RetryBudget, RetryPolicy, Settings


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        (
            {"dedupe": "bogus"},
            ValueError,
            "dedupe is one of 'off', 'read_only', 'all'; not 'bogus'",
        ),
        ({"errors": "bogus"}, ValueError, "'instructive', or a function from the exception to its"),
        ({"errors": None}, ValueError, "errors is one of 'fatal', 'opaque', 'instructive'"),
        ({"permanent": "STOP"}, ValueError, "permanent is one of 'as_error', 'tell', 'stop'"),
        ({"unknown": True}, ValueError, "unknown is one of 'ask', 'tell'; not True"),
        ({"usage": ["require"]}, ValueError, "usage is one of 'estimate', 'require'"),
        ({"max_output": 0}, ValueError, "max_output is a whole number, 1 or more, or None"),
        ({"max_output": "100"}, TypeError, "max_output is a whole number"),
        ({"assumed_output": None}, TypeError, "assumed_output is a whole number, 0 or more; not"),
        ({"max_result": -1}, ValueError, "max_result is a whole number, 0 or more, or None"),
        ({"tool_timeout": -0.1}, ValueError, "tool_timeout is a finite number, 0 or more, or None"),
        ({"grace": None}, TypeError, "grace is a finite number, 0 or more; not None"),
        ({"grace": float("nan")}, ValueError, "grace is a finite number"),
        ({"parallel": 0}, ValueError, "parallel is a whole number, 1 or more; not 0"),
        ({"approval_expiry": "1h"}, TypeError, "approval_expiry is a finite number"),
        ({"retry": 3}, TypeError, "retry is a RetryPolicy(), or None; not 3"),
        ({"retries": 1.5}, TypeError, "retries is a whole number"),
        ({"max_depth": None}, TypeError, "max_depth is a whole number, 0 or more; not None"),
        ({"max_agents": True}, TypeError, "max_agents is a whole number, 0 or more, or None"),
        ({"empty_replies": -1}, ValueError, "empty_replies is a whole number"),
        ({"truncated_replies": -1}, ValueError, "truncated_replies is a whole number"),
        ({"verifications": "3"}, TypeError, "verifications is a whole number"),
        ({"verifier_retries": -1}, ValueError, "verifier_retries is a whole number, 0 or more;"),
        ({"verifier_timeout": -1}, ValueError, "verifier_timeout is a finite number"),
    ],
    ids=str,
)
def test_a_setting_that_cannot_be_meant_is_refused_with_what_is_allowed(
    given: dict[str, Any], error: type[Exception], said: str
) -> None:
    with pytest.raises(error) as refused:
        Settings(**given)
    assert str(refused.value).startswith(f"Settings: {next(iter(given))} is ")
    assert said in str(refused.value)


def test_settings_that_can_be_meant_are_taken() -> None:
    """0 is a limit, None is no limit, and a function may word the errors."""
    Settings(errors=str, max_result=0, retries=0, max_depth=0, grace=0, assumed_output=0)
    Settings(max_result=None, retries=None, max_agents=None, empty_replies=None, retry=None)
    Settings(retry=RetryPolicy(attempts=None, charged=0, base=0), tool_timeout=0)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"attempts": 0}, "RetryPolicy: attempts is a whole number, 1 or more, or None"),
        ({"charged": -1}, "RetryPolicy: charged is a whole number, 0 or more;"),
        ({"base": -1.0}, "RetryPolicy: base is a finite number, 0 or more;"),
        ({"max_wait": float("inf")}, "RetryPolicy: max_wait is a finite number"),
    ],
    ids=str,
)
def test_a_retry_policy_that_cannot_be_meant_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match="RetryPolicy") as refused:
        RetryPolicy(**given)
    assert said in str(refused.value)
    with pytest.raises(ValueError, match="RetryBudget: retries is a whole number, 0 or more"):
        RetryBudget(-1)

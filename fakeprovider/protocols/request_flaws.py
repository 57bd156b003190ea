"""What is wrong with a request beside its messages: rules of the strict table without an index."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from fakeprovider.conversation import NOWHERE, Violation

_MARK = b'"cache_control"'
_MOST_MARKS = 4
_LEAST_BUDGET = 1024  # tokens

_ANY: msgspec.json.Decoder[Any] = msgspec.json.Decoder()


def names_twice(names: Sequence[str]) -> tuple[Violation, ...]:
    """For the first name that two of the tools offered have."""
    if len(set(names)) == len(names):
        return ()
    twice = next(name for at, name in enumerate(names) if name in names[:at])
    return (Violation("tool_twice", NOWHERE, f"two tools have the name {twice!r}", "tools"),)


def too_many_marks(body: bytes) -> tuple[Violation, ...]:
    """For more cache marks than a Messages request may have.

    Counted are blocks of system, messages and results, tools, and the request itself.
    """
    if body.count(_MARK) <= _MOST_MARKS:  # it may also be a word of somebody's schema
        return ()
    request = _ANY.decode(body)
    found = sum(1 for one in _markable(request) if one.get("cache_control") is not None)
    if found <= _MOST_MARKS:
        return ()
    told = f"at most {_MOST_MARKS} blocks may have it, and {found} do"
    return (Violation("cache_marks", NOWHERE, told, "cache_control"),)


def _markable(request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield request
    blocks = [*_list(request.get("system")), *_list(request.get("tools"))]
    for message in _list(request.get("messages")):
        for block in _list(message.get("content")):
            blocks += [block, *_list(block.get("content"))]
    yield from (block for block in blocks if isinstance(block, dict))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def thinking_budget(
    budget: int | None, max_tokens: int, *, with_tools: bool
) -> tuple[Violation, ...]:
    """For a budget that thinking cannot have; `budget` None if it is not on, or says none."""
    if budget is None:
        return ()
    where = "thinking.budget_tokens"
    if budget < _LEAST_BUDGET:
        told = f"it is {budget}, and must be {_LEAST_BUDGET} or more"
        return (Violation("budget_too_small", NOWHERE, told, where),)
    if budget >= max_tokens:
        rule = "budget_over_max_with_tools" if with_tools else "budget_over_max"
        told = f"it is {budget}, and must be less than max_tokens, which is {max_tokens}"
        return (Violation(rule, NOWHERE, told, where),)
    return ()

"""Every registered stop condition: it is on the page, tested, drawn, read and exported."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import find, settings

import fakeprovider_harness
from fakeprovider_harness import Condition, RunState, StopKind, conditions, parse_stop
from fakeprovider_harness.conditions.registry import (
    STOP_CONDITIONS,
    ConditionKind,
    docs_table,
    stop_condition,
)
from fakeprovider_harness.stop import Limit
from fakeprovider_harness.strategies import stop_conditions

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "stop-conditions.md").read_text()
FEW = settings(max_examples=2_000, database=None, derandomize=True)
TESTS = "\n".join(
    path.read_text()
    for path in (ROOT / "tests" / "harness").rglob("test_*.py")
    if path != Path(__file__)
)


def is_drawn(kind: ConditionKind) -> bool:
    """Whether the strategy ever yields a condition of this kind."""
    try:
        find(stop_conditions(composed=False), lambda drawn: type(drawn) is kind.make, settings=FEW)
    except Exception:  # whatever keeps it from being drawn
        return False
    return True


def lacking(kinds: Mapping[str, ConditionKind]) -> list[str]:
    """What the conditions lack of what each must have."""
    lacks = []
    for name, kind in kinds.items():
        if f"| `{kind.example}` | {kind.catches} | {kind.weakness} |" not in PAGE:
            lacks.append(f"{name}: its row in docs/stop-conditions.md")
        if not re.search(rf"\b{name}\(", TESTS):
            lacks.append(f"{name}: a test under tests/harness")
        if not is_drawn(kind):
            lacks.append(f"{name}: a strategy of its arguments")
    return lacks


def test_every_condition_has_its_row_its_test_and_its_strategy() -> None:
    assert lacking(STOP_CONDITIONS) == []
    assert docs_table() in PAGE


@pytest.mark.parametrize("name", STOP_CONDITIONS)
def test_an_example_is_read_and_written_as_its_class(name: str) -> None:
    kind = STOP_CONDITIONS[name]
    for text in (kind.example, *(trial.text for trial in kind.trials)):
        condition = parse_stop(text)
        assert type(condition) is kind.make
        assert repr(condition).startswith(f"{name}(")


def test_every_condition_is_exported_and_nothing_else_is() -> None:
    assert conditions.__all__ == sorted([*STOP_CONDITIONS, "parse_stop"])
    assert set(conditions.__all__) <= set(fakeprovider_harness.__all__)
    for name, kind in STOP_CONDITIONS.items():
        assert getattr(conditions, name) is getattr(fakeprovider_harness, name) is kind.make


@pytest.fixture
def dummy() -> Iterator[type[Condition]]:
    """A condition that somebody has just registered, and nothing else."""

    @stop_condition(
        catches="a run with many messages",
        weakness="counts those of the user too",
        example="MaxMessages(9)",
        arguments=lambda st: {"limit": st.integers(0, 6)},
    )
    @dataclass(frozen=True, repr=False)
    class MaxMessages(Limit):
        limit: int | None
        kind = StopKind.PREDICATE
        whole = True

        def measure(self, state: RunState) -> int:
            return len(state.messages)

    yield MaxMessages
    STOP_CONDITIONS.remove("MaxMessages")


def test_a_new_condition_is_read_drawn_and_in_the_table_at_once(dummy: type[Condition]) -> None:
    assert parse_stop("MaxMessages(9) | MaxTurns(3)").leaves().__next__() == dummy(9)  # type: ignore[call-arg]
    assert is_drawn(STOP_CONDITIONS["MaxMessages"])
    assert "| `MaxMessages(9)` | a run with many messages |" in docs_table()


def test_a_new_condition_is_told_by_name_what_it_lacks(dummy: type[Condition]) -> None:
    assert lacking(STOP_CONDITIONS) == [
        "MaxMessages: its row in docs/stop-conditions.md",
        "MaxMessages: a test under tests/harness",
    ]


def test_a_condition_without_a_working_strategy_is_told_by_name() -> None:
    kind = STOP_CONDITIONS["MaxTurns"]
    broken = ConditionKind(lambda: kind.make(1), kind.catches, kind.weakness, kind.example, dict)
    assert lacking({"MaxTurns": broken}) == ["MaxTurns: a strategy of its arguments"]

"""What a YAML script says and can never do is told; what it may do some day is not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakeprovider.conversation import Conversation, Message
from fakeprovider.yamlscripts import read_script
from fakeprovider.yamlscripts.conditions import predicate


def mistakes(script: dict[str, Any]) -> list[str]:
    """The problems, without file and line."""
    _, problems = read_script(json.dumps(script), "x")
    return [conversation.message for conversation in problems]


def when(**written: Any) -> dict[str, Any]:
    return {"rules": [{"when": written, "say": "a"}, {"say": "b"}]}


IMPOSSIBLE = [
    {"turn": 1, "all": [{"turn": 2}]},
    {"since_last_user": {"at_least": 3}, "not": {"since_last_user": {"at_least": 2}}},
    {"last_result": "none", "any_result": {"outcome": "ok"}},
    {"any": [{"turn": 0, "not": {"turn": 0}}, {"turn": 1, "not": {"turn": [0, 1]}}]},
    {"not": {"turn": {"at_least": 0}}},
    {"seen": "x", "turn": {"at_least": 10**9}, "not": {"turn": {"at_least": 10**6}}},
]
POSSIBLE = [
    {"turn": 1, "since_last_user": 0},
    {"turn": {"at_least": 10**9}},
    {"last_result": "none", "not": {"any_result": {"outcome": "ok"}}},
    {"last_result": {"contains": "a"}, "not": {"any_result": {"contains": "b"}}},
    {"seen": "x", "not": {"seen": "y"}},
    {"any": [{"turn": 0, "not": {"turn": 0}}, {"offers": "x"}]},
]


@pytest.mark.parametrize("written", IMPOSSIBLE, ids=json.dumps)
def test_a_condition_whose_parts_exclude_each_other(written: dict[str, Any]) -> None:
    message = "this condition can never hold: its parts exclude each other"
    assert mistakes(when(**written)) == [message]


@pytest.mark.parametrize("written", POSSIBLE, ids=json.dumps)
def test_a_condition_that_may_hold(written: dict[str, Any]) -> None:
    assert mistakes(when(**written)) == []


counts = st.one_of(
    st.integers(0, 4),
    st.lists(st.integers(0, 4), min_size=1, max_size=2),
    st.fixed_dictionaries({"at_least": st.integers(0, 4)}),
    st.fixed_dictionaries({"at_most": st.integers(0, 4)}),
)
conditions: st.SearchStrategy[dict[str, Any]] = st.recursive(
    st.fixed_dictionaries(
        {},
        optional={
            "turn": counts,
            "since_last_user": counts,
            "last_result": st.sampled_from(["any", "none", {"contains": "x"}]),
            "seen": st.just("x"),
        },
    ).filter(bool),
    lambda inner: st.one_of(
        st.fixed_dictionaries({"all": st.lists(inner, min_size=1, max_size=2)}),
        st.fixed_dictionaries({"any": st.lists(inner, min_size=1, max_size=2)}),
        st.fixed_dictionaries({"not": inner}),
    ),
    max_leaves=4,
)


def conversations() -> list[Conversation]:
    """Every number of turns, with and without a result that has the text."""
    answer, question = Message("assistant"), Message("user")
    ends: list[tuple[Message, ...]] = [(), (Message("tool", "x"),), (Message("tool", "y"),)]
    return [
        Conversation("m", (*[answer] * before, question, *[answer] * since, *end), turn=turn)
        for turn in range(7)
        for since in range(7)
        for before in range(1)
        for end in ends
    ]


ALL = conversations()


@given(conditions)
@settings(max_examples=150)
def test_what_is_told_of_a_condition_is_true(written: dict[str, Any]) -> None:
    """Never holds, always holds: so it is in every conversation."""
    problems = mistakes(when(**written))
    outcomes = {predicate(written)(conversation) for conversation in ALL}
    if problems and "can never hold" in problems[0]:
        assert outcomes == {False}
    elif problems:
        assert "never reached" in problems[0]
        assert outcomes == {True}


def turns(*written: dict[str, Any]) -> list[str]:
    return mistakes({"turns": list(written)})


UNREACHED = "this turn is never reached: nothing leads to it"


def test_turns_behind_a_jump_need_another_that_leads_to_them() -> None:
    a, b = {"say": "a", "goto": "end"}, {"say": "b", "label": "b"}
    some = {"cases": [{"when": {"seen": "x"}, "say": "c", "goto": "b"}, {"say": "d"}]}
    assert turns(a, b) == [UNREACHED]
    assert turns(some, a, b) == []
    assert turns({"say": "c", "goto": "b"}, a, b) == [UNREACHED]
    assert turns({"say": "c", "goto": "b"}, b, a) == []


def test_a_turn_of_a_block_is_reached_if_it_is_in_one_of_its_rounds() -> None:
    leaves = {"cases": [{"when": {"turn": 0}, "say": "a"}, {"say": "b", "goto": "end"}]}
    assert turns({"loop": [leaves, {"say": "c"}], "times": 3}) == []
    always = {"say": "a", "goto": "end"}
    assert turns({"loop": [always, {"say": "c"}], "times": 3}) == [UNREACHED]


def test_the_number_of_a_turn_follows_from_where_it_stands() -> None:
    def at(number: Any) -> dict[str, Any]:
        return {"cases": [{"when": {"turn": number}, "say": "a"}, {"say": "b"}]}

    first = {"say": "first"}
    assert turns(first, at(1)) == ["this case is never reached: the one on line 1 holds always"]
    assert turns(first, at(2)) == ["this condition can never hold: the turn is 1 here"]
    assert turns(first, {"loop": [at(41), {"say": "c"}]}) == []
    assert turns(first, {"loop": [at(42), {"say": "c"}]}) == [
        "this condition can never hold: the turn is 1 or ... here"
    ]
    assert mistakes({"repeat_last": True, "turns": [first, at({"at_least": 50})]}) == []


def test_a_case_that_holds_at_every_number_it_can_have_hides_the_next() -> None:
    case = {"when": {"turn": {"at_least": 1}}, "say": "a"}
    assert turns({"say": "first"}, {"cases": [case, {"say": "b"}]}) == [
        "this case is never reached: the one on line 1 holds always"
    ]
    assert turns({"cases": [case, {"say": "b"}]}) == [
        "this condition can never hold: the turn is 0 here"
    ]


def test_a_script_of_very_many_turns_is_looked_at_in_time() -> None:
    """A block a hundred thousand times over; and one that jumps about has more ways than that."""
    assert turns({"loop": [{"say": "a"}], "times": 100_000}) == []
    jumps = {
        "cases": [{"when": {"seen": "x"}, "say": "a", "goto": "top"}, {"say": "b"}],
    }
    assert turns({"label": "top", "loop": [jumps], "times": 3000}) == []


def test_a_fault_on_a_turn_that_comes_again_may_name_any_of_its_turns() -> None:
    """What holds for a block that is run for ever and for rules, not for a turn of its own."""
    say = {"say": "a", "fault": {"name": "rate_limited", "turn": "7-"}}
    assert mistakes({"turns": [{"loop": [say]}]}) == []
    assert mistakes({"rules": [{"when": {"turn": 2}, **say}, {"say": "b"}]}) == []
    assert mistakes({"turns": [{"cases": [say]}]}) == [
        "this fault can never strike: the turn is 0 here"
    ]

"""Stop conditions: what they measure, how they join, how they are written down."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fakeprovider_harness
from fakeprovider_harness import (
    ActiveTime,
    AllOf,
    AnyOf,
    Condition,
    ConsecutiveErrors,
    ContextWindow,
    Deadline,
    EmptyReplies,
    MalformedCalls,
    MaxCost,
    MaxInputTokens,
    MaxOutputTokens,
    MaxTokens,
    MaxToolCalls,
    MaxTurns,
    NoProgress,
    Predicate,
    RepeatedCalls,
    RunState,
    Says,
    Stop,
    StopKind,
    TruncatedReplies,
    TurnRecord,
    exports,
    parse_stop,
)
from fakeprovider_harness.models.base import Usage
from fakeprovider_harness.models.scripted import ScriptedModel, says
from fakeprovider_harness.state import Times

whole = st.none() | st.integers(0, 10**9)
seconds = st.none() | st.integers(0, 10**6) | st.floats(0, 1e9, allow_nan=False)
amounts = st.none() | st.decimals(0, 10**6, places=6).map(str)
leaves = st.one_of(
    st.builds(MaxTurns, whole),
    st.builds(MaxTokens, whole),
    st.builds(MaxToolCalls, whole, st.sampled_from(["stop", "skip", "reject"])),
    st.builds(MaxCost, amounts),
    st.builds(Deadline, seconds),
    st.builds(ActiveTime, seconds),
    st.builds(EmptyReplies, whole),
    st.builds(TruncatedReplies, whole),
    st.builds(MaxInputTokens, whole),
    st.builds(MaxOutputTokens, whole),
    st.builds(ContextWindow, whole),
    st.builds(MalformedCalls, whole),
    st.builds(ConsecutiveErrors, whole),
    st.builds(RepeatedCalls, st.none() | st.integers(2, 9), st.integers(1, 9), st.booleans()),
    st.builds(
        NoProgress,
        st.sampled_from([None, "failing", "json:dumps", json.dumps]),
        st.none() | st.integers(1, 9),
    ),
    st.builds(Predicate, st.sampled_from(["json:loads", json.loads])),
    st.builds(Says, st.sampled_from(["DONE", 'it\'s "done"'])),
)
conditions: st.SearchStrategy[Condition] = st.recursive(
    leaves,
    lambda inner: st.tuples(inner, inner, st.booleans()).map(
        lambda t: t[0] | t[1] if t[2] else t[0] & t[1]
    ),
    max_leaves=6,
)


def state(turns: int = 0, **fields: Any) -> RunState:
    records = [TurnRecord(n + 1, Usage(1, 1), Decimal(0), "stop", 1) for n in range(turns)]
    return RunState("r", turns=records, **fields)


def test_a_limit_fires_when_it_is_reached_and_says_value_limit_and_overshoot() -> None:
    assert MaxTurns(3)(state(2)) == ()
    (stop,) = MaxTurns(3)(state(3))
    assert (stop.kind, stop.value, stop.limit, stop.overshoot) == (StopKind.MAX_TURNS, 3, 3, 0)
    (stop,) = MaxCost("0.05")(state(cost_usd=Decimal("0.06")))
    assert (stop.kind, stop.overshoot) == (StopKind.MAX_COST, Decimal("0.01"))
    (stop,) = MaxInputTokens(8)(state(input_tokens=9, output_tokens=4))
    assert (stop.kind, stop.value, stop.overshoot) == (StopKind.MAX_INPUT_TOKENS, 9, 1)
    (stop,) = MaxOutputTokens(4)(state(input_tokens=9, output_tokens=4))
    assert (stop.kind, stop.value, stop.overshoot) == (StopKind.MAX_OUTPUT_TOKENS, 4, 0)
    assert ContextWindow(1)(state()) == ContextWindow(3)(state(5)) == ()
    (stop,) = ContextWindow(2)(state(5))
    assert (stop.kind, stop.value) == (StopKind.CONTEXT_WINDOW, 2)
    (stop,) = MaxTokens(10)(state(input_tokens=8, output_tokens=4))
    assert (stop.value, stop.overshoot) == (12, 2)
    (stop,) = Deadline(60)(state(times=Times(elapsed=61.5)))
    assert (stop.kind, stop.value) == (StopKind.DEADLINE, 61.5)
    (stop,) = ActiveTime(60)(state(times=Times(active=60)))
    assert stop.kind is StopKind.ACTIVE_TIME


@pytest.mark.parametrize("kind", [MaxTurns, MaxTokens, MaxCost, Deadline, ActiveTime])
def test_zero_is_a_limit_and_none_is_no_limit(kind: Any) -> None:
    assert kind(0)(state())
    far = state(10**3, input_tokens=10**9, cost_usd=Decimal(10**6), times=Times(1, 1e9, 1e9))
    assert kind(None)(far) == ()


def test_or_says_everything_that_fired() -> None:
    fired = (MaxTurns(2) | MaxTokens(1) | MaxCost("9"))(state(2, input_tokens=5))
    assert [stop.kind for stop in fired] == [StopKind.MAX_TURNS, StopKind.MAX_TOKENS]


def test_and_fires_only_when_all_parts_do() -> None:
    both = MaxTurns(2) & MaxTokens(5)
    assert both(state(2, input_tokens=4)) == ()
    assert len(both(state(2, input_tokens=5))) == 2


def test_a_condition_is_no_truth_value() -> None:
    with pytest.raises(TypeError, match=r"join with \| and &"):
        bool(MaxTurns(1))
    with pytest.raises(TypeError, match="not a truth value"):
        MaxTurns(1) and MaxTokens(1)


def test_a_negative_limit_and_a_float_amount_are_refused() -> None:
    with pytest.raises(ValueError, match="MaxTurns: limit is a whole number, 0 or more"):
        MaxTurns(-1)
    with pytest.raises(ValueError, match="0 or more"):
        Deadline(float("nan"))
    with pytest.raises(TypeError, match=r"write it as text, '0\.05'"):
        MaxCost(0.05)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="over is one of"):
        MaxToolCalls(1, over="drop")  # type: ignore[arg-type]


def test_the_text_of_a_condition_reads_as_it_was_written() -> None:
    stop = MaxTurns(20) | MaxCost("0.05") & (MaxTokens(200_000) | Deadline(60))
    assert repr(stop) == "MaxTurns(20) | MaxCost('0.05') & (MaxTokens(200000) | Deadline(60))"


@given(conditions)
def test_eval_of_the_repr_and_parse_of_the_repr_give_the_condition_back(stop: Condition) -> None:
    assert eval(repr(stop), vars(exports).copy()) == stop
    assert parse_stop(repr(stop)) == stop


@given(conditions, conditions, conditions)
def test_joining_is_associative(a: Condition, b: Condition, c: Condition) -> None:
    assert (a | b) | c == a | (b | c)
    assert (a & b) & c == a & (b & c)


@given(conditions)
def test_no_composition_fires_without_saying_which_limit(stop: Condition) -> None:
    fired = stop(state(5, input_tokens=10**4, cost_usd=Decimal(3), times=Times(0, 500, 400)))
    counted = [part for part in fired if part.kind is not StopKind.PREDICATE]
    assert all(part.limit is not None and part.overshoot >= 0 for part in counted)
    if isinstance(stop, AnyOf):
        assert len(fired) == sum(len(part(state_of())) for part in stop.parts)
    if isinstance(stop, AllOf) and fired:
        assert all(part(state_of()) for part in stop.parts)


def state_of() -> RunState:
    return state(5, input_tokens=10**4, cost_usd=Decimal(3), times=Times(0, 500, 400))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "MaxTurns",
        "MaxTurns(20) or MaxTokens(1)",
        "__import__('os').system('x')",
        "MaxTurns(x)",
        "Deadline(1) + Deadline(2)",
        "MaxTurns(1)(2)",
        "MaxTurns(1, 2, 3)",
        "open('f')",
    ],
)
def test_parse_reads_conditions_and_nothing_else(text: str) -> None:
    with pytest.raises(ValueError, match="not a stop condition"):
        parse_stop(text)


def test_streaks_count_the_last_turns_of_the_leg_only() -> None:
    def turns(*kinds: str) -> list[TurnRecord]:
        return [
            TurnRecord(
                n + 1, Usage(1, 1), None, "length" if k == "cut" else "stop", 1, empty=k == "empty"
            )
            for n, k in enumerate(kinds)
        ]

    assert EmptyReplies(2)(RunState("r", turns=turns("empty", "text", "empty"))) == ()
    (stop,) = EmptyReplies(2)(RunState("r", turns=turns("text", "empty", "empty")))
    assert (stop.kind, stop.value) == (StopKind.EMPTY_REPLIES, 2)
    assert EmptyReplies(2)(RunState("r", turns=turns("empty", "empty"), leg_turns=1)) == ()
    (stop,) = TruncatedReplies(1)(RunState("r", turns=turns("text", "cut")))
    assert stop.kind is StopKind.TRUNCATED_REPLIES


def test_a_condition_is_written_as_it_would_be_typed() -> None:
    assert repr(RepeatedCalls()) == "RepeatedCalls()"
    assert repr(RepeatedCalls(4, nudge=False)) == "RepeatedCalls(4, nudge=False)"
    assert repr(NoProgress(rounds=5)) == "NoProgress(rounds=5)"
    assert repr(NoProgress("failing")) == "NoProgress('failing')"
    assert repr(Predicate(json.loads)) == "Predicate('json:loads')"
    assert repr(MaxTurns(None)) == "MaxTurns(None)"


def test_a_lambda_works_and_cannot_be_written_down() -> None:
    stop = Predicate(lambda state: len(state.turns) > 1)
    assert stop(state(1)) == ()
    (fired,) = stop(state(2))
    assert (fired.kind, fired.status) == (StopKind.PREDICATE, "stopped")
    with pytest.raises(ValueError, match="not a stop condition"):
        parse_stop(repr(stop))


def test_a_predicate_says_why_in_words_or_as_a_stop_and_one_that_breaks_stops() -> None:
    (said,) = Predicate(lambda state: "out of stock")(state())
    assert str(said) == "predicate: out of stock"
    own = Predicate(lambda state: StopKind.MAX_TURNS and Stop(StopKind.MAX_TURNS, 1, 1))
    assert own(state()) == (Stop(StopKind.MAX_TURNS, 1, 1),)
    (broken,) = Predicate(lambda state: state.nothing)(state())
    assert "AttributeError" in broken.evidence["error"]
    (missing,) = Predicate("json:nothing")(state())
    assert "no function 'json:nothing'" in missing.evidence["error"]
    with pytest.raises(ValueError, match="name the function as 'module:name'"):
        Predicate("loads")


class Own(Condition):
    """A condition of a user's own, which does what it is given."""

    def __init__(self, does: Any) -> None:
        self.does = does

    def __call__(self, state: RunState) -> Any:
        return self.does(state)

    def __repr__(self) -> str:
        return "Own()"


@pytest.mark.parametrize("joined", [lambda own: own, lambda own: MaxTurns(9) | own], ids=["", "|"])
@pytest.mark.parametrize(
    ("does", "what"),
    [
        (lambda state: None, "returned None"),
        (lambda state: True, "returned True"),
        (lambda state: "stop", "returned 'stop'"),
        (lambda state: [1], "returned [1]"),
        (lambda state: (1,), "returned (1,)"),
        (lambda state: {}["x"], "raised KeyError: 'x'"),
    ],
    ids=["None", "True", "text", "list", "tuple", "raises"],
)
def test_a_condition_that_breaks_stops_the_run_and_is_named_with_what_it_must_return(
    does: Any, what: str, joined: Any
) -> None:
    model = ScriptedModel([says("never asked")])
    state = fakeprovider_harness.run(RunState.start("task"), model=model, stop=joined(Own(does)))
    said = f"Own() {what}; a stop condition returns a tuple of every Stop that holds, or ()"
    assert (state.status, str(state.stop)) == ("stopped", f"predicate: {said}")
    assert model.requests == []


def test_a_condition_that_cannot_be_asked_is_refused_before_anything_is_sent() -> None:
    class Silent(Condition):
        pass

    class Async(Own):
        async def __call__(self, state: RunState) -> Any:
            return ()

    model = ScriptedModel([says("never asked")])
    for wrong in (Silent(), Async(None)):
        with pytest.raises(
            TypeError, match=r"has no __call__\(self, state\).* every Stop that holds"
        ):
            fakeprovider_harness.run(RunState.start("task"), model=model, stop=MaxTurns(5) | wrong)
    assert model.requests == []


@pytest.mark.parametrize(
    ("limit", "reply", "sent"),
    [
        (EmptyReplies(4), says(""), 4),
        (MaxTurns(9) | EmptyReplies(2), says(""), 2),
        (TruncatedReplies(5), says("x", finish="length"), 5),
        (EmptyReplies(4), says("x", finish="length"), 3),
    ],
    ids=["empty", "joined", "truncated", "the other"],
)
def test_a_limit_on_fruitless_replies_that_is_given_replaces_the_default_one(
    limit: Condition, reply: Any, sent: int
) -> None:
    model = ScriptedModel([reply], forever=True)
    state = fakeprovider_harness.run(RunState.start("task"), model=model, stop=limit)
    assert len(model.requests) == sent
    assert state.stop is not None
    assert (state.stop.value, state.stop.also) == (sent, ())


def test_a_turn_costs_no_turn() -> None:
    words = MaxTurns(3, scope="tree").shortage(1, 0)
    assert words == "0 turns left: requests that other agents have sent count as well"


def test_reading_a_condition_back_imports_nothing() -> None:
    assert parse_stop("NoProgress('no_such_module:f')") == NoProgress("no_such_module:f")


REFUSED: list[tuple[str, type[Exception], str]] = [
    ("MaxTurns(2.5)", TypeError, r"MaxTurns: limit is a whole number, 0 or more.*not 2.5"),
    ("MaxTurns(True)", TypeError, r"MaxTurns: limit is a whole number.*not True"),
    ("MaxTurns('5')", TypeError, r"MaxTurns: limit is a whole number.*not '5'"),
    ("MaxTurns(-1)", ValueError, r"MaxTurns: limit is a whole number, 0 or more.*not -1"),
    ("MaxToolCalls(1.0)", TypeError, r"MaxToolCalls: limit"),
    ("EmptyReplies('2')", TypeError, r"EmptyReplies: limit"),
    ("ActiveTime('5')", TypeError, r"ActiveTime: limit is a finite number.*not '5'"),
    ("ActiveTime(float('inf'))", ValueError, r"ActiveTime: limit.*None for no limit; not inf"),
    ("Deadline(float('nan'))", ValueError, r"Deadline: limit.*not nan"),
    ("MaxCost('abc')", ValueError, r"MaxCost: limit is an amount in USD.*not 'abc'"),
    ("MaxCost('nan')", ValueError, r"MaxCost: limit is an amount in USD.*not 'nan'"),
    ("MaxCost(True)", TypeError, r"MaxCost: limit.*not True"),
    ("MaxCost('1', 5)", TypeError, r"MaxCost: reserve is True or False, not 5"),
    ("MaxTokens(5, least='1')", TypeError, r"MaxTokens: least"),
    ("RepeatedCalls('3')", TypeError, r"RepeatedCalls: limit"),
    ("RepeatedCalls(nudge=3)", TypeError, r"RepeatedCalls: nudge"),
    ("NoProgress(rounds='3')", TypeError, r"NoProgress: rounds is a whole number.*not '3'"),
    ("NoProgress(5)", TypeError, r"NoProgress: measure is the name.*NoProgress\(rounds=5\)"),
    ("Predicate(3)", TypeError, r"Predicate: test is a function of the state.*not 3"),
    ("Predicate(arun)", TypeError, r"Predicate: test is no async function"),
    ("Says(3)", TypeError, r"Says: marker is text; not 3"),
    ("NoProgress('')", ValueError, r"NoProgress: measure is the name.*not ''"),
]


@pytest.mark.parametrize(("text", "error", "words"), REFUSED, ids=[each[0] for each in REFUSED])
def test_what_cannot_be_meant_is_refused_by_class_and_field(
    text: str, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words) as raised:
        eval(text, vars(exports).copy())
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("wrong", [5, None, "MaxTurns(5)", len])
def test_what_is_joined_with_a_condition_must_be_one(wrong: Any) -> None:
    for join in (
        lambda: MaxTurns(5) | wrong,
        lambda: wrong | MaxTurns(5),
        lambda: MaxTurns(5) & wrong,
        lambda: wrong & MaxTurns(5),
    ):
        with pytest.raises(TypeError, match="is no stop condition: that is one such as MaxTurns"):
            join()


def test_a_run_with_a_stop_that_is_none_sends_nothing() -> None:
    model = ScriptedModel([says("never asked")])
    with pytest.raises(TypeError, match="5 is no stop condition"):
        fakeprovider_harness.run(RunState.start("task"), model=model, stop=5)  # type: ignore[arg-type]
    assert model.requests == []


def test_a_condition_that_is_nested_too_deeply_is_no_condition() -> None:
    with pytest.raises(ValueError, match="nested too deeply"):
        parse_stop("|".join(["MaxTurns(1)"] * 3000))

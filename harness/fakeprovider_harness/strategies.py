"""Hypothesis strategies: stop conditions, runs in every state, policies.

Needs Hypothesis. Everything here is in process and opens no socket: give a property thousands of
examples. Conditions print as the Python that makes them.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from operator import and_, or_
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from fakeprovider_harness.budget.charging import Price
from fakeprovider_harness.conditions import MaxCost, MaxTokens, MaxTurns
from fakeprovider_harness.conditions.registry import STOP_CONDITIONS
from fakeprovider_harness.engine.sync import run
from fakeprovider_harness.models.base import ModelReply, Usage
from fakeprovider_harness.models.retry import RetryPolicy
from fakeprovider_harness.models.scripted import ScriptedModel, calls, says
from fakeprovider_harness.settings import Settings
from fakeprovider_harness.state import RunState
from fakeprovider_harness.stop import Condition
from fakeprovider_harness.tools import Tool, ToolError

PRICE = Price("2.00", "12.00")
"""What runs of `run_states` are charged by, in USD per million tokens."""


def stop_conditions(*, composed: bool = True) -> SearchStrategy[Condition]:
    """Every registered condition, with small numbers; joined by `|` and `&` where `composed`."""
    if not composed:
        return _leaves()
    return st.recursive(_leaves(), _joined, max_leaves=4)


def hard_limits() -> SearchStrategy[Condition]:
    """A condition that ends every run: a cap, a budget of tokens or of money, or several."""
    single: SearchStrategy[Condition] = st.one_of(
        st.builds(MaxTurns, st.integers(0, 6)),
        st.builds(MaxTokens, st.integers(0, 6_000)),
        st.builds(MaxCost, st.sampled_from(("0", "0.002", "0.01"))),
    )
    return st.lists(single, min_size=1, max_size=3).map(_any_of)


def _leaves() -> SearchStrategy[Condition]:
    return st.one_of([st.builds(k.make, **k.arguments(st)) for k in STOP_CONDITIONS.values()])


def _joined(parts: SearchStrategy[Condition]) -> SearchStrategy[Condition]:
    return st.builds(or_, parts, parts) | st.builds(and_, parts, parts)


def _any_of(parts: list[Condition]) -> Condition:
    return reduce(or_, parts)


def model_replies() -> SearchStrategy[ModelReply]:
    """What a model may answer: calls, words, nothing, cut replies, with or without usage."""
    usage = st.none() | st.builds(Usage, st.integers(1, 3_000), st.integers(0, 300))
    finish = st.sampled_from(("stop", "length"))
    words = st.builds(
        lambda text, usage, finish: says(text, usage=usage, finish=finish),
        st.sampled_from(("Done.", "", "Let me think.")),
        usage,
        finish,
    )
    wanted = st.lists(st.sampled_from(_CALLS), min_size=1, max_size=3)
    return words | st.builds(_asking, wanted, usage)


_CALLS = (
    ("look", "{}"),
    ("write", '{"text":"a"}'),
    ("write", '{"text":"b"}'),
    ("ask", "{}"),
    ("look", "{not json"),
    ("nothing_such", "{}"),
    ("break", "{}"),
)


def _asking(wanted: list[tuple[str, str]], usage: Usage | None) -> ModelReply:
    # Ids that repeat from turn to turn are real, and the loop has to mend them.
    named = [(f"c{place}", tool, arguments) for place, (tool, arguments) in enumerate(wanted)]
    return calls(*named, usage=usage)


@st.composite
def run_states(draw: st.DrawFn, stop: SearchStrategy[Condition] | None = None) -> RunState:
    """A run in some state: played with drawn replies until one of the conditions, an approval, an
    answer or an error ended it. Ids and clock readings aside it follows from what was drawn.
    """
    replies = draw(st.lists(model_replies(), max_size=6))
    condition = draw(hard_limits() if stop is None else stop)
    state = RunState.start("Look after the notes.", run_id="run")
    model = ScriptedModel(replies)
    return run(state, model=model, tools=tools(), stop=condition | MaxTurns(20), price=PRICE)


def tools() -> list[Tool]:
    """The tools of `run_states`: one reads, one writes, one waits for a person, one fails."""
    nothing: dict[str, Any] = {"type": "object", "properties": {}}
    text = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    return [
        Tool("look", "Look.", nothing, lambda: "nothing new", read_only=True),
        Tool("write", "Write.", text, lambda text: f"wrote {text}"),
        Tool("ask", "Ask first.", nothing, lambda: "done", needs_approval=True),
        Tool("break", "Fail.", nothing, _fail),
    ]


def _fail() -> str:
    raise ToolError("it does not work: do something else")


def retry_policies() -> SearchStrategy[RetryPolicy]:
    """When to ask again; short waits."""
    return st.builds(
        RetryPolicy,
        attempts=st.none() | st.integers(1, 5),
        charged=st.integers(0, 3),
        base=st.sampled_from((0.0, 0.01, 0.1)),
        cap=st.sampled_from((0.1, 1.0)),
        max_wait=st.sampled_from((0.0, 1.0, 60.0)),
        after_output=st.booleans(),
    )


def policies() -> SearchStrategy[Settings]:
    """The switches of a run."""
    made = st.builds(
        Settings,
        errors=st.sampled_from(("instructive", "opaque", "fatal")),
        permanent=st.sampled_from(("as_error", "tell", "stop")),
        dedupe=st.sampled_from(("off", "read_only", "all")),
        unknown=st.sampled_from(("ask", "tell")),
        usage=st.sampled_from(("estimate", "require")),
        max_output=st.none() | st.integers(1, 4_000),
        parallel=st.integers(1, 8),
        empty_replies=st.none() | st.integers(1, 4),
        truncated_replies=st.none() | st.integers(1, 4),
    )
    return st.builds(
        lambda settings, retry: replace(settings, retry=retry), made, st.none() | retry_policies()
    )

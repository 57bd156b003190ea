"""What a run refuses to start with."""

from __future__ import annotations

from typing import Any

import pytest

from fakeprovider_harness import MaxTurns, RunState, run, subagent, tool
from fakeprovider_harness.context import DropResults, Fresh, Notes, Summarise
from fakeprovider_harness.models.scripted import ScriptedModel, says
from fakeprovider_harness.verify.baseline import Baseline
from fakeprovider_harness.verify.command import CommandSucceeds


def start(**given: Any) -> RunState:
    return RunState.start("task", system="be brief", run_id="r", **given)


def plain(x: int) -> str:
    """A function that nobody made a tool of."""
    return str(x)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"tools": [plain]}, "plain is a function and no tool: pass tool(plain), or put @tool"),
        ({"tools": [3]}, "3 is no tool: make one of a function with fakeprovider_harness.tool"),
        ({"tools": tool(plain)}, "tools is a list of tools: pass [plain], not one tool"),
        ({"tools": None}, "tools is a list of tools, not None"),
        ({"price": "2"}, "such as Price('2', '12'), a PriceTable, or None; not '2'"),
        ({"store": "runs.db"}, "store is a Store(path), or None; not 'runs.db'"),
        ({"model": "gpt"}, "model is a client, such as ChatModel(base_url); not 'gpt'"),
        ({"settings": {"errors": "fatal"}}, "settings is a Settings(), or None; not {'errors'"),
        ({"state": "task"}, "state is a RunState, such as RunState.start('…'); not 'task'"),
        ({"price": 2}, "price is Price(input, output) in USD per million tokens"),
        ({"settings": {}}, "settings is a Settings(), or None; not {}"),
        ({"model": ScriptedModel}, "model is a client, such as ChatModel(base_url); not <class"),
        ({"verify": 3}, "verify is a function of a Claim, such as CommandSucceeds(['pytest']), or"),
        ({"cancel": 1}, "cancel is a Cancel(), or None; not 1"),
        ({"cancel": 0}, "cancel is a Cancel(), or None; not 0"),
        ({"context": 3}, "context is a policy, such as Summarise(8_000), or None; not 3"),
        ({"clock": 3}, "clock is a SystemClock(), or None; not 3"),
        ({"on_text": 3}, "on_text is a function of a text, or None; not 3"),
        ({"trace": "t.jsonl"}, "trace is a function of an event, such as a ListTrace(), or None"),
    ],
    ids=lambda value: next(iter(value), "") if isinstance(value, dict) else "",
)
def test_an_argument_that_is_something_else_is_refused_with_what_to_pass_instead(
    given: dict[str, Any], said: str
) -> None:
    model = ScriptedModel([says("x")])
    with pytest.raises(TypeError) as refused:
        run(**{"state": start(), "model": model, "stop": MaxTurns(1), **given})
    assert said in str(refused.value)
    assert model.requests == []


@pytest.mark.parametrize(
    ("wrong", "error", "said"),
    [
        (lambda: RunState.start(3), TypeError, "RunState.start: task is text; not 3"),
        (lambda: RunState.start("t", system=3), TypeError, "system is text, or None; not 3"),
        (lambda: agent(stop=None), TypeError, "subagent: stop is a condition such as MaxTurns(20)"),
        (lambda: agent(stop=5), TypeError, "5 is no stop condition"),
        (lambda: agent(model="gpt"), TypeError, "model is a client"),
        (lambda: agent(settings={}), TypeError, "settings is a Settings(), or None; not {}"),
        (lambda: agent("a b"), ValueError, "tool 'a b': a name is 1 to 128 letters, digits"),
        (lambda: CommandSucceeds("true"), TypeError, "command is a list of words, such as ['py"),
        (lambda: CommandSucceeds(["true", 3]), TypeError, "command is a list of words"),
        (lambda: CommandSucceeds([]), ValueError, "command is a list of words, such as"),
        (lambda: DropResults("x"), TypeError, "DropResults: window, in tokens, is a whole number"),
        (lambda: Notes(0), ValueError, "Notes: window, in tokens, is a whole number, 1 or more"),
        (lambda: Fresh(-1, str), ValueError, "Fresh: window, in tokens, is a whole number"),
        (lambda: Fresh(9, "notes.md"), TypeError, "Fresh: carry is a function of the state; not"),
        (lambda: Summarise(9, keep=-1), ValueError, "Summarise: keep is a whole number, 0 or more"),
        (lambda: Summarise(9, max_output=0), ValueError, "Summarise: max_output is a whole number"),
        (lambda: Summarise(9, model="gpt"), TypeError, "model is a client"),
        (
            lambda: Baseline("/nonexistent", "/keep"),
            ValueError,
            "there is no directory",
        ),
    ],
)
def test_what_a_run_cannot_be_made_of_is_refused_where_it_is_made(
    wrong: Any, error: type[Exception], said: str
) -> None:
    with pytest.raises(error) as refused:
        wrong()
    assert said in str(refused.value)


def agent(name: str = "agent", **given: Any) -> Any:
    return subagent(
        name, "Ask.", **{"model": ScriptedModel([]), "tools": [], "stop": MaxTurns(1), **given}
    )

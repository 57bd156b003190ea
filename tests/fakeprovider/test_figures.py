"""The published figures of the classic scripts, over the socket, whole and streamed."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from typing import Any

import pytest

from fakeprovider.server import Server

Play = Callable[..., Any]


@pytest.fixture(params=[False, True], ids=["whole", "streamed"])
def stream(request: pytest.FixtureRequest) -> bool:
    found: bool = request.param
    return found


def test_plan(server: Server, play: Play, figures: dict[str, Any], stream: bool) -> None:
    """Three turns: list, read, answer."""
    ran = play(server.url_for("plan"), stream=stream)
    assert ran.prompts == figures["plan"]["prompt_tokens"]
    assert ran.completions == figures["plan"]["completion_tokens"]
    assert ran.answer == figures["plan"]["answer"]
    assert ran.called == ["list_files", "read_file"]
    assert ran.finishes == ["tool_calls", "tool_calls", "stop"]


def test_runaway_by_cap(server: Server, play: Play, figures: dict[str, Any], stream: bool) -> None:
    """Input and output at every published cap, and the closed form at every turn."""
    ran = play(server.url_for("runaway"), turns=100, stream=stream)
    assert ran.prompts == [204, *(205 + 64 * turn for turn in range(1, 100))]
    sums = list(accumulate(ran.prompts))
    for row in figures["runaway_by_cap"]:
        assert sums[row["cap"] - 1] == row["input"]
        assert sum(ran.completions[: row["cap"]]) == row["output"]
    assert set(ran.finishes) == {"tool_calls"}


def test_recover(server: Server, play: Play, figures: dict[str, Any]) -> None:
    """Corrects itself where the error says how, gives up where it does not."""
    fatal, opaque, instructive = figures["recover_by_error_policy"]
    ran = play(server.url_for("recover"))
    assert ran.prompts == instructive["prompt_tokens"]
    assert sum(ran.completions) == instructive["output"]
    assert ran.answer == instructive["answer"]
    assert ran.completions[0] == fatal["output"]
    gave_up = play(server.url_for("recover"), answer=lambda *_: "Error: the tool failed.")
    assert (len(gave_up.prompts), gave_up.answer) == (opaque["turns"], opaque["answer"])


def test_denied(server: Server, play: Play, figures: dict[str, Any]) -> None:
    """Asks for the same forbidden file for ever."""
    ran = play(server.url_for("denied"), turns=figures["denied"]["cap"])
    assert sum(ran.prompts) == figures["denied"]["input"]
    assert sum(ran.completions) == figures["denied"]["output"]
    assert set(ran.called) == {"read_file"}


@pytest.mark.parametrize(
    ("script", "row"), [("duplicate-baseline", "baseline"), ("duplicate", "repeated")]
)
def test_duplicate(
    server: Server, play: Play, figures: dict[str, Any], script: str, row: str
) -> None:
    """The same read once, and twice."""
    ran = play(server.url_for(script))
    expected = figures["duplicate"][row]
    assert (len(ran.prompts), len(ran.called)) == (expected["turns"], expected["tool_runs"])
    assert (sum(ran.prompts), sum(ran.completions)) == (expected["input"], expected["output"])


def test_duplicate_write(server: Server, play: Play) -> None:
    """The same deletion twice."""
    ran = play(server.url_for("duplicate-write"))
    assert ran.called == ["delete_file", "delete_file"]


@pytest.mark.parametrize("case", ["approve", "reject_with_reason", "reject_with_nothing"])
def test_destructive(server: Server, play: Play, figures: dict[str, Any], case: str) -> None:
    """Reports a deletion unless the result says that it was declined."""
    said = {
        "approve": "Deleted access.log.",
        "reject_with_reason": "The user declined this call: keep it.",
        "reject_with_nothing": "",
    }[case]
    ran = play(
        server.url_for("destructive"), answer=lambda name, _: said if "delete" in name else "[]"
    )
    assert ran.called == ["list_files", "delete_file"]
    assert ran.answer == figures["destructive"][case]["answer"]


def test_destructive_tokens(server: Server, play: Play, figures: dict[str, Any]) -> None:
    """The first two turns, as published."""
    ran = play(server.url_for("destructive"), turns=2)
    assert ran.prompts == figures["destructive"]["stop"]["prompt_tokens"]
    assert ran.completions == figures["destructive"]["stop"]["completion_tokens"]


@pytest.mark.parametrize(("script", "turns"), [("slow", 2), ("long", 40)])
def test_slow_and_long_end(server: Server, play: Play, script: str, turns: int) -> None:
    """In as many turns as their descriptions say."""
    ran = play(server.url_for(script), answer=lambda name, _: f"{name} is done")
    assert len(ran.prompts) == turns
    assert ran.finishes[-1] == "stop"

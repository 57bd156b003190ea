"""Chaos: drawn at random, the same every time."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakeprovider.faults import FAULTS, BadFault, Chaos
from fakeprovider.faults.selection import chaos_faults
from fakeprovider.server import Server

SEEDS = range(20)
TIMINGS = {"started", "ms", "number", "paced"}


def everything(kind: Any) -> bool:
    return True


def drawn(chaos: Chaos, run: str, turns: int, attempt: int = 0) -> list[str]:
    found = (chaos.draw(run, turn, attempt, everything) for turn in range(turns))
    return [plan.kind.name if plan else "" for plan in found]


@given(st.integers(0, 2**64 - 1), st.text(max_size=5), st.floats(0.0001, 0.02))
def test_at_least_one_turn_in_each_hundred_has_a_fault(seed: int, run: str, share: float) -> None:
    names = drawn(Chaos(share, seed), run, 500)
    assert all(any(names[at : at + 100]) for at in range(0, 500, 100))


def test_the_share_is_about_what_was_asked_for() -> None:
    names = drawn(Chaos(0.05, 7), "run", 20_000)
    assert 0.045 < sum(map(bool, names)) / len(names) < 0.065  # the one in a hundred comes on top


def test_seed_run_turn_and_attempt_decide_and_nothing_else() -> None:
    chaos = Chaos(0.3, 7)
    assert drawn(chaos, "a", 200) == drawn(Chaos(0.3, 7), "a", 200)
    assert drawn(chaos, "a", 200) != drawn(Chaos(0.3, 8), "a", 200)
    assert drawn(chaos, "a", 200) != drawn(chaos, "b", 200)
    first, second = drawn(chaos, "a", 200), drawn(chaos, "a", 200, attempt=1)
    assert sum(one != other for one, other in zip(first, second, strict=True)) > 50


def test_all_of_its_faults_are_drawn_and_no_others() -> None:
    assert set(drawn(Chaos(1), "", 2_000)) == set(chaos_faults())
    assert set(drawn(Chaos(1, names=("cut", "reset")), "", 200)) == {"cut", "reset"}


def test_only_what_fits_is_drawn() -> None:
    chaos = Chaos(1)
    found = [chaos.draw("", turn, 0, lambda kind: "whole" in kind.forms) for turn in range(500)]
    assert {plan.kind.name for plan in found if plan} == {
        name for name in chaos_faults() if "whole" in FAULTS[name].forms
    }
    assert chaos.draw("", 0, 0, lambda kind: False) is None


def test_no_share_is_no_chaos() -> None:
    assert not any(drawn(Chaos(0), "", 1_000))


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"share": 1.1}, "chaos=1.1: must be 0 to 1"),
        ({"share": float("nan")}, "chaos=nan: must be 0 to 1"),
        ({"share": 0.1, "seed": -1}, "seed=-1"),
        ({"share": 0.1, "names": ()}, "at least one fault"),
        ({"share": 0.1, "names": ("nope",)}, "unknown fault 'nope'"),
    ],
)
def test_chaos_that_makes_no_sense_is_refused(arguments: dict[str, Any], told: str) -> None:
    with pytest.raises(BadFault, match=told):
        Chaos(**arguments)


def client(http: httpx.Client, server: Server, seed: int, stream: bool) -> None:
    """A client of eight turns that asks again until it has a whole reply."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "go"}]
    url = server.url_for(f"runaway;chaos=0.4,seed={seed}", run=f"seed{seed}")
    for turn in range(8):
        body = {"model": "m", "messages": messages, "tools": TOOLS, "stream": stream}
        while not whole(http, f"{url}/chat/completions", body):
            pass
        call = {"id": f"fake{turn}", "type": "function"}
        call["function"] = {"name": "list_files", "arguments": "{}"}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"fake{turn}", "content": "[]"})


def whole(http: httpx.Client, url: str, body: dict[str, Any]) -> bool:
    try:
        reply = http.post(url, json=body)
    except httpx.TransportError:
        return False
    return reply.status_code == 200 and (not body["stream"] or "data: [DONE]" in reply.text)


TOOLS = [{"type": "function", "function": {"name": "list_files"}}]


@pytest.mark.parametrize("stream", [False, True])
def test_twenty_seeds_twice_make_identical_journals_but_for_the_clock(
    server: Server, http: httpx.Client, stream: bool
) -> None:
    journals = []
    for _ in range(2):
        for seed in SEEDS:
            http.delete(f"{server.url}/_journal", params={"run": f"seed{seed}"})
            client(http, server, seed, stream)
        shown = [http.get(f"{server.url}/_journal", params={"run": f"seed{s}"}) for s in SEEDS]
        journals.append([timeless(one.json()["exchanges"]) for one in shown])
    assert journals[0] == journals[1]
    faults = {one["fault"] for run in journals[0] for one in run}
    assert len(faults) > 6
    assert {one["attempt"] for run in journals[0] for one in run} > {0, 1, 2}


def timeless(exchanges: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: one[key] for key in one if key not in TIMINGS} for one in exchanges]

"""The contract: what it says of loops that are wrong, and what it needs of an adapter."""

from __future__ import annotations

import json
import sys
from typing import Any

import httpx
import pytest

from fakeprovider.contract import (
    CannotRun,
    ContractBroken,
    Limits,
    Report,
    check_stop_contract,
)
from fakeprovider.verdict import UnknownClause


def loop(base_url: str, limits: Limits, cap: int) -> tuple[int, int]:
    """A bare loop with a cap: turns and tokens."""
    tools = {tool.name: tool.run for tool in limits.tools}
    offered = [
        {"type": "function", "function": {"name": one.name, "parameters": dict(one.parameters)}}
        for one in limits.tools
    ]
    messages: list[dict[str, Any]] = [{"role": "user", "content": limits.task}]
    turns = tokens = 0
    with httpx.Client(transport=limits.transport, timeout=60) as client:
        for _ in range(cap):
            body = {"model": "m", "messages": messages, "tools": offered}
            answer = client.post(f"{base_url}/chat/completions", json=body)
            answer.raise_for_status()
            said, turns = answer.json()["choices"][0]["message"], turns + 1
            tokens += answer.json()["usage"]["total_tokens"]
            messages.append(said)
            if not said.get("tool_calls"):
                break
            for call in said["tool_calls"]:
                given = json.loads(call["function"]["arguments"])
                result = tools[call["function"]["name"]](**given)
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
    return turns, tokens


def capped(base_url: str, limits: Limits) -> Report:
    turns, tokens = loop(base_url, limits, limits.turns or 50)
    return Report(turns=turns, tokens=tokens)


def one_too_many(base_url: str, limits: Limits) -> None:
    loop(base_url, limits, (limits.turns or 50) + 1)


def test_a_clause_can_be_checked_alone_in_process_and_over_a_socket() -> None:
    for in_process in (True, False):
        (found,) = check_stop_contract(capped, clauses=["cap"], in_process=in_process, examples=2)
        assert (found.clause, found.result) == ("cap", "pass")


def test_a_failure_shows_clause_smallest_case_and_transcript() -> None:
    with pytest.raises(ContractBroken) as broken:
        check_stop_contract(one_too_many, clauses=["cap", "ends"], in_process=True, examples=20)
    assert broken.value.clauses == ("cap",)
    told = str(broken.value)
    assert "cap: 2 model calls under a cap of 1" in told
    assert "turns=1," in told  # the smallest cap
    assert "Replies(" in told
    assert "total" in told


def test_what_the_report_does_not_promise_is_not_observable() -> None:
    found = check_stop_contract(
        capped, clauses=["approval", "cancel", "reported"], in_process=True, examples=2
    )
    assert {one.clause: one.result for one in found} == {
        "approval": "not observable",
        "cancel": "not observable",
        "reported": "pass",
    }


def test_a_report_that_is_wrong_is_found() -> None:
    def lies(base_url: str, limits: Limits) -> Report:
        turns, tokens = loop(base_url, limits, limits.turns or 50)
        return Report(turns=turns, tokens=tokens - 1)

    with pytest.raises(ContractBroken, match=r"it reports \d+ tokens"):
        check_stop_contract(lies, clauses=["reported"], in_process=True, examples=2)


def test_an_agent_that_gets_nowhere_is_told_apart_from_one_that_breaks_the_contract() -> None:
    def nothing(base_url: str, limits: Limits) -> None:
        return None

    def broken(base_url: str, limits: Limits) -> None:
        raise OSError("no such agent")

    with pytest.raises(CannotRun, match="it made no request"):
        check_stop_contract(nothing, in_process=True)
    with pytest.raises(CannotRun, match="no such agent"):
        check_stop_contract(broken, in_process=True)


def test_an_unknown_clause_is_refused_with_those_there_are() -> None:
    with pytest.raises(UnknownClause, match="there are: ends, cap"):
        check_stop_contract(capped, clauses=["caps"])


def test_skipped_clauses_are_not_checked() -> None:
    found = check_stop_contract(
        capped, clauses=["cap", "ends"], skip=["cap"], in_process=True, examples=1
    )
    assert [one.clause for one in found] == ["ends"]


COMMAND = """
import json, os, urllib.request
url = os.environ["LLM_BASE_URL"] + "/chat/completions"
read = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
tools = [{"type": "function", "function": {"name": "cat", "parameters": read}}]
messages = [{"role": "user", "content": os.environ["FAKEPROVIDER_TASK"]}]
turns = tokens = 0
for _ in range(int(os.environ["FAKEPROVIDER_MAX_TURNS"])):
    body = json.dumps({"model": "m", "messages": messages, "tools": tools}).encode()
    asked = urllib.request.Request(url, body, {"content-type": "application/json"})
    reply = json.load(urllib.request.urlopen(asked))
    said, turns = reply["choices"][0]["message"], turns + 1
    tokens += reply["usage"]["total_tokens"]
    messages.append(said)
    if not said.get("tool_calls"):
        break
    messages += [{"role": "tool", "tool_call_id": call["id"], "content": "x"}
                 for call in said["tool_calls"]]
with open(os.environ["FAKEPROVIDER_REPORT"], "w") as file:
    json.dump({"turns": turns, "tokens": tokens, "colour": "blue"}, file)
"""


def test_a_command_is_told_its_limits_and_may_report() -> None:
    """Its own tool is named by a mapping; fields of the report that nobody knows pass."""
    found = check_stop_contract(
        [sys.executable, "-c", COMMAND],
        clauses=["cap", "reported"],
        tools={"read_note": "cat"},
        examples=2,
    )
    assert {one.result for one in found} == {"pass"}

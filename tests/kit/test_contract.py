"""The contract: what it says of loops that are wrong, and what it needs of an adapter."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from dataclasses import replace
from typing import Any

import httpx
import pytest

from fakeprovider.contract import (
    CONTRACT,
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
        {"type": "function", "function": {"name": tool.name, "parameters": dict(tool.parameters)}}
        for tool in limits.tools
    ]
    messages: list[dict[str, Any]] = [{"role": "user", "content": limits.task}]
    turns = tokens = 0
    with httpx.Client(transport=limits.transport, timeout=60) as client:
        for _ in range(cap):
            body = {"model": "m", "messages": messages, "tools": offered}
            answer = client.post(f"{base_url}/chat/completions", json=body)
            answer.raise_for_status()
            reply, turns = answer.json()["choices"][0]["message"], turns + 1
            tokens += answer.json()["usage"]["total_tokens"]
            messages.append(reply)
            if not reply.get("tool_calls"):
                break
            for call in reply["tool_calls"]:
                arguments = json.loads(call["function"]["arguments"])
                result = tools[call["function"]["name"]](**arguments)
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
    return turns, tokens


def capped(base_url: str, limits: Limits) -> Report:
    turns, tokens = loop(base_url, limits, limits.turns or 50)
    return Report(turns=turns, tokens=tokens)


def one_too_many(base_url: str, limits: Limits) -> None:
    loop(base_url, limits, (limits.turns or 50) + 1)


def test_a_clause_can_be_checked_alone_in_process_and_over_a_socket() -> None:
    for in_process in (True, False):
        (result,) = check_stop_contract(capped, clauses=["cap"], in_process=in_process, examples=2)
        assert (result.clause, result.result) == ("cap", "pass")


def test_a_failure_shows_clause_smallest_case_and_transcript() -> None:
    with pytest.raises(ContractBroken) as broken:
        check_stop_contract(one_too_many, clauses=["cap", "ends"], in_process=True, examples=20)
    assert broken.value.clauses == ("cap",)
    message = str(broken.value)
    assert "cap: 2 model calls under a cap of 1" in message
    assert "turns=1," in message  # the smallest cap
    assert "Replies(" in message
    assert "total" in message


def test_what_the_report_does_not_promise_is_not_observable() -> None:
    results = check_stop_contract(
        capped, clauses=["approval", "cancel", "reported"], in_process=True, examples=2
    )
    assert {result.clause: result.result for result in results} == {
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


def test_what_leaves_nothing_to_check_is_refused() -> None:
    with pytest.raises(UnknownClause, match="'capp'; there are: ends, cap"):
        check_stop_contract(capped, skip=["capp"])
    with pytest.raises(ValueError, match="nothing left to check"):
        check_stop_contract(capped, clauses=["cap"], skip=["cap"])
    with pytest.raises(ValueError, match="nothing left to check"):
        check_stop_contract(capped, skip=CONTRACT)
    with pytest.raises(ValueError, match="examples=0: must be 1 or more"):
        check_stop_contract(capped, examples=0)


def test_one_clause_may_be_named_without_a_list() -> None:
    (result,) = check_stop_contract(capped, clauses="cap", in_process=True, examples=1)
    assert result.clause == "cap"
    with pytest.raises(ValueError, match="nothing left to check"):
        check_stop_contract(capped, clauses="cap", skip="cap")


def test_an_adapter_that_returns_no_report_is_told_so() -> None:
    wrong: Any = lambda base_url, limits: loop(base_url, limits, 5)  # noqa: E731
    with pytest.raises(TypeError, match=r"returned \(2, \d+\) \(tuple\), not None or a Report"):
        check_stop_contract(wrong, in_process=True)


def test_an_async_adapter_is_awaited() -> None:
    async def adapter(base_url: str, limits: Limits) -> Report:
        return await asyncio.to_thread(capped, base_url, limits)

    results = check_stop_contract(adapter, clauses=["cap", "reported"], in_process=True, examples=1)
    assert {result.result for result in results} == {"pass"}


def test_an_adapter_that_leaves_the_transport_out_is_told_of_it() -> None:
    def socket(base_url: str, limits: Limits) -> Report:
        return capped(base_url, replace(limits, transport=None))

    with pytest.raises(CannotRun, match=r"transport=limits\.transport"):
        check_stop_contract(socket, in_process=True)


def test_a_command_that_gets_nowhere_is_told_with_its_status_and_its_last_words() -> None:
    code = "import sys; sys.exit('no such model: colour')"
    with pytest.raises(CannotRun, match=r"status 1\nno such model: colour"):
        check_stop_contract([sys.executable, "-c", code])
    with pytest.raises(CannotRun, match=r"status 127 \(command not found: no-such-agent\)"):
        check_stop_contract(["no-such-agent"])
    with pytest.raises(ValueError, match="a command needs a socket"):
        check_stop_contract(["no-such-agent"], in_process=True)


def test_skipped_clauses_are_not_checked() -> None:
    results = check_stop_contract(
        capped, clauses=["cap", "ends"], skip=["cap"], in_process=True, examples=1
    )
    assert [result.clause for result in results] == ["ends"]


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
    results = check_stop_contract(
        [sys.executable, "-c", COMMAND],
        clauses=["cap", "reported"],
        tools={"read_note": "cat"},
        examples=2,
    )
    assert {result.result for result in results} == {"pass"}


def test_an_adapter_that_hangs_or_raises_is_told_as_such() -> None:
    left = threading.Event()

    def hangs(base_url: str, limits: Limits) -> None:
        left.wait()

    def raises(base_url: str, limits: Limits) -> None:
        raise KeyError("model")

    with pytest.raises(CannotRun, match=r"it was still running after 0\.2 s"):
        check_stop_contract(hangs, in_process=True, patience=0.2)
    left.set()
    with pytest.raises(CannotRun, match="it raised KeyError: 'model'") as raised:
        check_stop_contract(raises, in_process=True)
    assert isinstance(raised.value.__cause__, KeyError)


def test_what_is_no_agent_and_no_number_is_a_type_error_that_says_what_to_pass() -> None:
    wrong: Any
    for wrong, message in (("python x.py", "as a list"), ([], "is the program"), (3, "no agent")):
        with pytest.raises(TypeError, match=message):
            check_stop_contract(wrong)
    wrong = "x"
    with pytest.raises(TypeError, match="examples='x': must be a whole number"):
        check_stop_contract(capped, examples=wrong)


def test_a_report_of_another_kind_is_refused_with_where_to_find_the_right_one() -> None:
    def reports(base_url: str, limits: Limits) -> Any:
        return {"budget": True}

    with pytest.raises(TypeError, match=r"from fakeprovider\.contract import Report"):
        check_stop_contract(reports, in_process=True)

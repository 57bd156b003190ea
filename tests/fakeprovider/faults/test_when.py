"""When a fault strikes: by path, server or script; on which turn; on which attempt."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import httpx
import openai
import pytest

from fakeprovider.conversation import Conversation
from fakeprovider.faults import BadFault, Chaos, orders, plan
from fakeprovider.replies import Fault, Reply, Text, ask, say
from fakeprovider.server import Server
from fakeprovider.verdict import verdict


def twice_busy(conversation: Conversation) -> Reply:
    """Busy for two attempts of its first turn, then it lists files."""
    if conversation.turn == 0:
        asked = ask("list_files")
        return Reply(asked.blocks, fault=Fault("unavailable", {"times": 2}))
    return say("done")


def misspelt(conversation: Conversation) -> Reply:
    """Names a fault that does not exist."""
    return Reply((Text("x"),), fault=Fault("rate_limit"))


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with Server("plan", scripts={"twice_busy": twice_busy, "misspelt": misspelt}) as server:
        yield server


TOOLS = [{"type": "function", "function": {"name": name}} for name in ("list_files", "read_file")]


def history(turn: int) -> list[dict[str, Any]]:
    """A transcript in which `list_files` was asked for and answered `turn` times."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "go"}]
    for at in range(turn):
        function = {"name": "list_files", "arguments": "{}"}
        call = {"id": f"fake{at}", "type": "function", "function": function}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"fake{at}", "content": "[]"})
    return messages


@pytest.fixture
def statuses(http: httpx.Client) -> Callable[..., list[int]]:
    """The statuses of the same request, sent several times."""

    def post(
        server: Server, path: str, *, run: str = "", turn: int = 0, count: int = 4, **headers: str
    ) -> list[int]:
        body = {"model": "m", "messages": history(turn), "tools": TOOLS}
        url = f"{server.url_for(path, run=run)}/chat/completions"
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        return [http.post(url, json=body, headers=sent).status_code for _ in range(count)]

    return post


def test_the_path_names_a_fault_with_its_turn_and_times(
    running: Server, statuses: Callable[..., list[int]]
) -> None:
    path = "runaway;fault=rate_limited,turn=3,times=2"
    assert statuses(running, path, turn=2) == [200] * 4
    assert statuses(running, path, turn=3) == [429, 429, 200, 200]
    assert statuses(running, path, turn=4) == [200] * 4


def test_without_times_every_attempt_fails(
    running: Server, statuses: Callable[..., list[int]]
) -> None:
    assert statuses(running, "runaway;fault=overloaded") == [529] * 4


def test_attempts_are_counted_for_each_run_apart_and_forgotten_with_the_journal(
    running: Server, statuses: Callable[..., list[int]], http: httpx.Client
) -> None:
    path = "runaway;fault=rate_limited,times=1"
    assert statuses(running, path, run="a", count=2) == [429, 200]
    assert statuses(running, path, run="b", count=2) == [429, 200]
    assert statuses(running, path, run="a", count=1) == [200]
    http.delete(f"{running.url}/_journal", params={"run": "a"})
    assert statuses(running, path, run="a", count=1) == [429]
    assert statuses(running, path, run="b", count=1) == [200]


def test_a_clients_own_count_of_retries_is_believed_where_it_is_larger(
    running: Server, statuses: Callable[..., list[int]]
) -> None:
    """A server that is new does not fail an attempt that the client says is its third."""
    path = "runaway;fault=rate_limited,times=2"
    told = {"x_stainless_retry_count": "2"}
    assert statuses(running, path, run="told", count=2, **told) == [200, 200]
    found = running.journal.exchanges("told")
    assert [one.attempt for one in found] == [2, 3]
    assert [one.retry_count for one in found] == [2, 2]


def test_the_journal_shows_the_attempts_of_one_step(
    running: Server, statuses: Callable[..., list[int]]
) -> None:
    statuses(running, "runaway;fault=unavailable,times=2", run="steps", count=3)
    found = running.journal.exchanges("steps")
    assert [(one.attempt, one.status, one.fault) for one in found] == [
        (0, 503, "unavailable"),
        (1, 503, "unavailable"),
        (2, 200, ""),
    ]
    assert len({one.digest for one in found}) == 1


def test_several_faults_stand_in_one_path_and_the_first_that_is_due_strikes(
    running: Server, statuses: Callable[..., list[int]]
) -> None:
    path = "runaway;fault=unauthorized,turn=1;fault=overloaded,turn=1-2;turn_offset=1"
    assert statuses(running, path, turn=1, count=1) == [200]
    assert statuses(running, path, turn=2, count=1) == [401]
    assert statuses(running, path, turn=3, count=1) == [529]


def test_a_script_names_a_fault_and_goes_on_after_it(
    running: Server, statuses: Callable[..., list[int]]
) -> None:
    assert statuses(running, "twice_busy", run="script") == [503, 503, 200, 200]


def test_a_script_that_names_no_fault_that_exists_is_told_so(
    running: Server, http: httpx.Client
) -> None:
    body = {"model": "misspelt", "messages": history(0)}
    found = http.post(f"{running.base_url}/chat/completions", json=body)
    assert found.status_code == 500
    assert "unknown fault 'rate_limit'; did you mean 'rate_limited'" in found.text
    assert found.headers["x-should-retry"] == "false"


def test_a_server_has_faults_of_its_own(statuses: Callable[..., list[int]]) -> None:
    with Server("runaway", faults=[Fault("server_error", {"times": 1})]) as server:
        assert statuses(server, "", count=3) == [500, 200, 200]
        assert statuses(server, ";fault=overloaded,turn=5", count=2, turn=5) == [529, 529]
    with pytest.raises(BadFault, match="unknown fault 'nope'"):
        Server("runaway", faults=[Fault("nope")])


def test_a_side_request_is_no_turn_and_meets_no_fault(running: Server, http: httpx.Client) -> None:
    title = "You are a title generator. You output ONLY a thread title."
    messages = [{"role": "system", "content": title}, {"role": "user", "content": "go"}]
    url = running.url_for("runaway;fault=reset", run="side")
    found = http.post(f"{url}/chat/completions", json={"model": "m", "messages": messages})
    assert found.status_code == 200
    assert running.journal.exchanges("side")[0].side == "title"


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("plan;fault=cutt", "unknown fault 'cutt'; did you mean 'cut'"),
        ("plan;fault=cut,after=x", "after='x': must be a whole number"),
        ("plan;after=3", "unknown path parameter 'after'; there are: fault, client"),
        ("plan;fault=cut,after=1,after=2", "path parameter 'after' is given twice"),
        ("plan;latency=1;latency=2", "path parameter 'latency' is given twice"),
        ("plan;chaos=1.5", "chaos=1.5: must be 0 to 1"),
        ("plan;chaos=x", "chaos='x': chaos must be 0 to 1"),
        ("plan;seed=3", "seed needs chaos=SHARE beside it"),
        ("plan;latency=-1", "latency='-1': must be a number, 0 or more"),
        ("plan;pace=warp", "pace='warp': must be one of gemini-2.5-flash"),
    ],
)
def test_a_path_that_makes_no_sense_is_a_404_that_says_why(
    running: Server, http: httpx.Client, path: str, told: str
) -> None:
    body = {"model": "m", "messages": history(0)}
    found = http.post(f"{running.url_for(path)}/chat/completions", json=body)
    assert found.status_code == 404
    assert told in found.json()["error"]["message"]


def test_orders_know_whether_attempts_must_be_counted() -> None:
    assert not orders([Fault("reset")]).counts
    assert orders([Fault("reset", {"times": 1})]).counts
    assert orders([], Chaos(0.1)).counts
    assert not orders([])
    assert plan("reset").times is None


@pytest.mark.parametrize("fault", ["rate_limited,times=1,retry_after=0.2", "reset,times=1"])
def test_an_official_sdk_gets_past_a_fault_by_its_own_retry(running: Server, fault: str) -> None:
    """It waits as long as it was told, and says which attempt it is."""
    url = running.url_for(f"runaway;fault={fault}", run=fault)
    with openai.OpenAI(base_url=url, api_key="any", max_retries=1) as client:
        tools: Any = TOOLS
        messages: Any = history(0)
        reply = client.chat.completions.create(model="m", messages=messages, tools=tools)
    assert reply.choices[0].finish_reason == "tool_calls"
    first, second = running.journal.exchanges(fault)
    assert (first.attempt, first.retry_count, first.broken) == (0, 0, True)
    assert (second.attempt, second.retry_count, second.broken) == (1, 1, False)
    results = verdict([first, second])
    assert [result.clause for result in results if result.failed] == []

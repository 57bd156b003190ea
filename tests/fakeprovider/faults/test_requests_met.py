"""What real clients sent, and met when they sent it again: refusals, counts, retries."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from faulty_replies import RequestBody

from fakeprovider.conversation import Conversation
from fakeprovider.replies import Reply, ask, say
from fakeprovider.server import Server

A = '{"path":"a.txt"}'


def turn(*ids: str) -> dict[str, Any]:
    function = {"name": "read_file", "arguments": A}
    made = [{"id": one, "type": "function", "function": function} for one in ids]
    return {"role": "assistant", "content": None, "tool_calls": made}


def result(call_id: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": "x"}


USER = {"role": "user", "content": "go"}


@pytest.mark.parametrize(
    ("messages", "status"),
    [
        ([USER, turn("a", "b"), result("a"), USER], 400),
        ([USER, result("a")], 400),
        ([USER, turn("a", "b"), result("b"), result("a"), USER], 200),
        ([USER, turn("a"), USER, result("a")], 400),
        ([USER, turn("a"), result("a"), result("a")], 400),
    ],
)
def test_requests_whose_calls_and_results_do_not_pair_are_refused(
    server: Server, http: httpx.Client, messages: list[Any], status: int
) -> None:
    found = http.post(
        f"{server.base_url}/chat/completions", json={"model": "m", "messages": messages}
    )
    assert found.status_code == status
    if status == 400:
        assert found.json()["error"]["type"] == "invalid_request_error"
        assert "'a'" in found.text or "'b'" in found.text


@pytest.mark.parametrize(
    ("blocks", "status"),
    [
        (["text", "a"], 400),
        (["a"], 400),
        (["a", "b", "text"], 200),
        (["a", "b", "c"], 400),
    ],
)
def test_results_come_first_and_for_each_call_in_messages(
    server: Server, http: httpx.Client, blocks: list[str], status: int
) -> None:
    uses = [
        {"type": "tool_use", "id": one, "name": "read_file", "input": {}}
        for one in (["a"] if blocks == ["text", "a"] else ["a", "b"])
    ]
    content = [
        {"type": "text", "text": "go on"}
        if one == "text"
        else {"type": "tool_result", "tool_use_id": one, "content": "x"}
        for one in blocks
    ]
    messages = [
        USER,
        {"role": "assistant", "content": uses},
        {"role": "user", "content": content},
    ]
    body = {"model": "m", "max_tokens": 100, "messages": messages}
    assert http.post(f"{server.base_url}/messages", json=body).status_code == status


ECHO = {**turn("a"), "reasoning_content": "This needs a tool."}


@pytest.mark.parametrize(
    ("fault", "messages", "status"),
    [
        ("", [{"role": "developer", "content": "x"}, USER], 200),
        ("", [{"role": "banana", "content": "x"}, USER], 400),
        ("", [USER, turn("a"), {**result("a"), "content": [{"type": "text", "text": "x"}]}], 200),
        ("", [USER, turn("a"), {**result("a"), "content": []}], 400),
        ("", [USER, {"role": "assistant", "content": None}, USER], 400),
        ("", [USER, {"role": "assistant", "content": ""}, USER], 200),
        (";fault=reasoning_required", [USER, ECHO, result("a")], 200),
        (";fault=reasoning_required", [USER, turn("a"), result("a")], 400),
        (
            ";fault=reasoning_required",
            [USER, {**ECHO, "reasoning_content": ""}, result("a")],
            400,
        ),
    ],
)
def test_roles_and_shapes_of_requests(
    server: Server, http: httpx.Client, fault: str, messages: list[Any], status: int
) -> None:
    url = f"{server.url_for('words' + fault)}/chat/completions"
    found = http.post(url, json={"model": "m", "messages": messages})
    assert found.status_code == status, found.text


def test_a_schema_is_met_or_refused_and_ignored_only_by_a_fault(
    server: Server, http: httpx.Client
) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    form = {"type": "json_schema", "json_schema": {"name": "n", "schema": schema}}
    body = {"model": "m", "messages": [USER], "response_format": form}

    def status(path: str) -> int:
        return http.post(f"{server.url_for(path)}/chat/completions", json=body).status_code

    assert status("words") == 400
    assert status("words;fault=prose") == 200


def test_both_endpoints_count_alike_or_one_is_wrong_or_missing(
    server: Server, http: httpx.Client, request_body: RequestBody
) -> None:
    content = request_body("messages", system="Be brief.")

    def counted(fault: str) -> httpx.Response:
        return http.post(
            f"{server.url_for('both' + fault)}/messages/count_tokens?beta=true", json=content
        )

    usage = http.post(f"{server.url_for('both')}/messages", json=content).json()["usage"]
    assert counted("").json() == {"input_tokens": usage["input_tokens"]}
    scaled = counted(";fault=count_scaled,factor=0.55").json()["input_tokens"]
    assert scaled == round(usage["input_tokens"] * 0.55)
    more = counted(";fault=count_more,tokens=2000").json()["input_tokens"]
    assert more == usage["input_tokens"] + 2000
    assert counted(";fault=count_missing").status_code == 404
    assert counted(";fault=count_missing").json()["type"] == "error"
    unknown = http.post(f"{server.base_url}/messages/count_tokenz", json=content)
    assert (unknown.status_code, "error" in unknown.json()) == (404, True)


def rules(conversation: Conversation) -> Reply:
    """A call for "pie", words once it was answered, another call for "bar"."""
    if conversation.results:
        return say("drawn")
    return ask("chart2" if "bar" in conversation.user_messages[-1] else "chart")


def named(response: httpx.Response) -> Any:
    """The tool of the first call, or the text."""
    message = response.json()["choices"][0]["message"]
    return (
        message["tool_calls"][0]["function"]["name"]
        if message.get("tool_calls")
        else message["content"]
    )


def test_a_rule_on_a_result_is_about_the_last_message_only(http: httpx.Client) -> None:
    def chart(call_id: str) -> list[Any]:
        function = {"name": "chart", "arguments": "{}"}
        made = [{"id": call_id, "type": "function", "function": function}]
        return [{"role": "assistant", "content": None, "tool_calls": made}, result(call_id)]

    pie, bar = {"role": "user", "content": "pie"}, {"role": "user", "content": "bar"}
    tools = [{"type": "function", "function": {"name": name}} for name in ("chart", "chart2")]
    drawn = {"role": "assistant", "content": "drawn"}
    with Server(rules) as server:
        url = f"{server.base_url}/chat/completions"
        for messages, expected in (
            ([pie], "chart"),
            ([pie, *chart("fake0")], "drawn"),
            ([pie, *chart("fake0"), drawn, bar], "chart2"),
            ([pie, *chart("my-own-id")], "drawn"),
        ):
            body = {"model": "m", "messages": messages, "tools": tools}
            assert named(http.post(url, json=body)) == expected
        use = {"type": "tool_use", "id": "fake0", "name": "chart", "input": {}}
        answered = [
            {"type": "tool_result", "tool_use_id": "fake0", "content": "x"},
            {"type": "text", "text": "go on"},
        ]
        body = {
            "model": "m",
            "max_tokens": 100,
            "tools": [{"name": "chart", "input_schema": {}}],
            "messages": [
                pie,
                {"role": "assistant", "content": [use]},
                {"role": "user", "content": answered},
            ],
        }
        reply = http.post(f"{server.base_url}/messages", json=body).json()
        assert reply["content"] == [{"type": "text", "text": "drawn"}]


def echo(conversation: Conversation) -> Reply:
    """Calls a tool, then says ok."""
    return say("ok") if conversation.turn else ask("echo")


@pytest.mark.parametrize("fault", ["reset_mid_body,times=1", "unavailable,times=1"])
def test_a_retry_gets_the_reply_that_failed_and_the_journal_shows_two_attempts(
    http: httpx.Client, fault: str
) -> None:
    tools = [{"type": "function", "function": {"name": "echo"}}]
    body = {"model": "m", "messages": [USER], "tools": tools}
    with Server("plan", scripts={"echo": echo}) as server:
        url = f"{server.url_for(f'echo;fault={fault}', run='one')}/chat/completions"
        try:
            first = http.post(url, json=body).status_code
        except httpx.ReadError:
            first = 0
        assert first in (0, 503)
        assert named(http.post(url, json=body)) == "echo"
        found = server.journal.exchanges("one")
    assert [(one.turn, one.attempt) for one in found] == [(0, 0), (0, 1)]
    assert found[0].digest == found[1].digest


def test_clients_that_alternate_each_see_their_own_script(http: httpx.Client) -> None:
    """And a body that is sent twice on purpose gets one answer twice."""
    tools = [{"type": "function", "function": {"name": "echo"}}]
    second = [USER, {**turn("fake0")}, result("fake0")]
    with Server("plan", scripts={"echo": echo}) as server:
        for messages, expected in ((([USER]), "echo"), (second, "ok")):
            for run in ("a", "b", "a"):
                url = f"{server.url_for('echo', run=run)}/chat/completions"
                body = {"model": "m", "messages": messages, "tools": tools}
                assert named(http.post(url, json=body)) == expected


def test_connections_are_kept_or_closed_unannounced(
    server: Server, request_body: RequestBody
) -> None:
    with httpx.Client() as client:

        def post(stream: bool, fault: str = "") -> httpx.Response:
            url = f"{server.url_for('both' + fault)}/chat/completions"
            reply = client.post(url, json=request_body("chat", stream))
            assert reply.status_code == 200
            return reply

        def used(stream: bool) -> Any:
            return post(stream).extensions["network_stream"].get_extra_info("client_addr")

        kept = [used(stream) for stream in (True, True, False, True)]
        assert len(set(kept)) == 1
        assert post(True, ";fault=close_after").text.endswith("data: [DONE]\n\n")
        assert used(False) != kept[0]

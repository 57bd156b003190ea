"""What real clients met on the wire, by the number of the case: the legal form by default, and the
faulty form on demand, by the name of its fault.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from fakeprovider.conversation import Conversation
from fakeprovider.replies import Reply, ask, say
from fakeprovider.server import Server

Sent = Callable[..., Any]
USAGE = {"stream_options": {"include_usage": True}}
DIALECTS = ["chat", "messages", "responses"]
A, B = '{"path":"a.txt"}', '{"path":"b.txt"}'


def calls(found: Any) -> list[dict[str, Any]]:
    """The tool call deltas of a chat stream."""
    chunks = [event for event in found.events if event != "[DONE]"]
    choices = [choice for chunk in chunks for choice in chunk["choices"]]
    return [one for choice in choices for one in choice["delta"].get("tool_calls") or ()]


def finishes(found: Any) -> list[Any]:
    """The finish reasons of a chat stream."""
    chunks = [event for event in found.events if event != "[DONE]"]
    return [choice["finish_reason"] for chunk in chunks for choice in chunk["choices"]]


def test_A01_deltas_of_calls_have_an_index_or_none(sent: Sent) -> None:
    assert [one["index"] for one in calls(sent("chat", stream=True)) if "id" in one] == [0, 1]
    bare = calls(sent("chat", "no_index", stream=True))
    assert [sorted(one) for one in bare[:2]] == [["function", "id", "type"], ["function"]]
    together = calls(sent("chat", "no_index,form=one_chunk", stream=True))
    assert [one["function"]["arguments"] for one in together] == [A, B]
    later = calls(sent("chat", "no_index,form=after_first", stream=True))
    assert [one.get("index") for one in later if "id" in one] == [0, None]


def test_A02_continuations_have_no_id_or_an_empty_one_or_there_is_none(sent: Sent) -> None:
    def ids(fault: str) -> list[str | None]:
        return [one.get("id") for one in calls(sent("chat", fault, stream=True))][:3]

    assert ids("") == ["fake0", None, None]
    assert ids("call_ids,ids=empty") == ["fake0", "", ""]
    assert ids("call_ids,ids=missing") == [None, None, None]
    apart = calls(sent("chat", "call_apart", stream=True))[:3]
    assert [sorted({**one, **one.get("function", {})}) for one in apart] == [
        ["id", "index", "type"],
        ["function", "index", "name"],
        ["arguments", "function", "index"],
    ]


def test_A03_fragments_come_call_by_call_or_woven_together(sent: Sent) -> None:
    def order(found: Any) -> list[int]:
        return [one["index"] for one in calls(found)]

    assert order(sent("chat", stream=True)) == sorted(order(sent("chat", stream=True)))
    assert order(sent("chat", "interleaved", stream=True))[:6] == [0, 1, 0, 1, 0, 1]
    woven = sent("messages", "interleaved", stream=True)
    places = [event["index"] for event in woven.events if event["type"] == "content_block_delta"]
    assert places[:6] == [0, 1, 2, 0, 1, 2]
    second = sent("chat", "two_choices", stream=True)
    both = [choice["index"] for event in second.events[:-1] for choice in event["choices"]]
    assert both[:4] == [0, 1, 0, 1]
    assert [one["index"] for one in calls(second) if one.get("id")] == [0, 0, 1, 1]


def test_A05_arguments_of_a_tool_without_any(sent: Sent) -> None:
    tools = [{"type": "function", "function": {"name": "list_files"}}]

    def arguments(fault: str) -> list[str | None]:
        found = sent("chat", fault, stream=True, path="/runaway", tools=tools)
        return [one["function"].get("arguments") for one in calls(found)]

    assert arguments("") == ["", "{}"]
    assert arguments("empty_arguments") == [""]
    assert "".join(filter(None, arguments("empty_arguments,form=spaces"))) == "  "
    assert arguments("empty_arguments,form=none") == [None]
    assert arguments("truncated_arguments") == ["", "{"]
    silent = sent("messages", "empty_arguments,form=none", stream=True)
    assert "input_json_delta" not in silent.body.decode()
    assert '"partial_json":""' in sent("messages", "empty_arguments", stream=True).body.decode()


def test_A06_usage_comes_alone_if_asked_for_or_is_null_or_missing(sent: Sent) -> None:
    asked = sent("chat", stream=True, **USAGE)
    assert asked.events[-2]["choices"] == []
    assert all(event["usage"] is None for event in asked.events[:-2])
    assert b'"usage"' not in sent("chat", stream=True).body
    null = sent("chat", "usage_null", stream=True, **USAGE).events[-2]["usage"]
    assert (null["completion_tokens"], null["total_tokens"]) == (None, None)
    assert b'"usage"' not in sent("chat", "usage_missing", stream=True, **USAGE).body
    assert b'"usage"' in sent("chat", "usage_unasked", stream=True).body
    assert sent("chat", "empty_choices", stream=True).events[0]["choices"] == []


def test_A07_usage_is_a_total_and_may_come_again_and_again(sent: Sent) -> None:
    running = sent("chat", "usage_running", stream=True)
    totals = [event["usage"]["completion_tokens"] for event in running.events[:-1]]
    assert totals == sorted(totals)
    assert totals[-1] == running.exchange.usage.completion_tokens
    legal = sent("messages", stream=True)
    start, delta = legal.events[0]["message"]["usage"], legal.events[-2]["usage"]
    assert start["input_tokens"] == delta["input_tokens"]
    assert start["output_tokens"] < delta["output_tokens"]
    short = sent("messages", "usage_output_only", stream=True).events[-2]["usage"]
    assert short == {"output_tokens": delta["output_tokens"]}


def test_A09_finish_reason_and_calls_agree_or_not(sent: Sent) -> None:
    assert finishes(sent("chat", stream=True))[-2:] == [None, "tool_calls"]
    assert finishes(sent("chat", "finish_empty", stream=True, script="words"))[-2:] == ["", "stop"]
    assert finishes(sent("chat", "finish_disagrees", stream=True))[-1] == "stop"
    plain = sent("chat", script="words").json["choices"][0]["message"]
    assert "tool_calls" not in plain
    empty = sent("chat", "tool_calls_empty", script="words").json["choices"][0]
    assert (empty["message"]["tool_calls"], empty["finish_reason"]) == ([], "stop")
    null = sent("chat", "tool_calls_empty,value=null", script="words").json["choices"][0]
    assert null["message"]["tool_calls"] is None
    absent = sent("chat", "calls_absent").json["choices"][0]
    assert "tool_calls" not in absent["message"]
    assert absent["finish_reason"] == "tool_calls"
    legacy = sent("chat", "function_call").json["choices"][0]
    assert (legacy["message"]["function_call"]["arguments"], legacy["finish_reason"]) == (
        A,
        "function_call",
    )


def test_A10_a_call_that_is_cut_says_so_or_denies_it(sent: Sent) -> None:
    legal = sent("chat", max_tokens=34)
    choice = legal.json["choices"][0]
    assert choice["finish_reason"] == "length"
    assert legal.json["usage"]["completion_tokens"] == 34
    (cut,) = choice["message"]["tool_calls"]
    assert A.startswith(cut["function"]["arguments"])
    assert cut["function"]["arguments"] != A
    denied = sent("chat", "truncated_arguments").json["choices"][0]
    assert denied["finish_reason"] == "tool_calls"
    assert denied["message"]["tool_calls"][0]["function"]["arguments"] == '{"path":'
    valid = sent("chat", "truncated_arguments,form=valid,finish=length").json["choices"][0]
    assert valid["message"]["tool_calls"][0]["function"]["arguments"] == "{}"
    assert valid["finish_reason"] == "length"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_A11_streams_have_no_noise_or_all_of_it(sent: Sent, dialect: str) -> None:
    legal = sent(dialect, stream=True)
    assert not [
        line for line in legal.body.split(b"\n") if line.startswith((b":", b"retry", b"id"))
    ]
    noisy = sent(dialect, "comments", stream=True)
    assert noisy.events == legal.events
    for noise in (
        b": PROCESSING\n\n",
        b":\n",
        b"retry: 3000\n\n",
        b"event: ping\n\n",
        b"data:\n\n",
    ):
        assert noise in noisy.body


def test_A13_how_a_stream_ends(sent: Sent) -> None:
    legal = sent("chat", stream=True, script="words")
    assert legal.events[-1] == "[DONE]"
    assert legal.cut is None
    no_done = sent("chat", "no_done", stream=True, script="words")
    assert no_done.events == legal.events[:-1]
    nothing = sent("chat", "no_finish", stream=True, script="words")
    assert nothing.events == legal.events[:-2]
    done = sent("chat", "no_finish,done=yes", stream=True, script="words")
    assert done.events == [*legal.events[:-2], "[DONE]"]
    held = sent("chat", "hold_open,seconds=120", stream=True, script="words")
    assert (held.body, held.held) == (legal.body, 120)
    complete = sent("chat", "no_finish", stream=True)
    assert "".join(one["function"]["arguments"] for one in calls(complete)) == A + B
    messages = sent("messages", "no_finish", stream=True)
    assert not {"message_delta", "message_stop"} & set(messages.kinds)
    assert sent("chat", "headers_only", stream=True).body == b""


def test_A14_an_error_is_a_status_or_an_event_in_the_stream(sent: Sent) -> None:
    real = sent("messages", "unauthorized", stream=True)
    assert (real.status, real.json["error"]["type"]) == (401, "authentication_error")
    late = sent("messages", "error_mid_stream,after=1", stream=True)
    assert late.kinds[0] == "message_start"
    assert late.events[-1] == {
        "type": "error",
        "error": {"type": "overloaded_error", "message": "Overloaded"},
    }
    assert sent("messages", "error_mid_stream,at=first", stream=True).kinds == ["error"]
    after_call = sent("messages", "error_mid_stream,at=call", stream=True)
    assert after_call.kinds[-2:] == ["content_block_stop", "error"]
    chat = sent("chat", "error_mid_stream,error=server", stream=True)
    assert chat.events[-1]["error"]["type"] == "server_error"


SHAPES: dict[str, Callable[[Any], bool]] = {
    "service": lambda body: json.loads(body)["error"]["message"] == "m",
    "number_code": lambda body: json.loads(body)["error"]["code"] == 123,
    "string": lambda body: json.loads(body) == {"error": "m", "status": 402},
    "detail": lambda body: json.loads(body) == {"detail": "m"},
    "detail_list": lambda body: json.loads(body)["detail"][0]["msg"] == "m",
    "flat": lambda body: json.loads(body) == {"error_code": "BAD_REQUEST", "message": "m"},
    "nested": lambda body: json.loads(body) == {"error": {"error": {"message": "m"}}},
    "array": lambda body: json.loads(body) == [{"error": {"message": "m"}}],
    "text": lambda body: body == b"m",
    "html": lambda body: body.startswith(b"<html>") and b"402 m" in body,
    "empty": lambda body: body == b"",
}


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("shape", SHAPES)
def test_A15_error_bodies_have_the_services_shape_or_another(
    sent: Sent, dialect: str, shape: str
) -> None:
    found = sent(dialect, f"http_error,status=402,message=m,shape={shape}")
    assert found.status == 402
    assert SHAPES[shape](found.body)
    assert found.headers["content-type"].startswith(
        {"text": "text/plain", "html": "text/html", "empty": "text/plain"}.get(
            shape, "application/json"
        )
    )
    if shape == "service":
        assert list(found.json) == (
            ["type", "error", "request_id"] if dialect == "messages" else ["error"]
        )


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
def test_A17_requests_whose_calls_and_results_do_not_pair_are_refused(
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
def test_A17_results_come_first_and_for_each_call_in_messages(
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
def test_A18_roles_and_shapes_of_requests(
    server: Server, http: httpx.Client, fault: str, messages: list[Any], status: int
) -> None:
    url = f"{server.url_for('words' + fault)}/chat/completions"
    found = http.post(url, json={"model": "m", "messages": messages})
    assert found.status_code == status, found.text


def test_A18_a_schema_is_met_or_refused_and_ignored_only_by_a_fault(
    server: Server, http: httpx.Client
) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    form = {"type": "json_schema", "json_schema": {"name": "n", "schema": schema}}
    body = {"model": "m", "messages": [USER], "response_format": form}

    def status(path: str) -> int:
        return http.post(f"{server.url_for(path)}/chat/completions", json=body).status_code

    assert status("words") == 400
    assert status("words;fault=prose") == 200


def test_A19_order_of_events_and_place_of_tool_input(sent: Sent) -> None:
    legal = sent("messages", stream=True)
    assert legal.kinds[:3] == ["message_start", "ping", "content_block_start"]
    assert legal.kinds[-2:] == ["message_delta", "message_stop"]
    starts = [event for event in legal.events if event["type"] == "content_block_start"]
    assert [start["content_block"].get("input") for start in starts] == [None, {}, {}]
    early = sent("messages", "delta_before_start", stream=True)
    assert early.kinds[0] == "content_block_delta"
    assert sent("messages", "second_start", stream=True).kinds.count("message_start") == 2
    assert sent("messages", "error_mid_stream,at=first", stream=True).kinds[0] == "error"
    whole = sent("messages", "input_in_start", stream=True)
    starts = [event for event in whole.events if event["type"] == "content_block_start"]
    assert [start["content_block"].get("input") for start in starts[1:]] == [
        {"path": "a.txt"},
        {"path": "b.txt"},
    ]
    one = sent("messages", "one_block", stream=True)
    said = [event for event in one.events if "partial_json" in event.get("delta", {})]
    assert "".join(event["delta"]["partial_json"] for event in said) == A + B
    assert len({event["index"] for event in said}) == 1


def test_A21_both_endpoints_count_alike_or_one_is_wrong_or_missing(
    server: Server, http: httpx.Client, request_body: Callable[..., dict[str, Any]]
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


def named(found: Any) -> Any:
    """The tool of the first call, or the text."""
    message = found.json()["choices"][0]["message"]
    return (
        message["tool_calls"][0]["function"]["name"]
        if message.get("tool_calls")
        else message["content"]
    )


def test_A22_a_rule_on_a_result_is_about_the_last_message_only(http: httpx.Client) -> None:
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
def test_A23_a_retry_gets_the_reply_that_failed_and_the_journal_shows_two_attempts(
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


def test_A23_clients_that_alternate_each_see_their_own_script(http: httpx.Client) -> None:
    """And a body that is sent twice on purpose gets one answer twice."""
    tools = [{"type": "function", "function": {"name": "echo"}}]
    second = [USER, {**turn("fake0")}, result("fake0")]
    with Server("plan", scripts={"echo": echo}) as server:
        for messages, expected in ((([USER]), "echo"), (second, "ok")):
            for run in ("a", "b", "a"):
                url = f"{server.url_for('echo', run=run)}/chat/completions"
                body = {"model": "m", "messages": messages, "tools": tools}
                assert named(http.post(url, json=body)) == expected


@pytest.mark.parametrize("dialect", DIALECTS)
def test_A25_streamed_and_whole_say_the_same(sent: Sent, dialect: str) -> None:
    """Also with faults of the reply itself: only the framing differs."""
    for fault in (
        "",
        "unknown_tool",
        "other_model,model=x",
        "past_max_tokens",
        "mistyped_arguments",
    ):
        whole, stream = sent(dialect, fault), sent(dialect, fault, stream=True)
        for name in ("usage", "finish", "calls", "model", "said", "tools"):
            assert getattr(whole.exchange, name) == getattr(stream.exchange, name)


def test_A26_connections_are_kept_or_closed_unannounced(
    server: Server, request_body: Callable[..., dict[str, Any]]
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


def test_A27_what_is_sent_follows_from_the_request_with_and_without_faults(sent: Sent) -> None:
    for fault in ("", "interleaved", "rate_limited", "lone_surrogate", "error_mid_stream"):
        one, other = sent("chat", fault, stream=True), sent("chat", fault, stream=True)
        assert one.body == other.body
        assert one.headers == other.headers
    assert [one["id"] for one in calls(sent("chat", stream=True)) if "id" in one] == [
        "fake0",
        "fake0p1",
    ]

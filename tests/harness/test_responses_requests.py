"""What the Responses client sends: the documented request, and reasoning in its place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from responses_wire import (
    REASONING,
    USER,
    A,
    B,
    begun,
    call_item,
    ended,
    reply_to,
    sent,
    text_item,
)

from fakeprovider_harness.models import (
    Call,
    Message,
    ResponsesModel,
    ToolSpec,
    make_model,
)

if TYPE_CHECKING:
    from tests.harness.conftest import Wire


def test_the_request_is_the_documented_one(wire: type[Wire]) -> None:
    parameters = {"type": "object", "properties": {}}
    history = [
        Message("system", "Be brief."),
        Message("user", "Which?"),
        Message("assistant", "Both.", (A, B)),
        Message("tool", "a!", call_id="A", outcome="ok"),
        Message("tool", None, call_id="B", outcome="error"),
        Message("system", "New rule."),
        Message("assistant", "Done."),
        Message("assistant", None),
    ]

    def call(of: Call) -> Any:
        fields = {"call_id": of.id, "name": of.name, "arguments": of.arguments}
        return {"type": "function_call", **fields}

    assert sent(wire, history, [ToolSpec("tool_a", "Does A.", parameters)]) == {
        "model": "m",
        "store": False,
        "instructions": "Be brief.",
        "input": [
            {"role": "user", "content": "Which?"},
            {"role": "assistant", "content": "Both."},
            call(A),
            call(B),
            {"type": "function_call_output", "call_id": "A", "output": "a!"},
            {"type": "function_call_output", "call_id": "B", "output": ""},
            {"role": "system", "content": "New rule."},
            {"role": "assistant", "content": "Done."},
            {"role": "assistant", "content": ""},
        ],
        "tools": [
            {
                "type": "function",
                "name": "tool_a",
                "description": "Does A.",
                "parameters": parameters,
                "strict": False,
            }
        ],
    }


def test_max_output_stream_and_options_stand_in_the_body(wire: type[Wire]) -> None:
    body = sent(wire, USER, max_output=30, options={"include": ["x"]})
    assert (body["max_output_tokens"], body["include"]) == (30, ["x"])
    assert "stream" not in body
    answer = [ended(wire, text_item("x"))]
    streamed = wire.sent(USER, (), ResponsesModel, answer, stream=True, path="/v1")
    assert streamed["stream"] is True


def test_ids_and_names_that_the_service_would_refuse_are_rewritten_alike(wire: type[Wire]) -> None:
    long = "call_" + "x" * 80
    history = [*USER, Message("assistant", None, (Call(long, "no such tool", "{}"),))]
    _, call, result = sent(wire, [*history, Message("tool", "r", call_id=long)])["input"]
    assert call["call_id"] == result["call_id"]
    assert len(call["call_id"]) <= 64
    assert call["name"].startswith("no_such_tool_")


def test_reasoning_goes_back_in_its_place_with_phases_and_ids(wire: type[Wire]) -> None:
    message = text_item("Looking.", phase="commentary")
    reply = reply_to(wire, [*begun(wire), ended(wire, REASONING, message, call_item(A))])
    assert (reply.text, reply.calls) == ("Looking.", (A,))
    history = [*USER, Message("assistant", reply.text, reply.calls, opaque=reply.opaque)]
    history.append(Message("tool", "r", call_id="A"))
    body = sent(wire, history)
    assert body["input"][1:4] == [REASONING, message, call_item(A)]


def test_calls_that_the_loop_renamed_go_back_renamed(wire: type[Wire]) -> None:
    reply = reply_to(wire, [ended(wire, REASONING, call_item(A))])
    own = Call("A_2p0", "tool_a", "{}")
    history = [*USER, Message("assistant", None, (own,), opaque=reply.opaque)]
    call = sent(wire, [*history, Message("tool", "r", call_id="A_2p0")])["input"][2]
    assert (call["call_id"], call["arguments"], call["id"]) == ("A_2p0", "{}", "fc_A")


def test_reasoning_without_its_content_cannot_go_back_nor_can_the_ids_beside_it(
    wire: type[Wire],
) -> None:
    bare = {**REASONING, "encrypted_content": None}
    reply = reply_to(wire, [ended(wire, bare, call_item(A))])
    assert reply.opaque == {}
    history = [*USER, Message("assistant", None, reply.calls, opaque=reply.opaque)]
    call = sent(wire, [*history, Message("tool", "r", call_id="A")])["input"][1]
    assert "id" not in call


def test_reasoning_that_led_to_nothing_is_not_sent_back(wire: type[Wire]) -> None:
    details = {"reason": "max_output_tokens"}
    last = ended(wire, REASONING, status="incomplete", incomplete_details=details)
    reply = reply_to(wire, [last])
    history = [*USER, Message("assistant", "(cut)", opaque=reply.opaque), *USER]
    said = [item["content"] for item in sent(wire, history)["input"]]
    assert said == ["hi", "(cut)", "hi"]  # the turn stays visible, or a script would repeat it


def test_a_plain_reply_carries_nothing_opaque(wire: type[Wire]) -> None:
    assert reply_to(wire, [ended(wire, text_item("x"), call_item(A))]).opaque == {}


def test_the_official_sdk_accepts_our_request_as_its_own(wire: type[Wire]) -> None:
    from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming
    from pydantic import TypeAdapter

    reply = reply_to(
        wire, [ended(wire, REASONING, text_item("x", phase="commentary"), call_item(A))]
    )
    history = [
        Message("system", "s"),
        *USER,
        Message("assistant", reply.text, reply.calls, opaque=reply.opaque),
        Message("tool", "r", call_id="A"),
    ]
    tools = [ToolSpec("tool_a", "Does A.", {"type": "object", "properties": {}})]
    TypeAdapter(ResponseCreateParamsNonStreaming).validate_python(sent(wire, history, tools))


def test_the_factory_knows_three_protocols_and_names_them() -> None:
    for protocol, path in (
        ("chat", "chat/completions"),
        ("messages", "messages"),
        ("responses", "responses"),
    ):
        assert make_model(protocol, "http://x", "m", stream=True).path == path
    with pytest.raises(ValueError, match="chat, messages, responses"):
        make_model("soap", "http://x")

"""The Anthropic Messages client: what it sends, and what goes back unread."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from fakeprovider_harness.models import Call, Message, MessagesModel, ToolSpec

if TYPE_CHECKING:
    from tests.harness.conftest import Anthropic, Wire

USER = [Message("user", "hi")]
A, B = Call("A", "tool_a", '{"t":"A"}'), Call("B", "tool_b", '{"t":"B"}')


def test_the_request_is_the_documented_one(ant: type[Anthropic]) -> None:
    tools = [ToolSpec("tool_a", "Does A.", {"type": "object", "properties": {}})]
    history = [
        Message("system", "Be brief."),
        Message("system", "Be kind."),
        Message("user", "Which?"),
        Message("assistant", "Both.", (A, B)),
        Message("tool", "a!", call_id="A", outcome="ok"),
        Message("tool", "no b", call_id="B", outcome="error"),
        Message("user", "Go on."),
        Message("assistant", "Done."),
    ]

    def use(call: Call) -> Any:
        name, arguments = call.name, json.loads(call.arguments)
        return {"type": "tool_use", "id": call.id, "name": name, "input": arguments}

    assert ant.sent(history, tools) == {
        "model": "m",
        "max_tokens": 8192,
        "system": "Be brief.\n\nBe kind.",
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Which?"}]},
            {"role": "assistant", "content": [{"type": "text", "text": "Both."}, use(A), use(B)]},
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "A", "content": "a!"},
                    {
                        "type": "tool_result",
                        "tool_use_id": "B",
                        "content": "no b",
                        "is_error": True,
                    },
                    {"type": "text", "text": "Go on."},
                ],
            },
            {"role": "assistant", "content": [{"type": "text", "text": "Done."}]},
        ],
        "tools": [
            {
                "name": "tool_a",
                "description": "Does A.",
                "input_schema": {"type": "object", "properties": {}},
            }
        ],
    }


def test_the_headers_are_the_documented_ones(wire: type[Wire]) -> None:
    answer = wire.json(b'{"content":[],"stop_reason":"end_turn"}')
    request = wire.request(USER, (), MessagesModel, answer, api_key="k", path="/v1")
    assert request.target == "/v1/messages"
    assert request.headers["x-api-key"] == "k"
    assert request.headers["anthropic-version"] == "2023-06-01"
    assert "authorization" not in request.headers


def test_results_go_first_in_their_message_whatever_came_between(ant: type[Anthropic]) -> None:
    history = [
        *USER,
        Message("assistant", None, (A,)),
        Message("user", "hurry"),
        Message("tool", "a!", call_id="A"),
    ]
    content = ant.sent(history)["messages"][2]["content"]
    assert [block["type"] for block in content] == ["tool_result", "text"]


def test_no_empty_text_block_is_ever_sent(ant: type[Anthropic]) -> None:
    history = [
        Message("user", ""),
        Message("assistant", ""),
        Message("user", "  "),
        Message("assistant", None, (A,)),
        Message("tool", "", call_id="A"),
        Message("user", ""),
    ]
    messages = ant.sent(history)["messages"]
    placeholder = {"type": "text", "text": "(no text)"}
    assert [m["content"] for m in messages[:3]] == [[placeholder]] * 3
    assert messages[4]["content"] == [{"type": "tool_result", "tool_use_id": "A"}]


def test_a_system_message_in_the_middle_stays_where_it_is(ant: type[Anthropic]) -> None:
    history = [
        *USER,
        Message("assistant", "x"),
        Message("system", "new rule"),
        Message("user", "y"),
    ]
    body = ant.sent(history)
    assert "system" not in body
    assert [m["role"] for m in body["messages"]] == ["user", "assistant", "system", "user"]


@pytest.mark.parametrize("arguments", ["{half", "[1]", "7", ""])
def test_input_is_always_an_object(ant: type[Anthropic], arguments: str) -> None:
    history = [*USER, Message("assistant", None, (Call("A", "f", arguments),))]
    history.append(Message("tool", "r", call_id="A"))
    assert isinstance(ant.sent(history)["messages"][1]["content"][0]["input"], dict)


def test_ids_and_names_that_the_service_would_refuse_are_rewritten_alike(
    ant: type[Anthropic],
) -> None:
    history = [*USER, Message("assistant", None, (Call("search:0", "no such tool", "{}"),))]
    history.append(Message("tool", "r", call_id="search:0"))
    _, assistant, results = ant.sent(history)["messages"]
    use, result = assistant["content"][0], results["content"][0]
    assert use["id"] == result["tool_use_id"]
    for name in (use["id"], use["name"]):
        assert name.replace("_", "").replace("-", "").isalnum()


def test_max_output_and_options_stand_in_the_body(ant: type[Anthropic]) -> None:
    assert ant.sent(USER, max_output=30)["max_tokens"] == 30
    body = ant.sent(USER, options={"max_tokens": 99, "temperature": 0})
    assert (body["max_tokens"], body["temperature"]) == (99, 0)
    assert ant.sent(USER, max_output=30, options={"max_tokens": 99})["max_tokens"] == 30


def test_lone_surrogates_never_reach_the_wire(ant: type[Anthropic]) -> None:
    history = [*USER, Message("assistant", "a\ud83d", (Call("A", "f", '{"x":"\\ud83d"}'),))]
    history.append(Message("tool", "\udc00", call_id="A"))
    _, assistant, results = ant.sent(history)["messages"]
    assert assistant["content"][0]["text"] == "a\ufffd"
    assert assistant["content"][1]["input"] == {"x": "\ufffd"}
    assert results["content"][0]["content"] == "\ufffd"


# ---------------------------------------------------------------- what goes back unread


def thoughtful(ant: Any) -> list[bytes]:
    return [
        ant.start(),
        ant.opened(0, type="thinking", thinking="", signature=""),
        ant.delta(0, thinking="hm, "),
        ant.delta(0, thinking="well"),
        ant.delta(0, signature="sig=="),
        ant.closed(0),
        ant.opened(1, type="redacted_thinking", data="xyz"),
        ant.used(2, A, caller={"type": "direct"}),
        ant.delta(2, partial_json=A.arguments),
        ant.opened(3, type="text", text=""),
        ant.delta(3, text="then"),
        *ant.end("tool_use"),
    ]


def test_thinking_goes_back_with_its_signature_in_its_place(ant: type[Anthropic]) -> None:
    reply = ant.reply(thoughtful(ant))
    assert (reply.text, reply.calls) == ("then", (A,))
    message = Message("assistant", reply.text, reply.calls, opaque=reply.opaque)
    history = [*USER, message, Message("tool", "r", call_id="A")]
    assert ant.sent(history)["messages"][1]["content"] == [
        {"type": "thinking", "thinking": "hm, well", "signature": "sig=="},
        {"type": "redacted_thinking", "data": "xyz"},
        {"type": "tool_use", "id": "A", "name": "tool_a", "input": {"t": "A"}},
        {"type": "text", "text": "then"},
    ]


def test_calls_that_the_loop_renamed_go_back_renamed(ant: type[Anthropic]) -> None:
    reply = ant.reply(thoughtful(ant))
    own = Call("A_2p0", "tool_a", "{}")
    message = Message("assistant", reply.text, (own,), opaque=reply.opaque)
    content = ant.sent([*USER, message, Message("tool", "r", call_id="A_2p0")])["messages"][1]
    use = content["content"][2]
    assert (use["id"], use["input"]) == ("A_2p0", {})


def test_a_plain_reply_carries_nothing_opaque(ant: type[Anthropic]) -> None:
    events = [ant.start(), *ant.said("x"), ant.used(1, A, caller={"type": "direct"})]
    assert ant.reply([*events, *ant.end("tool_use")]).opaque == {}


def test_thinking_of_a_cut_reply_has_no_signature_and_is_not_sent_back(
    ant: type[Anthropic],
) -> None:
    events = [ant.start(), ant.opened(0, type="thinking", thinking="", signature="")]
    reply = ant.reply([*events, ant.delta(0, thinking="hm"), *ant.end("max_tokens")])
    assert reply.finish == "length"
    history = [*USER, Message("assistant", "(cut)", opaque=reply.opaque), *USER]
    assert ant.sent(history)["messages"][1]["content"] == [{"type": "text", "text": "(cut)"}]


def test_a_paused_turn_goes_back_as_it_came_and_last(ant: type[Anthropic]) -> None:
    search = {"type": "server_tool_use", "id": "srv1", "name": "web_search", "input": {}}
    events = [ant.start(), *ant.said("Searching."), ant.opened(1, **search)]
    events += [ant.delta(1, partial_json='{"query":"x"}'), ant.closed(1)]
    reply = ant.reply([*events, *ant.end("pause_turn")])
    assert (reply.finish, reply.calls) == ("pause", ())
    history = [*USER, Message("assistant", reply.text, opaque=reply.opaque)]
    last = ant.sent(history)["messages"][-1]
    assert last == {
        "role": "assistant",
        "content": [{"type": "text", "text": "Searching."}, {**search, "input": {"query": "x"}}],
    }


def test_the_opaque_part_survives_json(ant: type[Anthropic]) -> None:
    reply = ant.reply(thoughtful(ant))
    opaque = json.loads(json.dumps(reply.opaque))
    history = [*USER, Message("assistant", reply.text, reply.calls, opaque=opaque)]
    again = [*USER, Message("assistant", reply.text, reply.calls, opaque=reply.opaque)]
    assert ant.sent(history) == ant.sent(again)


def test_the_official_sdk_accepts_our_request_as_its_own(ant: type[Anthropic]) -> None:
    from anthropic.types.message_create_params import MessageCreateParamsNonStreaming
    from pydantic import TypeAdapter

    reply = ant.reply(thoughtful(ant))
    history = [
        Message("system", "s"),
        *USER,
        Message("assistant", reply.text, reply.calls, opaque=reply.opaque),
        Message("tool", "r", call_id="A", outcome="error"),
    ]
    tools = [ToolSpec("tool_a", "Does A.", {"type": "object", "properties": {}})]
    TypeAdapter(MessageCreateParamsNonStreaming).validate_python(ant.sent(history, tools))

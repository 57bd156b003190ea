"""Replies that are well sent and wrong in themselves."""

from __future__ import annotations

import json
from typing import Any

import pytest
from faulty_replies import RequestBody, Send, Sent

from fakeprovider.conversation import Conversation
from fakeprovider.replies import Fault, Reply, Text, ToolCall
from fakeprovider.scripts import discover
from fakeprovider.serving.provider import Provider

DIALECTS = ["chat", "messages", "responses"]
EACH = pytest.mark.parametrize("dialect", DIALECTS)


def said(found: Sent) -> tuple[str, list[tuple[str, str, Any]], str]:
    """Text, calls (id, name, arguments) and finish of a reply that is not streamed."""
    data = found.json
    if found.dialect == "chat":
        choice = data["choices"][0]
        calls = choice["message"].get("tool_calls", ())
        listed = [
            (call.get("id", ""), call["function"]["name"], call["function"].get("arguments"))
            for call in calls
        ]
        return choice["message"]["content"] or "", listed, choice["finish_reason"]
    if found.dialect == "messages":
        text = "".join(block.get("text", "") for block in data["content"])
        uses = [block for block in data["content"] if block["type"] == "tool_use"]
        return text, [(b["id"], b["name"], b["input"]) for b in uses], data["stop_reason"]
    items = data["output"]
    text = "".join(
        part["text"] for one in items if one["type"] == "message" for part in one["content"]
    )
    calls = [one for one in items if one["type"] == "function_call"]
    return text, [(c["call_id"], c["name"], c["arguments"]) for c in calls], data["status"]


STOPPED = {"chat": "stop", "messages": "end_turn", "responses": "completed"}
ASKED = {"chat": "tool_calls", "messages": "tool_use", "responses": "completed"}
CUT = {"chat": "length", "messages": "max_tokens", "responses": "incomplete"}


def streamed_alike(sent: Send, dialect: str, fault: str, **rest: Any) -> None:
    """The stream carries the same words and reasons as the whole reply."""
    whole, stream = sent(dialect, fault, **rest), sent(dialect, fault, stream=True, **rest)
    assert whole.exchange.usage == stream.exchange.usage
    assert whole.exchange.finish == stream.exchange.finish
    assert whole.exchange.calls == stream.exchange.calls


@EACH
def test_a_reply_may_be_empty(sent: Send, dialect: str) -> None:
    text, calls, finish = said(sent(dialect, "empty_reply"))
    assert (text, calls, finish) == ("", [], STOPPED[dialect])
    assert sent(dialect, "empty_reply").exchange.said == 0
    streamed_alike(sent, dialect, "empty_reply")


@EACH
def test_a_reply_may_be_white_space(sent: Send, dialect: str) -> None:
    assert said(sent(dialect, "whitespace_reply")) == ("\n \n", [], STOPPED[dialect])
    streamed_alike(sent, dialect, "whitespace_reply")


@EACH
@pytest.mark.parametrize("finish", ["stop", "length"])
def test_a_reply_may_be_reasoning_and_nothing_else(sent: Send, dialect: str, finish: str) -> None:
    found = sent(dialect, f"reasoning_only,finish={finish}")
    text, calls, reason = said(found)
    assert (text, calls) == ("", [])
    assert reason == (STOPPED if finish == "stop" else CUT)[dialect]
    assert b"The files should be listed" in found.body
    streamed_alike(sent, dialect, f"reasoning_only,finish={finish}")


@EACH
def test_prose_may_come_where_json_was_asked_for(sent: Send, dialect: str) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    formats: dict[str, Any] = {
        "chat": {
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "n", "schema": schema},
            }
        },
        "messages": {"output_config": {"format": {"type": "json_schema", "schema": schema}}},
        "responses": {"text": {"format": {"type": "json_schema", "name": "n", "schema": schema}}},
    }
    found = sent(dialect, "prose", script="words", **formats[dialect])
    assert found.status == 200
    assert said(found)[0] == "Certainly! Here is what you asked for."


@EACH
def test_text_may_be_huge(sent: Send, dialect: str) -> None:
    text, calls, _ = said(sent(dialect, "huge_text,chars=100000", **cap(dialect, 10**6)))
    assert len(text) == 100_000
    assert len(calls) == 2


def cap(dialect: str, tokens: int) -> dict[str, int]:
    """The client's cap on output, by its name in a dialect."""
    names = {"chat": "max_completion_tokens", "messages": "max_tokens"}
    return {names.get(dialect, "max_output_tokens"): tokens}


@EACH
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("place", ["text", "arguments"])
def test_half_a_surrogate_pair_comes_as_a_json_escape(
    sent: Send, dialect: str, stream: bool, place: str
) -> None:
    found = sent(dialect, f"lone_surrogate,place={place}", stream=stream)
    assert rb"\ud83d" in found.body
    assert "\ue0dd".encode() not in found.body
    values = found.events if stream else [found.json]
    with pytest.raises(UnicodeEncodeError, match="surrogates not allowed"):
        json.dumps(values, ensure_ascii=False).encode()


@EACH
def test_output_may_go_past_the_cap_and_be_billed(sent: Send, dialect: str) -> None:
    limit = cap(dialect, 60)
    assert sent(dialect, **limit).exchange.usage.completion_tokens <= 60
    found = sent(dialect, "past_max_tokens,by=15", **limit)
    assert found.exchange.usage.completion_tokens == 75
    assert said(found)[2] == ASKED[dialect]
    tiny = cap(dialect, 3)
    assert sent(dialect, **tiny).exchange.usage.completion_tokens == 3
    assert len(said(sent(dialect, "past_max_tokens", **tiny))[1]) == 2


def test_without_a_cap_there_is_none_to_pass(sent: Send) -> None:
    found = sent("chat", "past_max_tokens")
    assert found.body == sent("chat").body
    assert found.exchange.notes[-1].detail == "past_max_tokens: it needs a cap on output"


@EACH
def test_the_finish_reason_may_disagree(sent: Send, dialect: str) -> None:
    _, calls, finish = said(sent(dialect, "finish_disagrees"))
    assert len(calls) == 2
    assert finish == (CUT if dialect == "responses" else STOPPED)[dialect]
    _, calls, finish = said(sent(dialect, "finish_disagrees,finish=length"))
    assert (len(calls), finish) == (2, CUT[dialect])
    _, calls, finish = said(sent(dialect, "finish_disagrees", script="words"))
    assert (calls, finish) == ([], (CUT if dialect == "responses" else ASKED)[dialect])
    streamed_alike(sent, dialect, "finish_disagrees")


@pytest.mark.parametrize("dialect", ["chat", "messages"])
def test_calls_may_be_announced_and_absent(sent: Send, dialect: str) -> None:
    text, calls, finish = said(sent(dialect, "calls_absent"))
    assert (text, calls) == ("Let me look at both of them.", [])
    assert finish == ASKED[dialect]
    streamed_alike(sent, dialect, "calls_absent")


@EACH
def test_another_model_may_answer(sent: Send, dialect: str) -> None:
    assert sent(dialect).json["model"] == "m"
    assert sent(dialect, "other_model,model=cheaper").json["model"] == "cheaper"


def test_reasoning_must_come_back_where_it_is_required(
    sent: Send, request_body: RequestBody
) -> None:
    first = sent("chat", "reasoning_required").json["choices"][0]["message"]
    assert first["reasoning_content"] == "This needs a tool."
    for reasoning, status in (("", 400), (None, 400), ("This needs a tool.", 200)):
        content = request_body("chat")
        echoed = {key: first[key] for key in ("role", "content", "tool_calls")}
        if reasoning is not None:
            echoed["reasoning_content"] = reasoning
        results = [
            {"role": "tool", "tool_call_id": call["id"], "content": "x"}
            for call in first["tool_calls"]
        ]
        content["messages"] += [echoed, *results]
        found = sent("chat", "reasoning_required", request=content)
        assert found.status == status
        if status == 400:
            assert found.json["error"]["param"] == "messages[1]"


@EACH
def test_arguments_may_be_no_json(sent: Send, dialect: str) -> None:
    found = sent(dialect, "malformed_arguments")
    assert not any(call.valid for call in found.exchange.calls)
    if dialect != "messages":
        assert [call[2] for call in said(found)[1]] == ["{'path':'a.txt'}", "{'path':'b.txt'}"]
    stream = sent(dialect, "malformed_arguments", stream=True)
    assert rb"'path':'a.txt'" in b"".join(pieces(stream))


def pieces(found: Sent) -> list[bytes]:
    """The fragments of arguments of a stream."""
    texts = []
    for event in found.events:
        if event == "[DONE]":
            continue
        delta = event.get("delta", "")
        if found.dialect == "responses" and event["type"].endswith("arguments.delta"):
            texts.append(delta)
        elif found.dialect == "messages" and isinstance(delta, dict):
            texts.append(delta.get("partial_json", ""))
        elif found.dialect == "chat":
            for choice in event["choices"]:
                for call in choice["delta"].get("tool_calls", ()):
                    texts.append(call["function"].get("arguments", ""))
    return [text.encode() for text in texts]


@EACH
@pytest.mark.parametrize("finish", ["tool_calls", "length"])
def test_arguments_may_end_in_the_middle(sent: Send, dialect: str, finish: str) -> None:
    found = sent(dialect, f"truncated_arguments,finish={finish}", stream=True)
    assert b"".join(pieces(found)) == b'{"path":' * 2
    whole = sent(dialect, f"truncated_arguments,finish={finish}")
    assert said(whole)[2] == (ASKED if finish == "tool_calls" else CUT)[dialect]
    assert not any(call.valid for call in whole.exchange.calls)


@EACH
def test_arguments_may_lack_their_last_member(sent: Send, dialect: str) -> None:
    found = sent(dialect, "truncated_arguments,form=valid,finish=length", stream=True)
    assert b"".join(pieces(found)) == b"{}" * 2
    assert all(call.valid for call in found.exchange.calls)


@EACH
@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("values", b'{"path":1}'),
        ("array", b'[{"path":"a.txt"}]'),
        ("encoded", rb'{"path":"\"a.txt\""}'),
    ],
)
def test_arguments_may_have_other_types(
    sent: Send, dialect: str, form: str, expected: bytes
) -> None:
    found = sent(dialect, f"mistyped_arguments,form={form}", stream=True)
    assert b"".join(pieces(found)).startswith(expected)


@EACH
@pytest.mark.parametrize(("form", "text"), [("empty", b""), ("spaces", b"  "), ("none", b"")])
def test_arguments_may_be_empty_in_several_ways(
    sent: Send, dialect: str, form: str, text: bytes
) -> None:
    found = sent(dialect, f"empty_arguments,form={form}", stream=True)
    assert b"".join(pieces(found)) == text * 2
    if form == "none" and dialect == "messages":
        assert b"input_json_delta" not in found.body
    if form == "none" and dialect == "chat":
        assert b'"arguments"' not in found.body
        calls = sent("chat", "empty_arguments,form=none").json["choices"][0]["message"][
            "tool_calls"
        ]
        assert [call["function"] for call in calls] == [{"name": "read_file"}] * 2


@EACH
def test_a_tool_may_not_exist(sent: Send, dialect: str) -> None:
    calls = said(sent(dialect, "unknown_tool,tool=serch"))[1]
    assert [name for _, name, _ in calls] == ["serch", "read_file"]
    streamed_alike(sent, dialect, "unknown_tool")


@EACH
def test_two_calls_may_have_one_id(sent: Send, dialect: str) -> None:
    calls = said(sent(dialect, "duplicate_ids"))[1]
    assert [call_id for call_id, _, _ in calls] == ["fake0", "fake0"]
    streamed_alike(sent, dialect, "duplicate_ids")


def test_a_lone_call_comes_twice_where_ids_are_to_repeat(sent: Send) -> None:
    tools = [{"type": "function", "function": {"name": "list_files"}}]
    found = sent("chat", "duplicate_ids", path="/runaway", tools=tools)
    assert said(found)[1] == [("fake0", "list_files", "{}")] * 2


@EACH
def test_ids_may_be_the_same_in_every_turn(sent: Send, dialect: str) -> None:
    calls = said(sent(dialect, "constant_id,id=search:0"))[1]
    assert {call_id for call_id, _, _ in calls} == {"search:0"}


def test_a_reply_that_no_service_sends_goes_out_as_it_is_written(
    sent: Send,
) -> None:
    def impossible(conversation: Conversation) -> Reply:
        blocks = (Text("x"), ToolCall("no such name!", "[", "i"))
        return Reply(blocks, "stop", fault=Fault("as_written"))

    tools = [{"type": "function", "function": {"name": "read_file"}}]
    registry = discover({"impossible": impossible})
    found = sent("chat", provider=Provider(registry), path="/impossible", tools=tools)
    assert found.exchange.fault == "as_written"
    assert said(found)[1:] == ([("i", "no such name!", "[")], "stop")

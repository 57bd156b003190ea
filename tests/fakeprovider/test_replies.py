"""Replies: what a script may say, and what no service could."""

from __future__ import annotations

import pytest

from fakeprovider.replies import (
    Fault,
    ImpossibleReply,
    Refusal,
    Reply,
    Text,
    ToolCall,
    ask,
    call,
    say,
)


def test_words_and_calls_keep_their_order() -> None:
    """A call may stand before the text."""
    assert say("Done.").blocks == (Text("Done."),)
    assert say("Let me look.", call("f")).blocks == (Text("Let me look."), ToolCall("f", "{}"))
    assert say(call("f"), "then").blocks == (ToolCall("f", "{}"), Text("then"))
    both = ask("f", {"a": 1}, call("g", {"b": "é"}))
    assert [one.arguments for one in both.calls] == ['{"a":1}', '{"b":"é"}']
    assert both.text == ""


def test_arguments_given_as_text_are_sent_as_they_are() -> None:
    """Real models write what is not JSON, too."""
    assert call("f", "{").arguments == "{"


IMPOSSIBLE: list[tuple[dict[str, object], str]] = [
    ({"finish": "tool_calls"}, "needs a tool call"),
    ({"blocks": (ToolCall("f"),), "finish": "stop"}, "cannot stand beside tool calls"),
    ({"blocks": (ToolCall("f"),), "finish": "pause"}, "cannot stand beside tool calls"),
    ({"blocks": (ToolCall("f", id="a"), ToolCall("g", id="a"))}, "two tool calls with one id"),
    ({"blocks": (ToolCall("a b"),)}, "tool name 'a b'"),
    ({"blocks": (ToolCall("f", id="x" * 41),)}, "is not 1 to 40"),
]


@pytest.mark.parametrize(("fields", "words"), IMPOSSIBLE)
def test_what_no_service_sends_needs_a_fault(fields: dict[str, object], words: str) -> None:
    """Refused when it is made, with the way out; a named fault excuses it."""
    with pytest.raises(ImpossibleReply, match=f"{words}.*fault"):
        Reply(**fields)  # type: ignore[arg-type]
    assert Reply(**fields, fault=Fault("on_purpose")).fault  # type: ignore[arg-type]


def test_what_services_do_send_is_fine() -> None:
    """Empty replies, calls of a reply that was cut, refusals with words."""
    assert Reply().blocks == ()
    assert Reply((ToolCall("f", '{"a'),), finish="length").calls
    assert Reply((Text("No."), Refusal("I will not.")), finish="refusal").text == "No."


def test_a_fault_is_a_value() -> None:
    """Equal, hashable and not to be changed."""
    one, two = Fault("cut", {"at": [1]}), Fault("cut", {"at": [1]})
    assert one == two
    assert hash(one) == hash(two)
    with pytest.raises(TypeError):
        one.params["at"] = 2  # type: ignore[index]

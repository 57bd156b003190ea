"""From a script's reply to a finished one: ids, finish, usage, and the client's cap."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakeprovider.completion import Completion, complete
from fakeprovider.conversation import Call, Conversation, Message
from fakeprovider.parsing.counting import completion_count
from fakeprovider.replies import Refusal, Reply, Text, Thinking, ToolCall, Usage, ask, call, say
from fakeprovider.tokens import count


def finished(reply: Reply, cap: int | None = None, position: int = 3) -> Completion:
    conversation = Conversation(
        "m", (Message("user", "go"),), position=position, prompt_tokens=11, max_output=cap
    )
    return complete(conversation, reply)


def test_ids_follow_from_the_turn_and_the_position() -> None:
    """The first call has the turn's id, the others a position; a given id stays."""
    made = finished(ask("a", None, call("b"), ToolCall("c", id="mine"), call("d")))
    assert [one.id for one in made.calls] == ["fake3", "fake3p1", "mine", "fake3p3"]


FINISHES: list[tuple[Reply, str]] = [
    (say("x"), "stop"),
    (Reply(), "stop"),
    (say("x", call("f")), "tool_calls"),
    (Reply((Refusal("no"),)), "refusal"),
    (Reply((Text("x"),), finish="content_filter"), "content_filter"),
]


@pytest.mark.parametrize(("reply", "finish"), FINISHES)
def test_the_finish_is_derived_unless_it_is_given(reply: Reply, finish: str) -> None:
    """From what the reply holds."""
    assert finished(reply).finish == finish


def test_usage_is_counted_unless_it_is_told() -> None:
    """Text and calls by the rule, thinking beside them."""
    plain = finished(ask("list_files"), position=0).usage
    assert (plain.prompt, plain.completion, plain.total, plain.reasoning) == (11, 23, 34, 0)
    thought = finished(Reply((Thinking("let me see"), Text("x")))).usage
    assert thought.reasoning == count("let me see")
    assert thought.completion == count("let me see") + completion_count("x", [])
    told = finished(Reply((Text("x"),), usage=Usage(prompt_tokens=7, cached_tokens=5))).usage
    assert (told.prompt, told.cached, told.completion) == (7, 5, completion_count("x", []))


def test_a_cut_call_keeps_its_frame_and_a_start_of_its_arguments() -> None:
    """A call whose frame fits is cut within its arguments; finish and usage say so."""
    arguments = '{"path":"a.txt","content":"hello world and much more of it"}'
    frame = completion_count("", [Call("fake3", "write", "")])
    made = finished(Reply((ToolCall("write", arguments),)), cap=frame + 8)
    assert (made.finish, made.usage.completion) == ("length", frame + 8)
    assert made.calls[0].arguments == '{"path":"a.txt","content":"'
    with pytest.raises(json.JSONDecodeError):
        json.loads(made.calls[0].arguments)


def test_a_call_whose_frame_does_not_fit_is_dropped_whole() -> None:
    """Usage is the cap all the same."""
    made = finished(ask("write", {"a": "b"}), cap=10)
    assert (made.parts, made.finish, made.usage.completion) == ((), "length", 10)
    made = finished(say("one two three", call("f")), cap=5)
    assert (made.text, made.calls, made.usage.completion) == ("one two three", (), 5)


def test_a_reply_that_just_fits_is_not_cut() -> None:
    """The cap is what it costs."""
    whole = finished(say("one two three"))
    assert finished(say("one two three"), cap=whole.usage.completion) == whole


blocks = st.one_of(
    st.builds(Text, st.text(max_size=30)),
    st.builds(ToolCall, st.just("f"), st.text(max_size=30)),
    st.builds(Thinking, st.text(max_size=30)),
)


@given(st.lists(blocks, max_size=4).map(tuple), st.integers(1, 60))
@settings(max_examples=200)
def test_a_cut_reply_is_a_start_of_the_whole_and_reports_the_cap(
    found: tuple[Text | ToolCall | Thinking, ...], cap: int
) -> None:
    """Whole parts, then the start of one; over the cap: `length`, and exactly the cap."""
    whole, cut = finished(Reply(found)), finished(Reply(found), cap)
    if whole.usage.completion <= cap:
        assert cut == whole
        return
    assert (cut.finish, cut.usage.completion) == ("length", cap)
    assert cut.parts[:-1] == whole.parts[: max(0, len(cut.parts) - 1)]
    if cut.parts:
        first, last = whole.parts[len(cut.parts) - 1], cut.parts[-1]
        assert type(first) is type(last)
        assert _words(first).startswith(_words(last))


def _words(part: object) -> str:
    return part.arguments if isinstance(part, Call) else getattr(part, "text", "")

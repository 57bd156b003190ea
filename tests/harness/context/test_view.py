"""Whatever is left out of a transcript, what is sent is one that a strict service accepts."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakeprovider_harness.context.policies import outline
from fakeprovider_harness.engine.transcript import (
    Outgoing,
    View,
    boundary,
    opening,
    repaired,
    shown,
    tail,
)
from fakeprovider_harness.models.base import Call, Message
from fakeprovider_harness.models.scripted import problems
from fakeprovider_harness.state import RunState

TASK = [Message("system", "s"), Message("user", "task")]


def reply(*ids: str) -> list[Message]:
    asked = tuple(Call(id, "read", "{}") for id in ids)
    results = [
        Message("tool", f"result of {id} " + "x" * 200, call_id=id, name="read", outcome="ok")
        for id in ids
    ]
    return [Message("assistant", None if ids else "words", asked), *results]


HISTORY = [
    *TASK,
    *reply("a", "b"),
    *reply(),
    Message("user", "more"),
    *reply("c"),
    *reply("d", "e"),
]


@pytest.mark.parametrize("cut", range(len(HISTORY) + 1))
def test_at_every_cut_calls_and_results_stay_together(cut: int) -> None:
    for view in (View(2, cut, "summary"), View(2, cut), View(stubbed=cut), View(2, cut, "s", cut)):
        assert problems(shown(HISTORY, view)) == []
    whole = max(2, boundary(HISTORY, cut))
    kept = shown(HISTORY, View(2, whole, "summary"))
    assert kept[len(kept) - len(HISTORY[whole:]) :] == HISTORY[whole:]


def test_what_the_user_said_and_the_opening_are_never_left_out() -> None:
    visible = shown(HISTORY, View(2, len(HISTORY), "summary"))
    assert [message.content for message in visible] == ["s", "task", "more", "summary"]


messages = st.lists(
    st.one_of(
        st.sampled_from(["a", "b", "c"]).map(
            lambda id: Message("tool", f"r{id}", call_id=id, name="read")
        ),
        st.sampled_from([(), ("a",), ("b", "c"), ("a", "c")]).map(
            lambda ids: Message(
                "assistant",
                None if ids else "words",
                tuple(Call(f"{id}", "read", "{}") for id in ids),
            )
        ),
        st.just(Message("user", "hi")),
    ),
    max_size=12,
)


def sound(found: Sequence[Message]) -> list[str]:
    return [problem for problem in problems(found) if "used twice" not in problem]


@given(messages)
@settings(max_examples=200, deadline=None)
def test_any_history_is_repaired_once_and_for_all_and_a_sound_one_is_left_alone(
    history: list[Message],
) -> None:
    mended = repaired(history)
    assert sound(mended) == []
    assert repaired(mended) == mended
    if not sound(history):
        assert mended == history


def test_an_orphan_is_dropped_and_a_missing_or_doubled_result_made_single() -> None:
    a, ra = reply("a")
    orphan = Message("tool", "r", call_id="z", name="read")
    mended = repaired([*TASK, orphan, a, ra, ra, Message("user", "hi")])
    assert mended == [*TASK, a, ra, Message("user", "hi")]
    lost = repaired([*TASK, a, Message("user", "hi")])[3]
    assert (lost.call_id, lost.outcome) == ("a", "unknown")
    assert "Not known" in (lost.content or "")


def test_a_stub_is_shorter_than_what_it_stands_for_and_names_how_to_get_it_back() -> None:
    visible = shown(HISTORY, View(stubbed=5, recall="recall"))
    assert visible[3].content == "[note 1: 212 characters left out; recall(1) returns them]"
    assert visible[4].content == "[note 2: 212 characters left out; recall(2) returns them]"
    assert visible[7:] == HISTORY[7:]
    short = [*TASK, *reply("a")[:1], Message("tool", "ok", call_id="a", name="read")]
    assert shown(short, View(stubbed=4)) == short


def test_the_tail_is_whole_replies_and_as_many_as_there_is_room_for() -> None:
    starts = [place for place, m in enumerate(HISTORY) if m.role == "assistant"]
    assert [tail(HISTORY, n, 1e9) for n in (1, 2, 3, 9)] == [
        starts[-1],
        starts[-2],
        starts[-3],
        starts[0],
    ]
    assert tail(HISTORY, 2, 600) == starts[-1]
    assert tail(HISTORY, 2, 10) == len(HISTORY)
    assert tail(HISTORY, 2, 10, least=1) == starts[-1]
    assert tail(TASK, 2, 1e9, least=1) == opening(TASK) == 2


def test_the_list_for_the_next_request_is_extended_and_made_anew_only_with_the_view() -> None:
    state, outgoing = RunState.start("task"), Outgoing()
    first = outgoing.messages(state)
    state.messages += reply("a")
    second = outgoing.messages(state)
    assert second is first
    assert second == state.messages
    assert all(new is old for new, old in zip(second, state.messages, strict=True))
    state.view = View(1, 3, "summary")
    third = outgoing.messages(state)
    assert [message.content for message in third] == ["task", "summary"]
    state.messages += reply("b")
    assert outgoing.messages(state) is third
    assert third[2:] == state.messages[3:]


def test_an_outline_says_what_was_called_and_how_much_came_back() -> None:
    assert outline(HISTORY[2:6]) == (
        "- called read {}: ok, 212 characters\n- called read {}: ok, 212 characters\n- said: words"
    )

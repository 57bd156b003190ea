"""The scripts of the contract: strategies that shrink to a few replies."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

from fakeprovider.contract.agents import ADD, DELEGATE, DELETE, READ
from fakeprovider.contract.trial import Case
from fakeprovider.conversation import Conversation
from fakeprovider.replies import Fault, Pace, Reply, Text, ToolCall, ask, call, say
from fakeprovider.scripts.reply_sequence import Replies

_SLOW = 30.0  # seconds; longer than anybody waits for a run to end

_numbers = st.integers(0, 9)


def _read(number: int) -> ToolCall:
    return call(READ, {"name": f"n{number}"})


def _reading(count: int, width: int = 1) -> list[Reply]:
    """So many turns of reading, every call another one."""
    return [
        Reply(tuple(_read(turn * width + place) for place in range(width))) for turn in range(count)
    ]


@st.composite
def endless(draw: st.DrawFn) -> Case:
    """A model that never comes to an end, and calls nothing twice; under a cap."""
    turns = draw(st.integers(1, 6))
    width = draw(st.integers(1, 3))
    return Case(Replies(*_reading(turns + 3, width), again=0), turns)


@st.composite
def budgeted(draw: st.DrawFn) -> Case:
    """The same under a budget of tokens, which it uses up before its turns."""
    tokens = draw(st.integers(400, 4000))
    return Case(Replies(*_reading(30), again=0), turns=25, tokens=tokens)


@st.composite
def answering(draw: st.DrawFn) -> Case:
    """A model that reads a little and answers; it would answer again if it were asked."""
    before = draw(st.integers(0, 3))
    width = draw(st.integers(1, 3))
    answer = say(draw(st.sampled_from(["Done.", "All notes are read.", "No, there is nothing."])))
    return Case(Replies(*_reading(before, width), answer, again=before), turns=before + 5)


@st.composite
def circling(draw: st.DrawFn) -> Case:
    """A model that asks the same question for ever."""
    number = draw(_numbers)
    return Case(Replies(Reply((_read(number),)), again=0), turns=12)


@st.composite
def truncated(draw: st.DrawFn) -> Case:
    """A reply that was cut at the output limit, in the middle of what it wanted to write."""
    text = draw(st.sampled_from(["cut", "one two", "rm -rf build"]))
    cut = Reply((call(ADD, {"text": text}),), finish="length")
    return Case(Replies(*_reading(draw(st.integers(0, 2))), cut, "Done."))


@st.composite
def malformed(draw: st.DrawFn) -> Case:
    """Arguments of a writing call that are no JSON, or not what the schema says."""
    written = draw(
        st.sampled_from(['{"text": "cut', "{'text': 'cut'}", '{"text": "cut"} and more', '["cut"]'])
    )
    return Case(Replies(ask(ADD, written), "Done."))


@st.composite
def throttled(draw: st.DrawFn) -> Case:
    """The service asks to wait before the request is made again."""
    wait = draw(st.sampled_from([0.4, 0.6]))
    turn = draw(st.integers(0, 1))
    fault = Fault("rate_limited", {"turn": turn, "times": 1, "retry_after": wait, "form": "ms"})
    return Case(Replies(*_reading(1), "Done."), fault=fault)


@st.composite
def overloaded(draw: st.DrawFn) -> Case:
    """The service is down, and stays down."""
    name = draw(st.sampled_from(["unavailable", "server_error"]))
    return Case(Replies(*_reading(1), "Done."), fault=Fault(name, {"turn": 1}))


@st.composite
def hopeless(draw: st.DrawFn) -> Case:
    """The service refuses for good: no money left, or a wrong key."""
    name = draw(st.sampled_from(["insufficient_quota", "unauthorized"]))
    return Case(
        Replies(*_reading(1), "Done."), fault=Fault(name, {"turn": draw(st.integers(0, 1))})
    )


@st.composite
def deleting(draw: st.DrawFn, approves: bool) -> Case:
    """A call that needs an approval, alone or among others."""
    beside = [_read(number) for number in range(draw(st.integers(0, 2)))]
    calls = draw(st.permutations([call(DELETE, {"name": "old"}), *beside]))
    return Case(Replies(Reply(tuple(calls)), "Done."), approves=approves)


@st.composite
def writing(draw: st.DrawFn) -> Case:
    """A model that adds the same note several times, and means it."""
    text = draw(st.sampled_from(["x", "tick"]))
    times = draw(st.integers(2, 3))
    between = draw(st.booleans())
    replies = [
        Reply((call(ADD, {"text": text}), *([_read(turn)] if between else [])))
        for turn in range(times)
    ]
    return Case(Replies(*replies, "Done."))


@st.composite
def continued(draw: st.DrawFn) -> Case:
    """A run that its cap ended, and that is resumed under a higher one; every turn writes."""
    turns = draw(st.integers(1, 3))
    more = draw(st.integers(1, 3))
    replies = [ask(ADD, {"text": f"t{turn}"}) for turn in range(turns + more + 3)]
    return Case(Replies(*replies, again=0), turns=turns, resumed=turns + more)


@st.composite
def dying(draw: st.DrawFn) -> Case:
    """A process that is gone in the middle of a call that writes; the run is resumed."""
    before = draw(st.integers(0, 2))
    return Case(Replies(*_reading(before), ask(ADD, {"text": "once"}), "Done."), dies=True)


@st.composite
def cancelled(draw: st.DrawFn) -> Case:
    """A run that is cancelled while the model takes its time."""
    before = draw(st.integers(0, 2))
    slow = Reply((Text("Late."),), pace=Pace(first_token=_SLOW))
    return Case(Replies(*_reading(before), slow), cancel=before)


@dataclass(frozen=True)
class Delegating:
    """A model that hands its task on, to an agent that never comes to an end."""

    question: str = "Read every note."

    def __call__(self, conversation: Conversation) -> Reply:
        """Delegate in the run itself; read on and on where the question is the task."""
        if conversation.user_messages[:1] == (self.question,):
            return ask(READ, {"name": f"n{conversation.turn}"})
        if conversation.offers(DELEGATE):
            return ask(DELEGATE, {"question": self.question})
        return say("There is nobody to ask.")


@st.composite
def delegating(draw: st.DrawFn) -> Case:
    """An agent under the agent, and one budget for both."""
    return Case(Delegating(), turns=25, tokens=draw(st.integers(1500, 4000)))


def plain() -> Case:
    """What every agent can do: read a note, answer."""
    return Case(Replies(*_reading(1), "Done.", again=1), turns=5)

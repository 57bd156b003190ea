"""A conversation as a fold over its messages, resumable at any of them.

`State` is everything that a request needs to know of the messages so far: it is immutable, so a
state may be kept and continued from several times. What depends on the end of the transcript is
worked out in `finish`.

Flaws are found here and while a message is parsed. What is done about them is the dialect's: each
has a table of the rules that its service is known to enforce, with their sources. Where no refusal
is known, the transcript is accepted and a note is journaled.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from sys import getsizeof
from typing import NamedTuple

from fakeprovider.conversation import NOWHERE, START, History, Message, Trail, Violation, mark
from fakeprovider.parsing.counting import inner_count, last_count, opening

_OWN_ID = re.compile(r"fake(0|[1-9]\d{0,8})(?:p[1-9]\d*)?")


class Entry(NamedTuple):
    """A message that needs no more work: counted, and with what is wrong with it by itself.

    `tokens` is right if another message follows. `flaws` are pairs of a rule of the strict table
    and a sentence. A tool result whose call has not been looked up yet has not been counted. What
    `joins` is part of the assistant turn before it, if it follows one directly: output items of
    one response. `mark` is its fingerprint.
    """

    message: Message
    tokens: int | None
    flaws: tuple[tuple[str, str], ...] = ()
    joins: bool = False
    size: int = 0
    mark: int = 0

    def counted(self, tool: str = "") -> Entry:
        """This entry with its tokens and its size in bytes of memory; `tool` names a result's."""
        message = replace(self.message, tool=tool) if tool else self.message
        return self._replace(
            message=message,
            tokens=inner_count(message),
            size=_size(message) + 200 * len(self.flaws),
            mark=mark(message),
        )

    def inner_tokens(self) -> int:
        """Its tokens where others follow; counted now if they were not yet."""
        return inner_count(self.message) if self.tokens is None else self.tokens


def _size(message: Message) -> int:
    """Bytes of memory, strings included."""
    texts = [message.text, message.call_id, message.tool]
    for call in message.calls:
        texts += (call.id, call.name, call.arguments)
    return 200 + 80 * len(message.calls) + sum(map(getsizeof, texts))


@dataclass(frozen=True, slots=True)
class State:
    """A transcript up to one of its messages.

    `wire` counts messages of the request, which may hold several neutral ones; `tokens` is right if
    more follow, `end` corrects it if none do; `sent` are those before the last assistant turn,
    which the request before this one had sent; `turns` counts assistant turns and `own` is one more
    than the highest own call id; `names` has the tool of each call id; `pending` and `answered` are
    the ids of the last assistant turn's calls, which stands at `turn_at`; `called` has where each
    tool was first called; `size` is the memory of the messages in bytes; `trail` are the
    fingerprints of all messages but the last, `mark` is that one's, `base` the trail of those
    before the last assistant turn.
    """

    messages: tuple[Message, ...] = ()
    wire: int = 0
    tokens: int = field(default_factory=opening)
    end: int = 0
    sent: int = 0
    turns: int = 0
    own: int = 0
    names: Mapping[str, str] = field(default_factory=dict)
    called: Mapping[str, int] = field(default_factory=dict)
    pending: tuple[str, ...] = ()
    answered: frozenset[str] = frozenset()
    turn_at: int = -1
    flaws: tuple[Violation, ...] = ()
    size: int = 0
    trail: Trail = START
    mark: int = 0
    base: Trail = START

    @property
    def history(self) -> History:
        """The fingerprints of the transcript, if it ends here."""
        return History(self.trail.then(self.mark) if self.messages else self.trail, self.base)

    @property
    def position(self) -> int:
        """The turn that comes next, whether or not the client trimmed its history."""
        return max(self.turns, self.own)

    @property
    def prompt_tokens(self) -> int:
        """Tokens of the messages, none following."""
        return self.tokens + self.end


class Folding:
    """One step of the fold: a state, one or more wire messages, the state after them."""

    def __init__(self, state: State) -> None:
        self.names = dict(state.names)
        self._messages = list(state.messages)
        self._wire = state.wire
        self._tokens = state.tokens
        self._last = 0
        self._sent = state.sent
        self._turns = state.turns
        self._own = state.own
        self._called = dict(state.called)
        self._pending = list(state.pending)
        self._answered = set(state.answered)
        self._turn_at = state.turn_at
        self._flaws = list(state.flaws)
        self._size = state.size
        self._trail = state.trail
        self._mark = state.mark
        self._base = state.base

    def add(self, entries: Iterable[Entry]) -> None:
        """Take in the entries of one wire message."""
        for entry in entries:
            self._take(entry)
        self._wire += 1

    def done(self) -> State:
        """The state after everything that was added."""
        messages = tuple(self._messages)
        return State(
            messages=messages,
            wire=self._wire,
            tokens=self._tokens,
            end=last_count(messages[-1], self._last or None) - self._last if messages else 0,
            sent=self._sent,
            turns=self._turns,
            own=self._own,
            names=self.names,
            called=self._called,
            pending=tuple(self._pending),
            answered=frozenset(self._answered),
            turn_at=self._turn_at,
            flaws=tuple(self._flaws),
            size=self._size,
            trail=self._trail,
            mark=self._mark,
            base=self._base,
        )

    def _take(self, entry: Entry) -> None:
        message = entry.message
        self._size += entry.size
        for rule, detail in entry.flaws:
            self._flaw(rule, detail)
        if entry.joins and self._messages and self._messages[-1].role == "assistant":
            self._join(message)
            return
        if message.role == "assistant":
            self._sent = self._tokens
        if entry.tokens is None:
            entry = entry.counted()
        self._follow(entry)
        self._append(message, entry.tokens or 0)
        if message.role == "tool":
            self._take_result(message)
            return
        self._close_calls()
        if message.role == "assistant":
            self._take_turn(message)

    def _follow(self, entry: Entry) -> None:
        """Go on with the fingerprints; those of the last message are held back for a join."""
        if self._messages:
            self._trail = self._trail.then(self._mark)
        if entry.message.role == "assistant":
            self._base = self._trail
        self._mark = entry.mark

    def _append(self, message: Message, tokens: int) -> None:
        self._messages.append(message)
        self._tokens += tokens
        self._last = tokens

    def _join(self, message: Message) -> None:
        """Make one message of the last and this one, which is more of the same turn."""
        if not message.text and not message.calls:
            return
        before = self._messages.pop()
        self._tokens -= inner_count(before)
        joined = replace(
            before, text=before.text + message.text, calls=before.calls + message.calls
        )
        self._append(joined, inner_count(joined))
        self._mark = mark(joined)
        self._take_calls(message)

    def _take_result(self, message: Message) -> None:
        if message.call_id in self._pending:
            self._pending.remove(message.call_id)
            self._answered.add(message.call_id)
        elif message.call_id in self._answered:
            self._flaw("second_result", f"a second result for call {message.call_id!r}")
        else:
            self._flaw(
                "orphan_result",
                f"a tool result for {message.call_id!r}, which is no call of the assistant "
                "message before it",
            )

    def _take_turn(self, message: Message) -> None:
        self._turns += 1
        self._answered = set()
        self._turn_at = self._wire
        self._take_calls(message)

    def _take_calls(self, message: Message) -> None:
        for call in message.calls:
            if call.id in self._pending:
                self._flaw("twice_in_turn", f"two tool calls with the id {call.id!r}")
            else:
                self._pending.append(call.id)
                if call.id in self.names:
                    self._flaw("id_again", f"the call id {call.id!r} of an earlier turn again")
            self.names[call.id] = call.name
            self._called.setdefault(call.name, self._wire)
            own = _OWN_ID.fullmatch(call.id)
            if own:
                self._own = max(self._own, int(own[1]) + 1)

    def _close_calls(self) -> None:
        if self._pending:
            self._flaws.append(unanswered(self._turn_at, self._pending))
            self._pending.clear()

    def _flaw(self, rule: str, detail: str) -> None:
        self._flaws.append(Violation(rule, self._wire, detail))


def unanswered(turn_at: int, pending: Iterable[str]) -> Violation:
    """Calls of the assistant message at `turn_at` that no tool result answers."""
    ids = ", ".join(map(repr, pending))
    return Violation(
        "unanswered_call", turn_at, f"no tool result right after it for its call(s) {ids}"
    )


def finish(state: State, offered: Iterable[str] = ()) -> tuple[Violation, ...]:
    """Everything wrong with a transcript that ends here, in its order."""
    flaws = list(state.flaws)
    if state.pending:
        flaws.append(unanswered(state.turn_at, state.pending))
    names = set(offered)
    flaws += (
        Violation("not_offered", index, f"a call of {name!r}, which is not offered now")
        for name, index in state.called.items()
        if name not in names
    )
    return tuple(flaws)


def judge(
    flaws: Iterable[Violation], refused: Set[str], noted: Set[str]
) -> tuple[tuple[Violation, ...], tuple[Violation, ...]]:
    """What of `flaws` the dialect refuses, and what it accepts with a note, by their rules."""
    flaws = tuple(flaws)
    if not flaws:
        return (), ()
    return (
        tuple(flaw for flaw in flaws if flaw.rule in refused),
        tuple(flaw for flaw in flaws if flaw.rule in noted),
    )


def names_twice(names: Sequence[str]) -> tuple[Violation, ...]:
    """For the first name that two of the tools offered have."""
    if len(set(names)) == len(names):
        return ()
    twice = next(name for at, name in enumerate(names) if name in names[:at])
    return (Violation("tool_twice", NOWHERE, f"two tools have the name {twice!r}", "tools"),)

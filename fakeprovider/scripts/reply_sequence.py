"""A script of fixed replies, its source in Python and in YAML, and how a script runs out."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import Any

from fakeprovider.conversation import Conversation
from fakeprovider.replies import Block, Refusal, Reply, Text, Thinking, ToolCall, say

_SHOWN = 80


class ScriptRanOut(Exception):
    """The script has no turn left; answered with an error that clients do not retry."""


def ran_out(conversation: Conversation) -> ScriptRanOut:
    """The error for a conversation that outlived its script, naming turn and last message."""
    last = conversation.messages[-1]
    shown = last.text if len(last.text) <= _SHOWN else last.text[:_SHOWN] + "..."
    return ScriptRanOut(
        f"the script has no turn {conversation.turn} (turns count from 0); "
        f"the last message is from role {last.role!r}: {shown!r}"
    )


class Replies:
    """A script of these replies, one a turn; a text stands for `say(text)`.

    `again` is the place (from 0) that the script goes back to after its last reply; None means
    that it is over then. Prints as the Python that makes it. Raises `ValueError` for no replies,
    or a place that is none.

        Replies(ask("list_files"), "Done.")
        Replies(ask("list_files"), again=0)  # for ever
    """

    def __init__(self, *replies: Reply | str, again: int | None = None) -> None:
        if not replies:
            raise ValueError("a script needs at least one reply")
        if again is not None and not 0 <= again < len(replies):
            raise ValueError(f"again={again}: must be a place from 0 to {len(replies) - 1}")
        self.replies = tuple(say(reply) if isinstance(reply, str) else reply for reply in replies)
        self.again = again

    @property
    def turns(self) -> int | None:
        """How many turns it has, None if it never ends."""
        return len(self.replies) if self.again is None else None

    def __call__(self, conversation: Conversation) -> Reply:
        """The reply of the conversation's turn; raises `ScriptRanOut` past the end."""
        turn, count = conversation.turn, len(self.replies)
        if turn < count:
            return self.replies[turn]
        if self.again is None:
            raise ran_out(conversation)
        return self.replies[self.again + (turn - count) % (count - self.again)]

    def to_yaml(self) -> str:
        """The same script in YAML, ready to be a file; raises `ValueError` where YAML has no words
        for it."""
        return _yaml_of(self.replies, self.again)

    def __repr__(self) -> str:
        return _python_of(self.replies, self.again)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Replies):
            return NotImplemented
        return (self.replies, self.again) == (other.replies, other.again)

    def __hash__(self) -> int:
        return hash((self.replies, self.again))


_WIDTH = 88


def _python_of(replies: Sequence[Reply], again: int | None = None) -> str:
    """The Python that makes the script; a line if it fits, else a line per reply."""
    parts = [_python_of_reply(reply) for reply in replies]
    if again is not None:
        parts.append(f"again={again}")
    line = f"Replies({', '.join(parts)})"
    if len(line) <= _WIDTH:
        return line
    return "Replies(\n" + "".join(f"    {part},\n" for part in parts) + ")"


def _python_of_reply(reply: Reply) -> str:
    """The Python that makes one reply: `say` or `ask` where they will do."""
    blocks = reply.blocks
    plain = all(isinstance(block, Text) or _plain(block) for block in blocks)
    if not plain or not blocks or any(_extras(reply)):
        extras = ", ".join(f"{name}={value}" for name, value in _extras(reply))
        shown = ", ".join(_block(block) for block in blocks)
        tuple_ = f"({shown},)" if len(blocks) == 1 else f"({shown})"
        return f"Reply({', '.join(filter(None, [tuple_, extras]))})"
    if isinstance(blocks[0], ToolCall) and all(isinstance(block, ToolCall) for block in blocks):
        first, *more = (block for block in blocks if isinstance(block, ToolCall))
        named = _arguments(first, more=bool(more))
        return f"ask({', '.join([*named, *map(_call, more)])})"
    return f"say({', '.join(_part(block) for block in blocks)})"


def _extras(reply: Reply) -> Iterator[tuple[str, str]]:
    """What `say` and `ask` cannot express, as keyword arguments of `Reply`."""
    if reply.finish is not None:
        yield "finish", repr(reply.finish)
    if reply.usage is not None:
        yield "usage", repr(reply.usage)
    if reply.fault is not None:
        params = dict(reply.fault.params)
        shown = f", {params!r}" if params else ""
        yield "fault", f"Fault({reply.fault.name!r}{shown})"
    if reply.pace is not None:
        yield "pace", repr(reply.pace)


def _plain(block: Block) -> bool:
    return isinstance(block, ToolCall) and block.id is None


def _part(block: Block) -> str:
    return repr(block.text) if isinstance(block, Text) else _block(block)


def _block(block: Block) -> str:
    """The Python that makes one block."""
    if isinstance(block, ToolCall) and block.id is None:
        return _call(block)
    values = [getattr(block, field.name) for field in fields(block)]
    return f"{type(block).__name__}({', '.join(repr(v) for v in values if v is not None)})"


def _call(call: ToolCall) -> str:
    return f"call({', '.join(_arguments(call, more=False))})"


def _arguments(call: ToolCall, *, more: bool) -> list[str]:
    """The arguments of `call` or `ask`; with `more`, none is written as None."""
    if call.arguments == "{}":
        return [repr(call.name), *(["None"] if more else [])]
    mapping = _as_sent(call.arguments)
    return [repr(call.name), repr(call.arguments if mapping is None else mapping)]


def _as_sent(arguments: str) -> dict[str, Any] | None:
    """The mapping that is sent as exactly this text, None if there is none."""
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        return None
    same = json.dumps(value, ensure_ascii=False, separators=(",", ":")) == arguments
    return value if isinstance(value, dict) and value and same else None


def _yaml_of(replies: Sequence[Reply], again: int | None = None) -> str:
    """The YAML that makes the script; raises `ValueError` where it has no words for it."""
    import yaml

    turns: list[dict[str, Any]] = [_turn(reply) for reply in replies]
    if again is not None:
        turns = [*turns[:again], {"loop": turns[again:]}]
    shown: str = yaml.safe_dump({"turns": turns}, sort_keys=False, allow_unicode=True)
    return shown


def _turn(reply: Reply) -> dict[str, Any]:
    """One reply as a turn of a YAML script."""
    turn: dict[str, Any] = {}
    for block in reply.blocks:
        key, value = _written(block, bool(reply.calls) and "ask" in turn)
        if key == "ask":
            turn.setdefault("ask", []).append(value)
        elif key in turn:
            raise ValueError(f"YAML has one place for {key!r} in a reply, and there are two")
        else:
            turn[key] = value
    if reply.finish is not None:
        turn["finish"] = reply.finish
    if reply.usage is not None:
        turn["usage"] = _set_fields(reply.usage)
    if reply.fault is not None:
        turn["fault"] = {"name": reply.fault.name, **reply.fault.params}
    if reply.pace is not None:
        turn["pace"] = _set_fields(reply.pace)
    if not turn:
        raise ValueError("YAML has no words for an empty reply that names no fault")
    return turn


def _written(block: Block, after: bool) -> tuple[str, Any]:
    """The key and the value of a block; `after` says that calls came before it."""
    if isinstance(block, Text):
        return ("then_say" if after else "say"), _literal(block.text)
    if isinstance(block, Thinking) and block.signature is None:
        return "think", _literal(block.text)
    if isinstance(block, Refusal):
        return "refuse", _literal(block.text)
    if isinstance(block, ToolCall):
        return "ask", _call_written(block)
    raise ValueError(f"YAML has no words for {block!r}")


def _call_written(call: ToolCall) -> dict[str, Any]:
    """A call as it stands under `ask`."""
    arguments = _as_sent(call.arguments)
    written: dict[str, Any] = {"tool": call.name}
    if call.arguments != "{}":
        written["arguments"] = _literal(call.arguments) if arguments is None else arguments
    if call.id is not None:
        written["id"] = call.id
    _check_texts(arguments)
    return written


def _check_texts(value: Any) -> None:
    """Raise `ValueError` for a text in a value that YAML would take for a template."""
    if isinstance(value, str):
        _literal(value)
    for inner in value.values() if isinstance(value, dict) else ():
        _check_texts(inner)
    for inner in value if isinstance(value, list) else ():
        _check_texts(inner)


def _literal(text: str) -> str:
    if "{{" in text:
        raise ValueError("YAML takes {{ for a template; use Python for this text")
    return text


def _set_fields(value: Any) -> dict[str, Any]:
    values = {field.name: getattr(value, field.name) for field in fields(value)}
    return {name: value for name, value in values.items() if value}

"""Replies as source, ready to paste: as Python, as YAML."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import Any

from fakeprovider.replies import Block, Refusal, Reply, Text, Thinking, ToolCall

_WIDTH = 88


def python_of(replies: Sequence[Reply], again: int | None = None) -> str:
    """The Python that makes the script; a line if it fits, else a line per reply."""
    parts = [python_of_reply(reply) for reply in replies]
    if again is not None:
        parts.append(f"again={again}")
    line = f"Replies({', '.join(parts)})"
    if len(line) <= _WIDTH:
        return line
    return "Replies(\n" + "".join(f"    {part},\n" for part in parts) + ")"


def python_of_reply(reply: Reply) -> str:
    """The Python that makes one reply: `say` or `ask` where they will do."""
    blocks = reply.blocks
    plain = all(isinstance(one, Text) or _plain(one) for one in blocks)
    if not plain or not blocks or any(_extras(reply)):
        extras = ", ".join(f"{name}={value}" for name, value in _extras(reply))
        shown = ", ".join(_block(one) for one in blocks)
        tuple_ = f"({shown},)" if len(blocks) == 1 else f"({shown})"
        return f"Reply({', '.join(filter(None, [tuple_, extras]))})"
    if isinstance(blocks[0], ToolCall) and all(isinstance(one, ToolCall) for one in blocks):
        first, *more = (one for one in blocks if isinstance(one, ToolCall))
        named = _arguments(first, more=bool(more))
        return f"ask({', '.join([*named, *map(_call, more)])})"
    return f"say({', '.join(_part(one) for one in blocks)})"


def _extras(reply: Reply) -> Iterator[tuple[str, str]]:
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
    if isinstance(block, ToolCall) and block.id is None:
        return _call(block)
    given = [(one.name, getattr(block, one.name)) for one in fields(block)]
    return f"{type(block).__name__}({', '.join(repr(v) for _, v in given if v is not None)})"


def _call(call: ToolCall) -> str:
    return f"call({', '.join(_arguments(call, more=False))})"


def _arguments(call: ToolCall, *, more: bool) -> list[str]:
    if call.arguments == "{}":
        return [repr(call.name), *(["None"] if more else [])]
    mapping = _as_sent(call.arguments)
    return [repr(call.name), repr(call.arguments if mapping is None else mapping)]


def _as_sent(arguments: str) -> dict[str, Any] | None:
    """The mapping that is sent as exactly this text, None if there is none."""
    try:
        found = json.loads(arguments)
    except (ValueError, RecursionError):
        return None
    same = json.dumps(found, ensure_ascii=False, separators=(",", ":")) == arguments
    return found if isinstance(found, dict) and found and same else None


def yaml_of(replies: Sequence[Reply], again: int | None = None) -> str:
    """The YAML that makes the script; raises `ValueError` where it has no words for it."""
    import yaml

    turns: list[dict[str, Any]] = [_turn(reply) for reply in replies]
    if again is not None:
        turns = [*turns[:again], {"loop": turns[again:]}]
    shown: str = yaml.safe_dump({"turns": turns}, sort_keys=False, allow_unicode=True)
    return shown


def _turn(reply: Reply) -> dict[str, Any]:
    turn: dict[str, Any] = {}
    for block in reply.blocks:
        key, value = _said(block, bool(reply.calls) and "ask" in turn)
        if key == "ask":
            turn.setdefault("ask", []).append(value)
        elif key in turn:
            raise ValueError(f"YAML has one place for {key!r} in a reply, and there are two")
        else:
            turn[key] = value
    if reply.finish is not None:
        turn["finish"] = reply.finish
    if reply.usage is not None:
        turn["usage"] = _given(reply.usage)
    if reply.fault is not None:
        turn["fault"] = {"name": reply.fault.name, **reply.fault.params}
    if reply.pace is not None:
        turn["pace"] = _given(reply.pace)
    if not turn:
        raise ValueError("YAML has no words for an empty reply that names no fault")
    return turn


def _said(block: Block, after: bool) -> tuple[str, Any]:
    if isinstance(block, Text):
        return ("then_say" if after else "say"), _literal(block.text)
    if isinstance(block, Thinking) and block.signature is None:
        return "think", _literal(block.text)
    if isinstance(block, Refusal):
        return "refuse", _literal(block.text)
    if isinstance(block, ToolCall):
        return "ask", _asked(block)
    raise ValueError(f"YAML has no words for {block!r}")


def _asked(call: ToolCall) -> dict[str, Any]:
    arguments = _as_sent(call.arguments)
    asked: dict[str, Any] = {"tool": call.name}
    if call.arguments != "{}":
        asked["arguments"] = _literal(call.arguments) if arguments is None else arguments
    if call.id is not None:
        asked["id"] = call.id
    _check_texts(arguments)
    return asked


def _check_texts(value: Any) -> None:
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


def _given(value: Any) -> dict[str, Any]:
    found = {one.name: getattr(value, one.name) for one in fields(value)}
    return {name: one for name, one in found.items() if one}

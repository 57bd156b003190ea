"""Answers of real services, read back: a reply as a case of a YAML script has it.

Each dialect reads its own answers, whole or streamed, next to where it writes them; what they have
in common stands here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from fakeprovider.replies import arguments_object, call

Written: TypeAlias = dict[str, Any]
"""A reply, or a call, with the keys of a case of a YAML script."""

Said: TypeAlias = tuple[str, str] | Written
"""A piece of a reply in its order: `say`, `think` or `refuse` with the words, or a call."""

_LEGAL_ID = re.compile(r"[a-zA-Z0-9_-]{1,40}")


class NotAnAnswer(ValueError):
    """A body that is no whole answer, or one that a script cannot give."""


def read_events(body: bytes) -> Iterator[Mapping[str, Any]]:
    """The JSON of each event that has any; the last of chat completions has none."""
    for line in body.decode().replace("\r", "\n").split("\n"):
        data = line.removeprefix("data:").strip()
        if line.startswith("data:") and data and data != "[DONE]":
            yield json.loads(data)


def written_call(call_id: str | None, name: str, arguments: str) -> Written:
    """The call; arguments that are not the compact JSON that we write stay the text they are.

    Raises `NotAnAnswer` for a call without a name, as those of tools without a schema are.
    """
    if not name:
        raise NotAnAnswer("a call that is not one of a function cannot be written down")
    value = arguments_object(arguments)
    made: Written = {"tool": name}
    if value is None or call(name, value).arguments != arguments:
        made["arguments"] = arguments
    elif value:
        made["arguments"] = value
    return {**made, "id": call_id} if call_id and _LEGAL_ID.fullmatch(call_id) else made


def written(said: Iterable[Said], finish: str | None, usage: Mapping[str, Any]) -> Written:
    """The reply: its words of a kind joined, its calls, and what does not follow from these.

    `finish` is a script's word or None; of `usage` (`prompt_tokens`, ...) what is a number is kept.
    """
    words = {"say": "", "then_say": "", "think": "", "refuse": ""}
    calls: list[Written] = []
    for piece in said:
        if isinstance(piece, dict):
            calls.append(piece)
        else:
            kind, text = piece
            words["then_say" if kind == "say" and calls else kind] += text
    reply: Written = {key: text for key, text in words.items() if text}
    if calls:
        reply["ask"] = calls
    if not reply:
        reply["say"] = ""
    if finish is not None:
        reply["finish"] = finish
    counts = {name: count for name, count in usage.items() if type(count) is int and count >= 0}
    return {**reply, "usage": counts} if counts else reply

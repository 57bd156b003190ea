"""A reply as a case of a YAML script has it, made of what was said in whatever dialect."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from fakeprovider.fitting.arguments import parsed
from fakeprovider.replies import call

Written: TypeAlias = dict[str, Any]
"""A reply, or a call, with the keys of a case of a YAML script."""

Said: TypeAlias = tuple[str, str] | Written
"""A piece of a reply in its order: `say`, `think` or `refuse` with the words, or a call."""

_LEGAL_ID = re.compile(r"[a-zA-Z0-9_-]{1,40}")


class NotAnAnswer(ValueError):
    """A body that is no whole answer, or one that a script cannot give."""


def written_call(call_id: str | None, name: str, arguments: str) -> Written:
    """The call; arguments that are not the compact JSON that we write stay the text they are.

    Raises `NotAnAnswer` for a call without a name, as those of tools without a schema are.
    """
    if not name:
        raise NotAnAnswer("a call that is not one of a function cannot be written down")
    value = parsed(arguments)
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
    for one in said:
        if isinstance(one, dict):
            calls.append(one)
        else:
            kind, text = one
            words["then_say" if kind == "say" and calls else kind] += text
    reply: Written = {key: text for key, text in words.items() if text}
    if calls:
        reply["ask"] = calls
    if not reply:
        reply["say"] = ""
    if finish is not None:
        reply["finish"] = finish
    told = {name: count for name, count in usage.items() if type(count) is int and count >= 0}
    return {**reply, "usage": told} if told else reply

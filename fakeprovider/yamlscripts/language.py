"""The language of YAML scripts, written down once: what may stand where, and what it means."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from fakeprovider.pacing import PROFILES
from fakeprovider.recording.requests import FIELDS
from fakeprovider.replies import Finish
from fakeprovider.yamlscripts import templates
from fakeprovider.yamlscripts.conditions import BadPattern, Pattern, SlowPattern, text_match
from fakeprovider.yamlscripts.nodes import Node, Problems, walk
from fakeprovider.yamlscripts.shapes import (
    YES_OR_NO,
    Anything,
    Either,
    Fields,
    Json,
    ListOf,
    MapOf,
    Named,
    OneOf,
    Shape,
    check_numbers,
    number,
    pattern,
    text,
    whole,
)

KINDS = ("turns", "rules", "recorded")
"""What a script consists of: one of these."""

CLOSINGS = ("text", "final_answer", "submit")
ANSWER = "answer"
"""The source that a closing's template may use beside the usual ones."""


def _bad_pattern(value: str) -> str:
    try:
        Pattern(value)
    except BadPattern as error:
        return str(error)
    return ""


def _bad_template(value: str, more: Sequence[str] = ()) -> str:
    try:
        templates.parse(value, more)
    except templates.BadTemplate as error:
        return str(error)
    return ""


def _empty_range(value: Mapping[str, Any]) -> str:
    least, most = value.get("at_least", 0), value.get("at_most", math.inf)
    return "" if least <= most else f"no number is at least {least} and at most {most}"


def _contradiction(value: Mapping[str, Any]) -> str:
    """Where the whole text is given, what else is asked of it can be decided at once."""
    if "equals" not in value:
        return ""
    others = {key: value[key] for key in ("contains", "matches") if key in value}
    try:
        fits = text_match(others)(value["equals"])
    except SlowPattern as error:
        return str(error)
    return "" if fits else f"the text of 'equals' is not one for {' and '.join(map(repr, others))}"


@dataclass(frozen=True)
class Templated:
    """Any JSON value, in whose texts templates may stand."""

    words: str
    more: tuple[str, ...] = ()

    def says(self) -> str:
        return self.words

    def takes(self, node: Node) -> bool:
        return True

    def check(self, node: Node, problems: Problems) -> None:
        check_numbers(node, problems)
        for inner in walk(node):
            if isinstance(inner.value, str) and (flaw := _bad_template(inner.value, self.more)):
                problems.add(inner.line, flaw)

    def schema(self) -> Json:
        return {}


_TEXT = text()
_REGEX = text("a regular expression (Python's)", _bad_pattern, format="regex")
_SPOKEN = text("text, in which {{ templates }} may stand", _bad_template)
_WORDS: Shape = Either((_TEXT, ListOf(_TEXT)))
_TOOL = pattern("a tool's name (a-z, A-Z, 0-9, _ and -)", r"[a-zA-Z0-9_-]{1,128}")
_ASKED = pattern("a tool's name", ".+")  # what is legal is checked with the whole reply
_TOOLS: Shape = Either((_TOOL, ListOf(_TOOL)))
_NAME = r"[a-zA-Z0-9][a-zA-Z0-9_.-]*"
_LABEL = pattern("a label (a-z, A-Z, 0-9, _, . and -)", _NAME)
_ARGUMENTS = MapOf(Templated("an argument"), "a mapping of arguments")
_FIXED = MapOf(Anything(), "a mapping of arguments")
_CLOSING_ARGUMENTS = MapOf(Templated("an argument", (ANSWER,)), "a mapping of arguments")

COUNT: Shape = Either(
    (
        whole(),
        ListOf(whole()),
        Fields(
            "a range",
            {
                "at_least": (whole(), "The least number that counts."),
                "at_most": (whole(), "The greatest number that counts."),
            },
            least=("at_least", "at_most"),
            flaw=_empty_range,
        ),
    )
)

_MATCHES = {
    "contains": (_WORDS, "Text that must stand in it; of a list, each."),
    "matches": (_REGEX, "A regular expression (Python's) that must be found in it."),
    "equals": (_TEXT, "The whole of it."),
}
MATCHER: Shape = Either(
    (_TEXT, Fields("a match", _MATCHES, least=tuple(_MATCHES), flaw=_contradiction))
)
_RESULT_MATCH = {
    **_MATCHES,
    "tool": (_TOOL, "The tool that answered."),
    "outcome": (
        OneOf(("ok", "error")),
        "error: marked as an error, or its text begins with the word error.",
    ),
}
RESULT: Shape = Either(
    (
        OneOf(("any", "none")),
        Fields("a result", _RESULT_MATCH, least=tuple(_RESULT_MATCH), flaw=_contradiction),
    )
)
CONDITION = Named("condition", lambda: _CONDITION)
_SEVERAL: Shape = ListOf(CONDITION)
CONDITIONS: dict[str, tuple[Shape, str]] = {
    "turn": (COUNT, "The turn, from 0: a number, one of several, or a range."),
    "since_last_user": (COUNT, "Turns since the user last spoke."),
    "last_result": (RESULT, "The last tool result since the last turn."),
    "any_result": (RESULT, "Any tool result since the last turn."),
    "user": (MATCHER, "The last thing the user said."),
    "system": (MATCHER, "The system prompt."),
    "seen": (_WORDS, "Text that stands in any message; of a list, each."),
    "offers": (_TOOLS, "A tool that the client offers; of a list, each."),
    "all": (_SEVERAL, "All of these conditions."),
    "any": (_SEVERAL, "At least one of these conditions."),
    "not": (CONDITION, "Not this condition."),
}
_CONDITION: Shape = Fields("a condition", CONDITIONS, least=tuple(CONDITIONS))
WHEN: Shape = Either((OneOf(("else",)), CONDITION))

_RAW: Shape = Either((_ARGUMENTS, text("text sent as it is, JSON or not", _bad_template)))
CALL: Shape = Either(
    (
        _ASKED,
        Fields(
            "a call",
            {
                "tool": (_ASKED, "The tool's name."),
                "arguments": (_RAW, "Its arguments: a mapping, or text sent as it is."),
                "id": (_TEXT, "The call's id; fake0, fake1, ... without."),
            },
            needs=("tool",),
        ),
    )
)


def _closing() -> Shape:
    fields: dict[str, tuple[Shape, str]] = {
        "tool": (_TOOL, "The tool that ends the client's run."),
        "arguments": (_CLOSING_ARGUMENTS, "Its arguments, with {{ answer }} for the answer."),
    }
    return Fields("a closing", fields, needs=("tool", "arguments"))


def _target(arguments: Shape) -> Shape:
    fields: dict[str, tuple[Shape, str]] = {
        "tool": (_TOOL, "The tool to call in its place."),
        "arguments": (arguments, "Its arguments; the script's own without, if they fit."),
    }
    return Either((_TOOL, Fields("a tool", fields, needs=("tool",))))


_PACE: dict[str, tuple[Shape, str]] = {
    "profile": (OneOf(tuple(PROFILES)), "The pace of a service or a person, to start from."),
    "first_token": (number("seconds, 0 or more", 0), "Seconds to the first token."),
    "tokens_per_second": (number("tokens per second, over 0", 1e-9), "Speed after that."),
    "jitter": (number("a fraction from 0 to 1", 0, 1), "How far each gap may vary."),
    "stall": (number("seconds, 0 or more", 0), "Seconds for which the stream stands still."),
    "stall_every": (whole(1), "After how many tokens each time."),
}
PACE: Shape = Either((OneOf(tuple(PROFILES)), Fields("a pace", _PACE, least=tuple(_PACE))))
USAGE = Fields(
    "usage",
    {
        name: (whole(), f"What to report as {name}, in place of the count.")
        for name in ("prompt_tokens", "completion_tokens", "cached_tokens", "reasoning_tokens")
    },
    least=("prompt_tokens", "completion_tokens", "cached_tokens", "reasoning_tokens"),
)
FAULT: Shape = Either(
    (
        text("a fault's name"),
        # `name` is checked here, the fault's own parameters where faults are known.
        MapOf(Anything(), "a mapping with name and the fault's parameters"),
    )
)
EXPECT = Fields(
    "an expectation",
    {
        "tools": (
            Either((_TOOL, ListOf(_TOOL, 0))),
            "Exactly the tools that are offered, in any order.",
        ),
        "offers": (_TOOLS, "Tools that are offered, beside others."),
        "roles": (
            ListOf(OneOf(("system", "user", "assistant", "tool"))),
            "The roles of all messages, in order; developer counts as system.",
        ),
        "seen": (_WORDS, "Text that stands in any message."),
        "user": (MATCHER, "The last thing the user said."),
        "last_result": (RESULT, "The result of the last call."),
        "prompt_tokens": (COUNT, "The size of the prompt in tokens."),
    },
    least=("tools", "offers", "roles", "seen", "user", "last_result", "prompt_tokens"),
)

SPEECH = ("say", "ask", "then_say", "refuse", "think", "fault", "finish")
REPLY_FIELDS: dict[str, tuple[Shape, str]] = {
    "say": (_SPOKEN, "Words for the user; before the calls, if there are any."),
    "ask": (Either((CALL, ListOf(CALL))), "One tool to call, or several at once."),
    "then_say": (_SPOKEN, "Words after the calls."),
    "refuse": (_SPOKEN, "A refusal, in the place that the protocol keeps for it."),
    "think": (_SPOKEN, "Reasoning shown before the answer."),
    "finish": (OneOf(get_args(Finish)), "Why the reply ends; derived without."),
    "usage": (USAGE, "Tokens to report in place of the counted ones."),
    "fault": (FAULT, "Something that goes wrong on the wire, by name."),
    "pace": (PACE, "How fast this reply arrives."),
    "goto": (_LABEL, "Where the script goes on after this turn: a label, or end."),
}
CASE = Fields(
    "a case",
    {"when": (WHEN, "When this case holds; the first that does is taken."), **REPLY_FIELDS},
    least=SPEECH,
)
TURN_FIELDS: dict[str, tuple[Shape, str]] = {
    "label": (_LABEL, "A name to go to."),
    "expect": (EXPECT, "What the request must be; another one is refused, loudly."),
    "cases": (ListOf(CASE), "Replies to choose from by condition."),
    "loop": (ListOf(Named("turn", lambda: TURN)), "Turns that are repeated as a block."),
    "times": (whole(1), "How often the block is run; for ever without."),
}
TURN: Shape = Fields("a turn", {**TURN_FIELDS, **REPLY_FIELDS}, least=(*SPEECH, "cases", "loop"))
VOLATILE = Fields(
    "a volatile thing",
    {
        "field": (OneOf(FIELDS), "A part of the request."),
        "result_of": (_TOOL, "A tool whose results are not compared."),
        "argument": (_TEXT, "An argument's name; its values are not compared."),
    },
    least=("field", "result_of", "argument"),
)
_OFFERED = Fields(
    "an offered tool",
    {
        "name": (_TEXT, "Its name."),
        "description": (_TEXT, "Its description."),
        "parameters": (MapOf(Anything(), "a JSON Schema"), "The schema of its arguments."),
    },
    needs=("name",),
)
_ANY_CALL = Fields(
    "a call",
    {"tool": (_TEXT, "The tool."), "arguments": (Anything(), "An object, or the text sent.")},
    needs=("tool", "arguments"),
)
MESSAGE = Fields(
    "a message",
    {
        "system": (_TEXT, "A system or developer message."),
        "user": (_TEXT, "A user message."),
        "assistant": (_TEXT, "An assistant message's words."),
        "calls": (ListOf(_ANY_CALL), "Its calls."),
        "tool": (_TEXT, "The tool that answered."),
        "text": (_TEXT, "What it answered."),
        "error": (YES_OR_NO, "Whether the result is marked as an error."),
        "images": (whole(1), "How many images it carries."),
    },
    least=("system", "user", "assistant", "tool"),
)
REQUEST = Fields(
    "a request",
    {
        "model": (_TEXT, "The model asked for; that of `after` without."),
        "tools": (ListOf(_OFFERED, 0), "The tools offered; those of `after` without."),
        "messages": (ListOf(MESSAGE, 0), "The messages; with `after`, those that come on top."),
    },
    needs=("messages",),
)
_RECORDED_CALL = Fields(
    "a call",
    {
        "tool": (_ASKED, "The tool's name."),
        "arguments": (Anything(), "Its arguments: an object, or text sent as it is."),
        "id": (_TEXT, "The call's id."),
    },
    needs=("tool",),
)
_RECORDED_REPLY = {
    **{key: value for key, value in REPLY_FIELDS.items() if key != "goto"},
    **{key: (_TEXT, REPLY_FIELDS[key][1]) for key in ("say", "then_say", "refuse", "think")},
    "ask": (Either((_ASKED, _RECORDED_CALL, ListOf(_RECORDED_CALL))), REPLY_FIELDS["ask"][1]),
}
RECORDED = Fields(
    "a recorded exchange",
    {
        "after": (whole(), "The exchange (from 0) whose request and reply this one goes on from."),
        "request": (REQUEST, "The request that gets this reply."),
        **_RECORDED_REPLY,
    },
    needs=("request",),
    least=SPEECH,
)
SCRIPT = Fields(
    "a script",
    {
        "name": (
            pattern("a script's name (a-z, A-Z, 0-9, _, . and -)", _NAME),
            "Its name; without one, that of its file.",
        ),
        "description": (_TEXT, "One line for lists."),
        "turn_from": (OneOf(("start", "last_user")), "Where turns count from."),
        "turn_offset": (whole(), "Turns that are not counted: few-shot examples."),
        "repeat_last": (YES_OR_NO, "Say the last turn for ever; an error without."),
        "closing": (
            Either((OneOf(CLOSINGS), _closing())),
            "The form of a final answer: text, or a call that takes {{ answer }}.",
        ),
        "tools": (
            MapOf(_target(_FIXED), "a mapping from the script's tools to the client's"),
            "What to call where the client does not offer a tool of the script's.",
        ),
        "pace": (PACE, "How fast every reply arrives."),
        "volatile": (
            ListOf(Either((_REGEX, VOLATILE))),
            "Of a recording: what differs on each run and is not compared.",
        ),
        "turns": (ListOf(Named("turn", lambda: TURN)), "The turns, from 0."),
        "rules": (ListOf(CASE), "In place of turns: the first that holds, on every turn."),
        "recorded": (ListOf(RECORDED), "In place of turns: replies by the whole request."),
    },
    least=KINDS,
)


def json_schema() -> Json:
    """The whole language as JSON Schema, for editors."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "fakeprovider script",
        **SCRIPT.schema(),
        "$defs": {"turn": TURN.schema(), "condition": _CONDITION.schema()},
    }

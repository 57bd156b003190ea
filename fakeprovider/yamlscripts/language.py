"""The language of YAML scripts, written down once: what may stand where, and what it means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from fakeprovider.pacing import PROFILES
from fakeprovider.recording.requests import FIELDS
from fakeprovider.replies import Finish
from fakeprovider.yamlscripts import templates
from fakeprovider.yamlscripts.conditions import CONDITION, condition_shape
from fakeprovider.yamlscripts.expectations import expectation_shape
from fakeprovider.yamlscripts.matches import REGEX, TEXT, TOOL
from fakeprovider.yamlscripts.shapes import (
    YES_OR_NO,
    Fields,
    Json,
    Shape,
    anything,
    either,
    list_of,
    map_of,
    mapping,
    named,
    number,
    one_of,
    pattern,
    text,
    whole,
)

KINDS = ("turns", "rules", "recorded")
"""What a script consists of: one of these."""

CLOSINGS = ("text", "final_answer", "submit")
ANSWER = "answer"
"""The source that a closing's template may use beside the usual ones."""


def _bad_template(value: str, more: Sequence[str] = ()) -> str:
    """What is wrong with the templates of a text, "" for nothing."""
    try:
        templates.parse(value, more)
    except templates.BadTemplate as error:
        return str(error)
    return ""


def _templated(*more: str) -> Shape:
    """Any JSON value, in whose texts templates may stand; `more` are sources beside the usual."""
    return anything("an argument", lambda value: _bad_template(value, more))


_SPOKEN = text("text, in which {{ templates }} may stand", _bad_template)
_ASKED = pattern("a tool's name", ".+")  # what is legal is checked with the whole reply
_NAME = r"[a-zA-Z0-9][a-zA-Z0-9_.-]*"
_LABEL = pattern("a label (a-z, A-Z, 0-9, _, . and -)", _NAME)
_ARGUMENTS = map_of(_templated(), "a mapping of arguments")
_FIXED = map_of(anything(), "a mapping of arguments")
_CLOSING_ARGUMENTS = map_of(_templated(ANSWER), "a mapping of arguments")

WHEN = either(one_of("else"), CONDITION)

_RAW = either(_ARGUMENTS, text("text sent as it is, JSON or not", _bad_template))
CALL = either(
    _ASKED,
    mapping(
        "a call",
        {
            "tool": (_ASKED, "The tool's name."),
            "arguments": (_RAW, "Its arguments: a mapping, or text sent as it is."),
            "id": (TEXT, "The call's id; fake0, fake1, ... without."),
        },
        needs=("tool",),
    ),
)


_CLOSING = mapping(
    "a closing",
    {
        "tool": (TOOL, "The tool that ends the client's run."),
        "arguments": (_CLOSING_ARGUMENTS, "Its arguments, with {{ answer }} for the answer."),
    },
    needs=("tool", "arguments"),
)
_TARGET = either(
    TOOL,
    mapping(
        "a tool",
        {
            "tool": (TOOL, "The tool to call in its place."),
            "arguments": (_FIXED, "Its arguments; the script's own without, if they fit."),
        },
        needs=("tool",),
    ),
)
_PACE: Fields = {
    "profile": (one_of(*PROFILES), "The pace of a service or a person, to start from."),
    "first_token": (number("seconds, 0 or more", 0), "Seconds to the first token."),
    "tokens_per_second": (number("tokens per second, over 0", 1e-9), "Speed after that."),
    "jitter": (number("a fraction from 0 to 1", 0, 1), "How far each gap may vary."),
    "stall": (number("seconds, 0 or more", 0), "Seconds for which the stream stands still."),
    "stall_every": (whole(1), "After how many tokens each time."),
}
PACE = either(one_of(*PROFILES), mapping("a pace", _PACE, least=tuple(_PACE)))
_TOKENS = ("prompt_tokens", "completion_tokens", "cached_tokens", "reasoning_tokens")
USAGE = mapping(
    "usage",
    {name: (whole(), f"What to report as {name}, in place of the count.") for name in _TOKENS},
    least=_TOKENS,
)
FAULT = either(
    text("a fault's name"),
    # `name` is checked here, the fault's own parameters where faults are known.
    map_of(anything(), "a mapping with name and the fault's parameters"),
)
SPEECH = ("say", "ask", "then_say", "refuse", "think", "fault", "finish")
REPLY_FIELDS: Fields = {
    "say": (_SPOKEN, "Words for the user; before the calls, if there are any."),
    "ask": (either(CALL, list_of(CALL)), "One tool to call, or several at once."),
    "then_say": (_SPOKEN, "Words after the calls."),
    "refuse": (_SPOKEN, "A refusal, in the place that the protocol keeps for it."),
    "think": (_SPOKEN, "Reasoning shown before the answer."),
    "finish": (one_of(*get_args(Finish)), "Why the reply ends; derived without."),
    "usage": (USAGE, "Tokens to report in place of the counted ones."),
    "fault": (FAULT, "Something that goes wrong on the wire, by name."),
    "pace": (PACE, "How fast this reply arrives."),
    "goto": (_LABEL, "Where the script goes on after this turn: a label, or end."),
}
CASE = mapping(
    "a case",
    {"when": (WHEN, "When this case holds; the first that does is taken."), **REPLY_FIELDS},
    least=SPEECH,
)
TURN_FIELDS: Fields = {
    "label": (_LABEL, "A name to go to."),
    "expect": (expectation_shape(), "What the request must be; another one is refused, loudly."),
    "cases": (list_of(CASE), "Replies to choose from by condition."),
    "loop": (list_of(named("turn", lambda: TURN)), "Turns that are repeated as a block."),
    "times": (whole(1), "How often the block is run; for ever without."),
}
TURN: Shape = mapping("a turn", {**TURN_FIELDS, **REPLY_FIELDS}, least=(*SPEECH, "cases", "loop"))
VOLATILE = mapping(
    "a volatile thing",
    {
        "field": (one_of(*FIELDS), "A part of the request."),
        "result_of": (TOOL, "A tool whose results are not compared."),
        "argument": (TEXT, "An argument's name; its values are not compared."),
    },
    least=("field", "result_of", "argument"),
)
_OFFERED = mapping(
    "an offered tool",
    {
        "name": (TEXT, "Its name."),
        "description": (TEXT, "Its description."),
        "parameters": (map_of(anything(), "a JSON Schema"), "The schema of its arguments."),
    },
    needs=("name",),
)
_ANY_CALL = mapping(
    "a call",
    {"tool": (TEXT, "The tool."), "arguments": (anything(), "An object, or the text sent.")},
    needs=("tool", "arguments"),
)
MESSAGE = mapping(
    "a message",
    {
        "system": (TEXT, "A system or developer message."),
        "user": (TEXT, "A user message."),
        "assistant": (TEXT, "An assistant message's words."),
        "calls": (list_of(_ANY_CALL), "Its calls."),
        "tool": (TEXT, "The tool that answered."),
        "text": (TEXT, "What it answered."),
        "error": (YES_OR_NO, "Whether the result is marked as an error."),
        "images": (whole(1), "How many images it carries."),
    },
    least=("system", "user", "assistant", "tool"),
)
REQUEST = mapping(
    "a request",
    {
        "model": (TEXT, "The model asked for; that of `after` without."),
        "tools": (list_of(_OFFERED, 0), "The tools offered; those of `after` without."),
        "messages": (list_of(MESSAGE, 0), "The messages; with `after`, those that come on top."),
    },
    needs=("messages",),
)
_RECORDED_CALL = mapping(
    "a call",
    {
        "tool": (_ASKED, "The tool's name."),
        "arguments": (anything(), "Its arguments: an object, or text sent as it is."),
        "id": (TEXT, "The call's id."),
    },
    needs=("tool",),
)
_RECORDED_REPLY = {
    **{key: value for key, value in REPLY_FIELDS.items() if key != "goto"},
    **{key: (TEXT, REPLY_FIELDS[key][1]) for key in ("say", "then_say", "refuse", "think")},
    "ask": (either(_ASKED, _RECORDED_CALL, list_of(_RECORDED_CALL)), REPLY_FIELDS["ask"][1]),
}
RECORDED = mapping(
    "a recorded exchange",
    {
        "after": (whole(), "The exchange (from 0) whose request and reply this one goes on from."),
        "request": (REQUEST, "The request that gets this reply."),
        **_RECORDED_REPLY,
    },
    needs=("request",),
    least=SPEECH,
)
SCRIPT = mapping(
    "a script",
    {
        "name": (
            pattern("a script's name (a-z, A-Z, 0-9, _, . and -)", _NAME),
            "Its name; without one, that of its file.",
        ),
        "description": (TEXT, "One line for lists."),
        "turn_from": (one_of("start", "last_user"), "Where turns count from."),
        "turn_offset": (whole(), "Turns that are not counted: few-shot examples."),
        "repeat_last": (YES_OR_NO, "Say the last turn for ever; an error without."),
        "closing": (
            either(one_of(*CLOSINGS), _CLOSING),
            "The form of a final answer: text, or a call that takes {{ answer }}.",
        ),
        "tools": (
            map_of(_TARGET, "a mapping from the script's tools to the client's"),
            "What to call where the client does not offer a tool of the script's.",
        ),
        "pace": (PACE, "How fast every reply arrives."),
        "volatile": (
            list_of(either(REGEX, VOLATILE)),
            "Of a recording: what differs on each run and is not compared.",
        ),
        "turns": (list_of(named("turn", lambda: TURN)), "The turns, from 0."),
        "rules": (list_of(CASE), "In place of turns: the first that holds, on every turn."),
        "recorded": (list_of(RECORDED), "In place of turns: replies by the whole request."),
    },
    least=KINDS,
)


def json_schema() -> Json:
    """The whole language as JSON Schema, for editors."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "fakeprovider script",
        **SCRIPT.schema,
        "$defs": {"turn": TURN.schema, "condition": condition_shape().schema},
    }

"""What a request demands of the answer: which tools may be called, and JSON in a form.

`tool_choice` and its kin say the one, `response_format` and its kin the other.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from fakeprovider.completion import Completion
from fakeprovider.conversation import Conversation, Offered
from fakeprovider.errors import ApiError, invalid
from fakeprovider.fitting.tool_mapping import only_reads
from fakeprovider.replies import Reply, ToolCall, call

_SHOWN = 80


@dataclass(frozen=True, slots=True)
class Choice:
    """How tools may be used.

    `mode` is `auto`, `none` or `required` (at least one call). `names`, if any, are the only tools
    that may be called. `single` forbids several calls at once.
    """

    mode: str = "auto"
    names: tuple[str, ...] = ()
    single: bool = False


FREE = Choice()
"""That of a request which leaves it to the model: any tool, or none."""


def allowed(tools: tuple[Offered, ...], choice: Choice) -> tuple[Offered, ...]:
    """The tools that may be called now; raises `ApiError` for a name or mode there is not."""
    if choice.mode not in ("auto", "none", "required"):
        raise invalid(
            f"Invalid value: '{choice.mode}'. 'tool_choice' is auto, none or required, or names a "
            "tool.",
            "tool_choice",
            "invalid_value",
        )
    if choice.mode == "none":
        return ()
    offered = {tool.name for tool in tools}
    missing = [name for name in choice.names if name not in offered]
    if missing:
        raise invalid(
            f"Tool choice '{missing[0]}' not found among the tools offered.", "tool_choice"
        )
    return tuple(tool for tool in tools if not choice.names or tool.name in choice.names)


def obey(reply: Reply, conversation: Conversation) -> Reply:
    """The reply as far as the client's choice allows it.

    Of several calls where one is allowed the first is left. Where a call is required and the
    script has none, the named tool is called, else one whose name says that it only reads, with
    the smallest arguments that its schema admits. Raises `ApiError` where there is none: a client
    that demands a call must not be given words.
    """
    choice: Choice = conversation.options.get("choice", FREE)
    if reply.fault is not None:
        return reply
    if choice.single and len(reply.calls) > 1:
        return _first_call(reply)
    if choice.mode == "required" and not reply.calls and reply.finish in (None, "stop"):
        demanded = _demanded_call(conversation, choice)
        return replace(reply, blocks=(*reply.blocks, demanded), finish=None)
    return reply


def _first_call(reply: Reply) -> Reply:
    """The reply with the first of its calls only."""
    first = reply.calls[0]
    blocks = tuple(
        block for block in reply.blocks if not isinstance(block, ToolCall) or block is first
    )
    return replace(reply, blocks=blocks)


def _demanded_call(conversation: Conversation, choice: Choice) -> ToolCall:
    """The smallest call of a tool that may be called; raises `ApiError` if there is none."""
    from fakeprovider.fitting.arguments import Unsatisfiable, smallest_arguments

    for tool in conversation.tools:
        if choice.names or only_reads(tool.name):
            try:
                return call(tool.name, smallest_arguments(tool.parameters))
            except Unsatisfiable:
                continue
    raise ApiError(
        400,
        f"The request demands a tool call, and the script answers turn {conversation.turn} with "
        "words. Name the tool in 'tool_choice', give a client preset (;client=...) whose final "
        "turn is a call, or let the script call a tool.",
        param="tool_choice",
        code="tool_choice_not_met",
        retry=False,
    )


def check_form(conversation: Conversation, completion: Completion) -> None:
    """Raises `ApiError` for an answer that is not in the JSON that the client asked for.

    A client that sent a schema and got a 200 cannot know that nothing enforced it. Only a full
    answer is checked: calls, refusals and cut replies are none.
    """
    schema = conversation.options.get("json_schema")
    if completion.finish not in ("stop", "stop_sequence"):
        return
    why = _misfit(completion.text, schema)
    if why:
        shown = completion.text[:_SHOWN]
        raise ApiError(
            400,
            f"The client asked for JSON, and script {completion.script!r} answers turn "
            f"{completion.position} with {shown!r}: {why}. Give the script an answer that fits.",
            param="response_format",
            code="response_format_not_met",
            retry=False,
        )


def _misfit(text: str, schema: Mapping[str, Any] | None) -> str:
    """Why a text does not fit, "" if it does."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return "that is no JSON"
    if schema is None:
        return "" if isinstance(value, dict) else "that is no JSON object"
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import validator_for
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    try:
        validator = validator_for(dict(schema))
        validator.check_schema(dict(schema))
        # An empty registry: a reference to elsewhere is an error, and nothing is fetched.
        errors = validator(dict(schema), registry=Registry()).iter_errors(value)
        error = next(iter(errors), None)
    except (SchemaError, Unresolvable) as broken:
        return f"its schema cannot be used ({str(broken).splitlines()[0]})"
    return "" if error is None else f"{error.json_path}: {error.message}"

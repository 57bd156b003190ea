"""What a client lets the model do with its tools: `tool_choice` and its kin."""

from __future__ import annotations

from dataclasses import dataclass, replace

from fakeprovider.conversation import Conversation, Offered
from fakeprovider.errors import ApiError, invalid
from fakeprovider.fitting.tool_mapping import only_reads
from fakeprovider.replies import Reply, ToolCall, call


@dataclass(frozen=True, slots=True)
class Choice:
    """How tools may be used.

    `mode` is `auto`, `none` or `required` (at least one call). `names`, if any, are the only tools
    that may be called. `single` forbids several calls at once.
    """

    mode: str = "auto"
    names: tuple[str, ...] = ()
    single: bool = False


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
    choice: Choice = conversation.options.get("choice", _FREE)
    if reply.fault is not None:
        return reply
    if choice.single and len(reply.calls) > 1:
        return _first_call(reply)
    if choice.mode == "required" and not reply.calls and reply.finish in (None, "stop"):
        demanded = _demanded_call(conversation, choice)
        return replace(reply, blocks=(*reply.blocks, demanded), finish=None)
    return reply


_FREE = Choice()


def _first_call(reply: Reply) -> Reply:
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

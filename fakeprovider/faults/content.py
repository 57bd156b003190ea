"""Replies that are well sent and wrong in themselves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from fakeprovider.completion import Completion, complete
from fakeprovider.faults.events import decode
from fakeprovider.faults.kind import BLOCKS, CHOICES, Answer, Draft, Param, Scene
from fakeprovider.faults.registry import fault
from fakeprovider.faults.status import ServiceError
from fakeprovider.protocols.dialect import Frame
from fakeprovider.replies import Finish, Text, Thinking, ToolCall

_MARK = "\ue0dd"  # private use; its bytes become the lone surrogate's escape
_LONE = rb"\ud83d"
_FINISHES = ("stop", "tool_calls", "length", "content_filter", "pause", "context_window")


@fault(
    "empty_reply",
    hook="reply",
    group="content",
    line="Neither text nor calls.",
    source="nugget/thane-ai-agent#167, endolith/open-interpreter#322",
)
def _empty(draft: Draft) -> Completion:
    return draft.with_blocks()


@fault(
    "whitespace_reply",
    hook="reply",
    group="content",
    line="Text of nothing but white space.",
    source="softwaremill/sttp-ai#479",
)
def _whitespace(draft: Draft) -> Completion:
    return draft.with_blocks(Text("\n \n"))


@fault(
    "reasoning_only",
    hook="reply",
    group="content",
    line="Reasoning and nothing else.",
    source="docker/docker-agent#3327, mastra-ai/mastra#15717",
    params=(Param("finish", "stop", "why it ended", ("stop", "length")),),
)
def _reasoning_only(draft: Draft) -> Completion:
    finish: Finish = draft.values["finish"]
    return draft.with_blocks(
        Thinking("The files should be listed before one is read."), finish=finish
    )


@fault(
    "prose",
    hook="reply",
    group="content",
    line="Prose, even where the client sent a schema for its JSON.",
    source="peonist-ai/halogen-flash-server#14",
)
def _prose(draft: Draft) -> Completion:
    return draft.with_blocks(Text("Certainly! Here is what you asked for."))


@fault(
    "huge_text",
    hook="reply",
    group="content",
    line="Very much text.",
    source="oguzbilgic/kern-ai#20, earendil-works/pi#9561",
    params=(Param("chars", 1_000_000, "characters of it", most=50_000_000),),
    slow=True,
)
def _huge(draft: Draft) -> Completion:
    length = draft.values["chars"]
    text = "All work and no play. " * (length // 22 + 1)
    return draft.with_blocks(Text(text[:length]), *draft.reply.calls)


def _surrogate(draft: Draft) -> Completion:
    """The reply with the mark where half of a surrogate pair will stand."""
    if draft.values["place"] == "arguments" and draft.reply.calls:
        call = draft.reply.calls[0]
        marked = ToolCall(call.name, f'{{"path":"{_MARK}"}}', call.id)
        return draft.with_blocks(marked, *draft.reply.calls[1:])
    return draft.with_blocks(Text(f"{draft.reply.text} {_MARK}"), *draft.reply.calls)


def _lone_whole(body: bytes, scene: Scene) -> bytes:
    """The body with the half in place of the mark."""
    return body.replace(_MARK.encode(), _LONE)


@fault(
    "lone_surrogate",
    hook="stream",
    group="content",
    line="Half of a surrogate pair, as a JSON escape.",
    source="anthropics/claude-code#68325, Yeachan-Heo/gajae-code#1498",
    params=(Param("place", "text", "where", ("text", "arguments")),),
    reply=_surrogate,
    whole=_lone_whole,
)
def _lone_stream(frames: Iterable[Frame], scene: Scene) -> Iterator[Frame]:
    return (frame._replace(data=_lone_whole(frame.data, scene)) for frame in frames)


@fault(
    "past_max_tokens",
    hook="reply",
    group="content",
    line="More output than the client's cap, and billed.",
    source="earendil-works/pi#9561",
    params=(Param("by", 10, "tokens past the cap, at least"),),
    needs="a cap on output",
)
def _past_cap(draft: Draft) -> Completion:
    """The cap is ignored: what would have been cut goes out whole, and more is said."""
    cap = draft.conversation.max_output or 0
    uncapped = replace(draft.conversation, max_output=None)
    completion = complete(uncapped, draft.reply, draft.script)
    missing = cap + draft.values["by"] - completion.usage.completion
    if missing <= 0:
        return completion
    more = Text(draft.reply.text + " more" * missing)
    return replace(draft, conversation=uncapped).with_blocks(more, *draft.reply.calls)


@fault(
    "finish_disagrees",
    hook="reply",
    group="content",
    line="The finish reason does not fit: `stop` with calls, calls without any, cut but whole.",
    source="ENTERPILOT/GoModel#124, openvinotoolkit/model_server#3927",
    params=(Param("finish", "other", "the reason that is given", ("other", *_FINISHES)),),
)
def _disagrees(draft: Draft) -> Completion:
    finish = draft.values["finish"]
    if finish == "other" and not draft.dialect.says_finish:
        finish = "length"  # of reasons this dialect tells no others
    elif finish == "other":
        finish = "stop" if draft.reply.calls else "tool_calls"
    done = draft.completed()
    return replace(done, finish=finish)


@fault(
    "calls_absent",
    hook="reply",
    group="content",
    line="The finish reason announces calls, and there are none.",
    source="NousResearch/hermes-agent#75926",
    shapes=CHOICES | BLOCKS,
)
def _calls_absent(draft: Draft) -> Completion:
    text = draft.reply.text or "I'll read the file."
    return draft.with_blocks(Text(text), finish="tool_calls")


@fault(
    "other_model",
    hook="reply",
    group="content",
    line="Another model answers than the one asked for.",
    source="code-yeongyu/oh-my-openagent#2571",
    params=(Param("model", "fallback-model", "its name"),),
)
def _other_model(draft: Draft) -> Completion:
    done = draft.completed()
    return replace(done, model=draft.values["model"])


def _with_reasoning(draft: Draft) -> Completion:
    blocks = draft.reply.blocks
    if draft.reply.calls and not any(isinstance(block, Thinking) for block in blocks):
        blocks = (Thinking("This needs a tool."), *blocks)
    return draft.with_blocks(*blocks, finish=draft.reply.finish)


@fault(
    "reasoning_required",
    hook="error",
    group="content",
    line="400 if an assistant message with calls comes back without its reasoning_content.",
    source="earendil-works/pi#3636, SillyTavern/SillyTavern#5545",
    shapes=CHOICES,
    reply=_with_reasoning,
)
def _reasoning_missing(scene: Scene) -> Answer | None:
    messages: list[dict[str, Any]] = decode(scene.body)["messages"]
    for index, message in enumerate(messages):
        if message.get("tool_calls") and not message.get("reasoning_content"):
            words = (
                f"Invalid 'messages[{index}]': the `reasoning_content` of an assistant message "
                "with tool calls must be passed back to the API."
            )
            return ServiceError(400, words, param=f"messages[{index}]").answer(scene)
    return None


@fault(
    "as_written",
    hook="reply",
    group="content",
    line="The script's reply as it is, even if no service can send it.",
    source="CopilotKit/aimock#164",
)
def _as_written(draft: Draft) -> Completion:
    return draft.completed()

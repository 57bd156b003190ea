"""Replies that are well sent and wrong in themselves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from fakeprovider.completion import Completion, complete
from fakeprovider.faults.events import decode
from fakeprovider.faults.kind import CHAT, Answer, Asked, Kind, Param, Scene
from fakeprovider.faults.status import Said
from fakeprovider.protocols.dialect import Frame
from fakeprovider.replies import Block, Fault, Finish, Text, Thinking, ToolCall

_MARK = "\ue0dd"  # private use; its bytes become the lone surrogate's escape
_LONE = rb"\ud83d"
_EXCUSE = Fault("content")  # a reply that names a fault may be one that no service can send
_FINISHES = ("stop", "tool_calls", "length", "content_filter", "pause", "context_window")


def answered(asked: Asked, *blocks: Block, finish: Finish | None = None) -> Completion:
    """Other blocks in place of the script's; the finish follows from them unless it is given."""
    reply = replace(asked.reply, blocks=blocks, finish=finish, fault=_EXCUSE)
    return complete(asked.conversation, reply, asked.script)


def _empty(asked: Asked) -> Completion:
    return answered(asked)


def _whitespace(asked: Asked) -> Completion:
    return answered(asked, Text("\n \n"))


def _reasoning_only(asked: Asked) -> Completion:
    finish: Finish = asked.values["finish"]
    return answered(
        asked, Thinking("The files should be listed before one is read."), finish=finish
    )


def _prose(asked: Asked) -> Completion:
    return answered(asked, Text("Certainly! Here is what you asked for."))


def _huge(asked: Asked) -> Completion:
    length = asked.values["chars"]
    text = "All work and no play. " * (length // 22 + 1)
    return answered(asked, Text(text[:length]), *asked.reply.calls)


def _surrogate(asked: Asked) -> Completion:
    if asked.values["place"] == "arguments" and asked.reply.calls:
        call = asked.reply.calls[0]
        marked = ToolCall(call.name, f'{{"path":"{_MARK}"}}', call.id)
        return answered(asked, marked, *asked.reply.calls[1:])
    return answered(asked, Text(f"{asked.reply.text} {_MARK}"), *asked.reply.calls)


def _lone_whole(body: bytes, scene: Scene) -> bytes:
    return body.replace(_MARK.encode(), _LONE)


def _lone_stream(frames: Iterable[Frame], scene: Scene) -> Iterator[Frame]:
    return (frame._replace(data=_lone_whole(frame.data, scene)) for frame in frames)


def _past_cap(asked: Asked) -> Completion:
    """The cap is ignored: what would have been cut goes out whole, and more is said."""
    cap = asked.conversation.max_output or 0
    uncapped = replace(asked.conversation, max_output=None)
    said = complete(uncapped, asked.reply, asked.script)
    missing = cap + asked.values["by"] - said.usage.completion
    if missing <= 0:
        return said
    more = Text(asked.reply.text + " more" * missing)
    return answered(replace(asked, conversation=uncapped), more, *asked.reply.calls)


def _disagrees(asked: Asked) -> Completion:
    finish = asked.values["finish"]
    if finish == "other" and not asked.dialect.says_finish:
        finish = "length"  # of reasons this dialect tells no others
    elif finish == "other":
        finish = "stop" if asked.reply.calls else "tool_calls"
    done = complete(asked.conversation, asked.reply, asked.script)
    return replace(done, finish=finish)


def _calls_absent(asked: Asked) -> Completion:
    text = asked.reply.text or "I'll read the file."
    return answered(asked, Text(text), finish="tool_calls")


def _other_model(asked: Asked) -> Completion:
    done = complete(asked.conversation, asked.reply, asked.script)
    return replace(done, model=asked.values["model"])


def _as_written(asked: Asked) -> Completion:
    return complete(asked.conversation, asked.reply, asked.script)


def _with_reasoning(asked: Asked) -> Completion:
    blocks = asked.reply.blocks
    if asked.reply.calls and not any(isinstance(block, Thinking) for block in blocks):
        blocks = (Thinking("This needs a tool."), *blocks)
    return answered(asked, *blocks, finish=asked.reply.finish)


def _reasoning_missing(scene: Scene) -> Answer | None:
    messages: list[dict[str, Any]] = decode(scene.body)["messages"]
    for index, message in enumerate(messages):
        if message.get("tool_calls") and not message.get("reasoning_content"):
            words = (
                f"Invalid 'messages[{index}]': the `reasoning_content` of an assistant message "
                "with tool calls must be passed back to the API."
            )
            return Said(400, words, param=f"messages[{index}]").answer(scene)
    return None


KINDS = (
    Kind(
        name="empty_reply",
        group="content",
        line="Neither text nor calls.",
        source="nugget/thane-ai-agent#167, endolith/open-interpreter#322",
        reply=_empty,
    ),
    Kind(
        name="whitespace_reply",
        group="content",
        line="Text of nothing but white space.",
        source="softwaremill/sttp-ai#479",
        reply=_whitespace,
    ),
    Kind(
        name="reasoning_only",
        group="content",
        line="Reasoning and nothing else.",
        source="docker/docker-agent#3327, mastra-ai/mastra#15717",
        params=(Param("finish", "stop", "why it ended", ("stop", "length")),),
        reply=_reasoning_only,
    ),
    Kind(
        name="prose",
        group="content",
        line="Prose, even where the client sent a schema for its JSON.",
        source="peonist-ai/halogen-flash-server#14",
        reply=_prose,
    ),
    Kind(
        name="huge_text",
        group="content",
        line="Very much text.",
        source="oguzbilgic/kern-ai#20, earendil-works/pi#9561",
        params=(Param("chars", 1_000_000, "characters of it", most=50_000_000),),
        reply=_huge,
    ),
    Kind(
        name="lone_surrogate",
        group="content",
        line="Half of a surrogate pair, as a JSON escape.",
        source="anthropics/claude-code#68325, Yeachan-Heo/gajae-code#1498",
        params=(Param("place", "text", "where", ("text", "arguments")),),
        reply=_surrogate,
        whole=_lone_whole,
        stream=_lone_stream,
    ),
    Kind(
        name="past_max_tokens",
        group="content",
        line="More output than the client's cap, and billed.",
        source="earendil-works/pi#9561",
        params=(Param("by", 10, "tokens past the cap, at least"),),
        needs="a cap on output",
        reply=_past_cap,
    ),
    Kind(
        name="finish_disagrees",
        group="content",
        line="The finish reason does not fit: `stop` with calls, calls without any, cut but whole.",
        source="ENTERPILOT/GoModel#124, openvinotoolkit/model_server#3927",
        params=(Param("finish", "other", "the reason that is given", ("other", *_FINISHES)),),
        reply=_disagrees,
    ),
    Kind(
        name="calls_absent",
        group="content",
        line="The finish reason announces calls, and there are none.",
        source="NousResearch/hermes-agent#75926",
        dialects=frozenset({"chat", "messages"}),
        reply=_calls_absent,
    ),
    Kind(
        name="other_model",
        group="content",
        line="Another model answers than the one asked for.",
        source="code-yeongyu/oh-my-openagent#2571",
        params=(Param("model", "fallback-model", "its name"),),
        reply=_other_model,
    ),
    Kind(
        name="reasoning_required",
        group="content",
        line="400 if an assistant message with calls comes back without its reasoning_content.",
        source="earendil-works/pi#3636, SillyTavern/SillyTavern#5545",
        dialects=CHAT,
        reply=_with_reasoning,
        error=_reasoning_missing,
    ),
    Kind(
        name="as_written",
        group="content",
        line="The script's reply as it is, even if no service can send it.",
        source="CopilotKit/aimock#164",
        reply=_as_written,
    ),
)

"""Responses: from one input item on the wire to its neutral form, and the ids that carry one.

Output items of one response (messages of the assistant, function calls, reasoning) follow each
other and are one turn: their entries join. Item types that are not known here are accepted and
ignored, as are unknown keys.

Clients send items back by their ids alone (`item_reference`), and whole conversations by the id of
the last response. A server that keeps nothing between requests could not follow such a reference:
so the ids that it makes carry what they stand for. The id of an item holds the item, up to
`LONGEST` bytes. The id of a response holds the script, the turn that comes next, the calls that
wait for a result and the tokens of everything so far, so that usage and turns go on as if the
client had sent the whole history; the words themselves are not in it.
"""

from __future__ import annotations

import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any, TypeAlias

import msgspec

from fakeprovider.completion import Completion
from fakeprovider.conversation import Call, Conversation, Message, Role
from fakeprovider.errors import ApiError, invalid
from fakeprovider.parsing.counting import inner_count, to_json
from fakeprovider.parsing.fold import Entry, State
from fakeprovider.parsing.request_reader import decode
from fakeprovider.protocols.openai import argument_flaws, id_flaws, missing, name_flaws

LONGEST_ID = 64  # characters

_ROLES = ("user", "assistant", "system", "developer")
_TEXTS = ("input_text", "output_text", "text", "summary_text")
_IMAGES = ("input_image", "input_file", "input_audio")
_CALLS = ("function_call", "custom_tool_call")
_RESULTS = ("function_call_output", "custom_tool_call_output")
_ANY: msgspec.json.Decoder[Any] = msgspec.json.Decoder()

Flaw: TypeAlias = tuple[str, str]


class Content(msgspec.Struct):
    """One part of a content list."""

    type: str
    text: str | None = None


class WireItem(msgspec.Struct):
    """One input item, of any type: which fields it has depends on `type`."""

    type: str | None = None
    role: str | None = None
    content: msgspec.Raw = msgspec.Raw(b"null")
    id: str | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: msgspec.Raw = msgspec.Raw(b"null")
    input: str | None = None
    output: msgspec.Raw = msgspec.Raw(b"null")


_ITEM = msgspec.json.Decoder(WireItem)
_CONTENT: msgspec.json.Decoder[str | list[Content] | None] = msgspec.json.Decoder(
    str | list[Content] | None
)


def parse_item(index: int, raw: bytes) -> tuple[Entry, ...]:
    """The neutral form of the item at `index`; raises `ApiError` naming it."""
    where = f"input[{index}]"
    item = decode(raw, _ITEM, where)
    if item.type in _CALLS:
        return (_call(item, where),)
    if item.type in _RESULTS:
        return (_result(item, where),)
    if item.type == "item_reference" or (item.type is None and item.role is None):
        return _referenced(item, where)
    if item.type in (None, "message"):
        return (_message(item, where),)
    return (_OUTPUT,) if _is_output(item.type) else ()


_OUTPUT = Entry(Message("assistant"), None, joins=True)
"""Output that says nothing by itself, such as reasoning: still a part of its turn."""


def _is_output(kind: str | None) -> bool:
    """Whether an item of an unknown type is output of the assistant."""
    return kind == "reasoning" or str(kind).endswith("_call")


def parse_text(raw: bytes) -> tuple[Entry, ...]:
    """The neutral form of `instructions`, a string."""
    return (Entry(Message("system", _ANY.decode(raw)), None),)


def _message(item: WireItem, where: str) -> Entry:
    if item.role not in _ROLES:
        raise invalid(
            f"Invalid value: '{item.role}'. '{where}.role' is one of {', '.join(_ROLES)}.",
            f"{where}.role",
            "invalid_value",
        )
    text, images = _words(item.content, f"{where}.content", item.role == "assistant")
    if item.role == "assistant":
        return Entry(Message("assistant", text), None, joins=True)
    role: Role = "user" if item.role == "user" else "system"
    return Entry(Message(role, text, images=images), None)


def _words(raw: msgspec.Raw, where: str, of_assistant: bool = False) -> tuple[str, int]:
    """Text and number of images. The assistant's parts are joined as chat completions has them."""
    content = decode(bytes(raw), _CONTENT, where)
    if content is None or isinstance(content, str):
        return content or "", 0
    texts = [part.text for part in content if part.type in _TEXTS and part.text is not None]
    images = sum(part.type in _IMAGES for part in content)
    return ("" if of_assistant else "\n").join(texts), images


def _call(item: WireItem, where: str) -> Entry:
    if item.call_id is None or item.name is None:
        raise missing(f"{where}.{'name' if item.call_id else 'call_id'}")
    if item.type == "custom_tool_call":
        arguments, flaws = item.input or "", []
    else:
        arguments = _arguments(item.arguments, where)
        flaws = argument_flaws(item.call_id, arguments)
    flaws += [*id_flaws(item.call_id, LONGEST_ID), *name_flaws(item.name)]
    call = Call(item.call_id, item.name, arguments)
    return Entry(Message("assistant", "", (call,)), None, tuple(flaws), joins=True)


def _arguments(raw: msgspec.Raw, where: str) -> str:
    value = _ANY.decode(bytes(raw))
    if value is None:
        raise missing(f"{where}.arguments")
    return value if isinstance(value, str) else to_json(value)


def _result(item: WireItem, where: str) -> Entry:
    if item.call_id is None:
        raise missing(f"{where}.call_id")
    if bytes(item.output) == b"null":
        raise missing(f"{where}.output")
    text, images = _words(item.output, f"{where}.output")
    message = Message("tool", text, call_id=item.call_id, images=images)
    return Entry(message, None, tuple(id_flaws(item.call_id, LONGEST_ID)))


def _referenced(item: WireItem, where: str) -> tuple[Entry, ...]:
    """An item named by its id alone: nothing is stored here, but the id may carry it."""
    if item.id is None:
        raise missing(f"{where}.type")
    message = read_item_id(item.id)
    if message is None:
        raise ApiError(
            404,
            f"Item with id '{item.id}' not found. This server keeps nothing between requests: "
            "send the item itself, or set `store` to false so that the client does.",
            kind="not_found",
            param=where,
        )
    return (Entry(message, None, joins=True),)


LONGEST = 2048

_Fields = tuple[str, ...]
_ITEM_DECODER: msgspec.json.Decoder[_Fields] = msgspec.json.Decoder(_Fields)
_encode = msgspec.json.Encoder().encode


def message_id(turn: int, index: int, text: str) -> str:
    """The id of a message item, the `index`-th item of a turn."""
    return _item_id("msg", turn, index, (text,))


def call_item_id(turn: int, index: int, call: Call) -> str:
    """The id of a function call item; the call's own id is another."""
    return _item_id("fc", turn, index, (call.id, call.name, call.arguments))


def reasoning_id(turn: int, index: int) -> str:
    """The id of a reasoning item, which carries nothing: its words are not counted."""
    return f"rs_fake{turn}i{index}"


def read_item_id(item_id: str) -> Message | None:
    """What an id made here stands for, as more of an assistant turn; None for any other id."""
    if item_id.startswith("rs_fake"):
        return Message("assistant")
    kind, _, carried = item_id.partition("_")
    try:
        fields = _ITEM_DECODER.decode(unpack(carried.partition("_")[2]))
    except (ValueError, msgspec.MsgspecError):
        return None
    if kind == "msg" and len(fields) == 1:
        return Message("assistant", fields[0])
    if kind == "fc" and len(fields) == 3:
        return Message("assistant", "", (Call(*fields),))
    return None


def pack(data: bytes) -> str:
    """Bytes as characters that ids may have."""
    return urlsafe_b64encode(data).decode().rstrip("=")


def unpack(text: str) -> bytes:
    """What `pack` made `text` of; raises `ValueError` for what it did not make."""
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _item_id(kind: str, turn: int, index: int, fields: _Fields) -> str:
    """An id that carries the item, if it is not too long."""
    plain = f"{kind}_fake{turn}i{index}"
    data = _encode(fields)
    return plain if len(data) > LONGEST else f"{plain}_{pack(data)}"


_PREFIX = "resp_"


class Carried(msgspec.Struct, array_like=True, frozen=True):
    """What an id holds.

    `tokens` are those of all messages so far, others following, `sent` those without the last
    reply. `since_user` counts turns since the user last spoke. `pending` has id and tool of each
    call of the last turn.
    """

    script: str
    turn: int
    tokens: int
    since_user: int
    sent: int
    pending: tuple[tuple[str, str], ...] = ()

    def state(self) -> State:
        """Where the fold goes on."""
        return State(
            tokens=self.tokens,
            sent=self.sent,
            turns=self.turn,
            own=self.turn,
            names=dict(self.pending),
            pending=tuple(call_id for call_id, _ in self.pending),
        )


_CARRIED = msgspec.json.Decoder(Carried)


def response_id(conversation: Conversation, completion: Completion) -> str:
    """The id of a reply; one that is not stored (`store: false`) carries nothing."""
    if not conversation.options["store"]:
        return f"{_PREFIX}fake{completion.position}"
    reply = Message("assistant", completion.text, completion.calls)
    carried = Carried(
        script=completion.script,
        turn=completion.position + 1,
        tokens=conversation.options["tokens"] + inner_count(reply),
        since_user=conversation.since_last_user + 1,
        sent=conversation.options["tokens"],
        pending=tuple((call.id, call.name) for call in completion.calls),
    )
    data = _encode(carried)
    return _PREFIX + pack(zlib.crc32(data).to_bytes(4, "big") + data)


def read_response_id(previous: str) -> Carried:
    """What an id made here holds; raises `ApiError` for any other."""
    try:
        data = unpack(previous.removeprefix(_PREFIX))
        if zlib.crc32(data[4:]) == int.from_bytes(data[:4], "big"):
            return _CARRIED.decode(data[4:])
    except (ValueError, msgspec.MsgspecError):
        raise _not_found(previous) from None
    raise _not_found(previous)


def _not_found(previous: str) -> ApiError:
    return invalid(
        f"Previous response with id '{previous}' not found. Only ids of stored responses "
        "(`store` is not false) that this server made can be continued.",
        "previous_response_id",
        "previous_response_not_found",
    )

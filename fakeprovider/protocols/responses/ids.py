"""Ids of output items that carry the item: clients send them back alone as `item_reference`.

A server that keeps nothing between requests could not follow such a reference otherwise. What is
longer than `LONGEST` bytes does not ride along.

An id holds the script, the turn that comes next, the calls that wait for a result and the tokens
of everything so far, so that usage and turns go on as if the client had sent the whole history.
The words themselves are not in it.
"""

from __future__ import annotations

import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode

import msgspec

from fakeprovider.completion import Completion
from fakeprovider.conversation import Call, Conversation, Message
from fakeprovider.errors import ApiError, invalid
from fakeprovider.parsing.counting import inner_count
from fakeprovider.parsing.fold import State

LONGEST = 2048

_Carried = tuple[str, ...]
_ITEM_DECODER: msgspec.json.Decoder[_Carried] = msgspec.json.Decoder(_Carried)
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
        found = _ITEM_DECODER.decode(unpack(carried.partition("_")[2]))
    except (ValueError, msgspec.MsgspecError):
        return None
    if kind == "msg" and len(found) == 1:
        return Message("assistant", found[0])
    if kind == "fc" and len(found) == 3:
        return Message("assistant", "", (Call(*found),))
    return None


def pack(data: bytes) -> str:
    """Bytes as characters that ids may have."""
    return urlsafe_b64encode(data).decode().rstrip("=")


def unpack(text: str) -> bytes:
    """What `pack` made `text` of; raises `ValueError` for what it did not make."""
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _item_id(kind: str, turn: int, index: int, carried: _Carried) -> str:
    plain = f"{kind}_fake{turn}i{index}"
    data = _encode(carried)
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


_DECODER = msgspec.json.Decoder(Carried)


def response_id(conversation: Conversation, completion: Completion) -> str:
    """The id of a reply; one that is not stored (`store: false`) carries nothing."""
    if not conversation.options["store"]:
        return f"{_PREFIX}fake{completion.position}"
    said = Message("assistant", completion.text, completion.calls)
    carried = Carried(
        script=completion.script,
        turn=completion.position + 1,
        tokens=conversation.options["tokens"] + inner_count(said),
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
            return _DECODER.decode(data[4:])
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

"""Ids of output items that carry the item: clients send them back alone as `item_reference`.

A server that keeps nothing between requests could not follow such a reference otherwise. What is
longer than `LONGEST` bytes does not ride along.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode

import msgspec

from fakeprovider.conversation import Call, Message

LONGEST = 2048

_Carried = tuple[str, ...]
_DECODER: msgspec.json.Decoder[_Carried] = msgspec.json.Decoder(_Carried)
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
        found = _DECODER.decode(unpack(carried.partition("_")[2]))
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

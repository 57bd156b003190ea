"""Response ids that carry what `previous_response_id` needs: nothing is kept between requests.

An id holds the script, the turn that comes next, the calls that wait for a result and the tokens
of everything so far, so that usage and turns go on as if the client had sent the whole history.
The words themselves are not in it.
"""

from __future__ import annotations

import zlib

import msgspec

from fakeprovider.completion import Completion
from fakeprovider.conversation import Conversation, Message
from fakeprovider.counting import inner_count
from fakeprovider.errors import ApiError, invalid
from fakeprovider.fold import State
from fakeprovider.protocols.item_ids import pack, unpack

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
_encode = msgspec.json.Encoder().encode


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

"""Reading a request whose body has an array of messages: decode, resume, fold.

Dialects differ in the request around the array and in the messages; this is what they share.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

import msgspec

from fakeprovider.errors import ApiError
from fakeprovider.parsing.caches import RequestCaches
from fakeprovider.parsing.fold import Entry, Folding, State
from fakeprovider.parsing.json_body import check_utf8, decode
from fakeprovider.parsing.prefix import Checkpoint, key_of

if TYPE_CHECKING:
    from hashlib import _Hash

R = TypeVar("R")

ParseAt: TypeAlias = Callable[[int, bytes], tuple[Entry, ...]]
"""From index and raw bytes of a wire message to its neutral ones, not yet counted."""

_SPACE = b" \t\r\n"
_ARRAY: msgspec.json.Decoder[list[msgspec.Raw]] = msgspec.json.Decoder(list[msgspec.Raw])


@dataclass(frozen=True, slots=True)
class Form(Generic[R]):
    """How a dialect's request is read.

    `field` is the name of the array of messages, `array` takes it from the decoded request.
    """

    dialect: str
    decoder: msgspec.json.Decoder[R]
    field: str
    array: Callable[[R], msgspec.Raw]
    parse: ParseAt


@dataclass(frozen=True, slots=True)
class Transcript(Generic[R]):
    """A request read: what stands around the messages, their fold, the sha256 of the body."""

    request: R
    state: State
    digest: str


def read(form: Form[R], body: bytes, caches: RequestCaches) -> Transcript[R]:
    """Read a body, from where an earlier request of the same conversation ended if there was one.

    Raises `ApiError` for a body that is not what the dialect takes.
    """
    checkpoint = caches.prefixes.find(form.dialect, body)
    if checkpoint is not None:
        resumed = _resume(form, body, caches, checkpoint)
        if resumed is not None:
            return resumed
    return _read_whole(form, body, caches)


def read_after(
    form: Form[R], body: bytes, caches: RequestCaches, begin: Callable[[R], State]
) -> Transcript[R]:
    """Read a whole body whose messages go on from a state that the request itself names.

    Such a state stands outside the messages, so nothing is resumed and nothing remembered.
    """
    check_utf8(body)
    request = decode(body, form.decoder)
    state = _fold(form, bytes(form.array(request)), caches, begin(request))
    return Transcript(request, state, hashlib.sha256(body).hexdigest())


def _read_whole(form: Form[R], body: bytes, caches: RequestCaches) -> Transcript[R]:
    check_utf8(body)
    request = decode(body, form.decoder)
    array = bytes(form.array(request))
    state = _fold(form, array, caches, State())
    start = body.find(array)
    if start < 0 or start != body.rfind(array):  # not as it was sent, or twice: which is not known
        return Transcript(request, state, hashlib.sha256(body).hexdigest())
    return _keep(form, body, caches, request, start, start + _last_end(array), state)


def _resume(
    form: Form[R], body: bytes, caches: RequestCaches, checkpoint: Checkpoint
) -> Transcript[R] | None:
    """Read what follows the checkpoint; None where only a reading of the whole is sure."""
    rest = _rest(body, len(checkpoint.prefix))
    if rest is None:
        return None
    start = checkpoint.array
    document = body[: start + 1] + rest
    try:
        check_utf8(rest)
        request = decode(document, form.decoder)
    except ApiError:  # the whole body's own error has the right positions
        return None
    array = bytes(form.array(request))
    if not document.startswith(array, start) or _again(form.field, document[start + len(array) :]):
        return None
    state = _fold(form, array, caches, checkpoint.state)
    if state is checkpoint.state:
        return Transcript(
            request, state, _digest(checkpoint.digest, body[len(checkpoint.prefix) :])
        )
    end = len(body) - len(document) + start + _last_end(array)
    return _keep(form, body, caches, request, start, end, state, checkpoint)


def _rest(body: bytes, begin: int) -> bytes | None:
    """The remaining messages and all after them, without the comma; None if it is not that."""
    rest = body[begin:].lstrip(_SPACE)
    if rest.startswith(b"]"):
        return rest
    if not rest.startswith(b","):
        return None
    rest = rest[1:].lstrip(_SPACE)
    return rest if rest.startswith(b"{") else None


def _again(field: str, rest: bytes) -> bool:
    """Whether the array's key may stand once more in `rest`: the last one counts in JSON."""
    return b'"%b"' % field.encode() in rest or b"\\u" in rest


def _last_end(array: bytes) -> int:
    """Where an array's last element ends in it."""
    return len(array[:-1].rstrip(_SPACE))


def _fold(form: Form[R], array: bytes, caches: RequestCaches, state: State) -> State:
    raws = decode(array, _ARRAY, form.field)
    if not raws:
        return state
    folding = Folding(state)
    for index, raw in enumerate(raws, state.wire):
        parse = partial(form.parse, index)
        folding.add(caches.read(form.dialect, bytes(raw), folding.names, parse))
    return folding.done()


def _keep(
    form: Form[R],
    body: bytes,
    caches: RequestCaches,
    request: R,
    start: int,
    end: int,
    state: State,
    before: Checkpoint | None = None,
) -> Transcript[R]:
    """Remember how far the body was read."""
    done = len(before.prefix) if before else 0
    digest = before.digest.copy() if before else hashlib.sha256()
    digest.update(memoryview(body)[done:end])
    prefix = body[:end]
    key = key_of(form.dialect, prefix, before)
    caches.prefixes.keep(Checkpoint(prefix, start, state, digest, key), before)
    return Transcript(request, state, _digest(digest, body[end:]))


def _digest(so_far: _Hash, rest: bytes) -> str:
    digest = so_far.copy()
    digest.update(rest)
    return digest.hexdigest()

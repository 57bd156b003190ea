"""Reading a request whose body has an array of messages: decode, resume, fold.

Dialects differ in the request around the array and in the messages; this is what they share. At the
end: from bytes to typed JSON, with an error that helps when they are not what they should be.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

import msgspec

from fakeprovider.errors import ApiError, invalid
from fakeprovider.parsing.caches import Checkpoint, RequestCaches, key_of
from fakeprovider.parsing.fold import Entry, Folding, State

if TYPE_CHECKING:
    from hashlib import _Hash

R = TypeVar("R")
T = TypeVar("T")

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

    def fields(self, tool_tokens: int, system: tuple[Entry, ...] = ()) -> dict[str, Any]:
        """What a `Conversation` takes from it; tools and `system` stand before the messages."""
        state = self.state
        before = tool_tokens + sum(entry.inner_tokens() for entry in system)
        messages = state.messages
        return {
            "messages": (*(entry.message for entry in system), *messages) if system else messages,
            "turn": state.position,
            "position": state.position,
            "prompt_tokens": state.prompt_tokens + before,
            "sent_before": state.sent + before if state.sent else 0,
            "history": state.history,
            "digest": self.digest,
        }


def read(form: Form[R], body: bytes, caches: RequestCaches) -> Transcript[R]:
    """Read a body, from where an earlier request of the same conversation ended if there was one.

    Raises `ApiError` for a body that is not what the dialect takes.
    """
    checkpoint = caches.prefixes.find(form.dialect, body)
    if checkpoint is not None:
        resumed = _resume(form, body, caches, checkpoint)
        if resumed is not None:
            return resumed
    check_utf8(body)
    request = decode(body, form.decoder)
    array = bytes(form.array(request))
    state = _fold(form, array, caches, State())
    start = body.find(array)
    if start < 0 or start != body.rfind(array):  # not as it was sent, or twice: which is not known
        return Transcript(request, state, hashlib.sha256(body).hexdigest())
    return _keep(form, body, caches, request, start, start + _last_end(array), state)


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


_MISSING = re.compile(r"missing required field `(.+?)`")
_PLACE = re.compile(r" - at `(?:key in )?\$?(.*?)`$")

_NO_JSON = {
    b"\xef\xbb\xbf": "a byte order mark (EF BB BF). Send JSON in UTF-8 without one.",
    b"\xff\xfe": "a byte order mark of UTF-16 (FF FE). Send JSON in UTF-8, without a mark.",
    b"\xfe\xff": "a byte order mark of UTF-16 (FE FF). Send JSON in UTF-8, without a mark.",
    b"\x1f\x8b": "the bytes of gzip (1F 8B). Send the JSON itself, not compressed.",
    b"\x28\xb5\x2f\xfd": "the bytes of zstd (28 B5 2F FD). Send the JSON itself, not compressed.",
}
"""How bodies begin that are no JSON but something else that clients send."""

_JSON_WORDS = {"`": "", "str": "string", "int": "integer", "bool": "boolean", "float": "number"}
_TYPE = re.compile(r"`|\b(?:str|int|bool|float)\b")


def decode(body: bytes, decoder: msgspec.json.Decoder[T], where: str = "") -> T:
    """Decode JSON into the decoder's type; `where` is the path of `body` in the request.

    Raises `ApiError` (400) for bytes that are not UTF-8, not JSON, nested too deeply, holding a
    lone surrogate, or of another shape than the type.
    """
    try:
        return decoder.decode(body)
    except msgspec.ValidationError as error:
        raise _wrong_shape(str(error), where) from None
    except msgspec.DecodeError as error:
        raise invalid(_diagnose(body, str(error))) from None
    except RecursionError:
        raise too_deep() from None


def check_utf8(body: bytes) -> None:
    """Raises `ApiError` (400) if the bytes are not UTF-8: msgspec passes over what it skips."""
    if body.isascii():
        return
    for mark, what in _NO_JSON.items():
        if body.startswith(mark):
            raise invalid(f"The body begins with {what}")
    try:
        body.decode()
    except UnicodeDecodeError as error:
        raise invalid(
            f"The body is not UTF-8: byte {body[error.start]:#04x} at position {error.start}. "
            "Send JSON encoded as UTF-8."
        ) from None


def too_deep() -> ApiError:
    """The error for a body nested so deeply that reading it would exhaust the stack."""
    return invalid("The body is nested too deeply to be read.")


def _diagnose(body: bytes, reason: str) -> str:
    """Why a body is no JSON: the standard library says it better, and lone surrogates plainly."""
    if not body.strip():
        return "The body is empty. Send a JSON object."
    try:
        value = json.loads(body.decode())
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return (
            "The body has a lone surrogate (an escape from \\ud800 to \\udfff without its other "
            "half), which is no character and cannot be encoded as UTF-8."
        )
    except json.JSONDecodeError as error:
        return f"The body is not JSON: {error}."
    except RecursionError:
        return too_deep().message
    return f"The body is not JSON: {reason}."


def _wrong_shape(message: str, where: str) -> ApiError:
    missing = _MISSING.search(message)
    place = _PLACE.search(message)
    path = _join(where, place[1] if place else "")
    if missing:
        param = _join(path, f".{missing[1]}")
        return invalid(
            f"Missing required parameter: '{param}'.", param, "missing_required_parameter"
        )
    reason = _TYPE.sub(lambda name: _JSON_WORDS[name[0]], _PLACE.sub("", message).lower())
    named = f"'{path}'" if path else "the body"
    return invalid(f"Invalid type for {named}: {reason}.", path or None, "invalid_type")


def _join(where: str, path: str) -> str:
    return (where + path).lstrip(".")

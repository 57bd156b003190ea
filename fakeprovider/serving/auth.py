"""Who may ask: the key that a client must show, in whichever header its dialect has for it."""

from __future__ import annotations

from collections.abc import Iterable
from hmac import compare_digest

from fakeprovider.errors import ApiError

_PLACES = (b"authorization", b"x-api-key", b"api-key")
"""Bearer tokens, Anthropic's own header and Azure's."""


def check_key(headers: Iterable[tuple[bytes, bytes]], expected: str) -> None:
    """Raises `ApiError` (401) unless one of the headers shows the expected key.

    Official clients differ in the header they use, so any of them will do in any dialect.
    """
    shown = [_key(value) for name, value in headers if name in _PLACES]
    if any(compare_digest(key, expected.encode()) for key in shown):
        return
    if not any(shown):
        raise _refused(
            "No API key was given. Send it as 'authorization: Bearer KEY' or 'x-api-key: KEY'."
        )
    raise _refused("Incorrect API key: it is not the one that this server was started with.")


def _key(value: bytes) -> bytes:
    scheme, _, token = value.partition(b" ")
    return token.strip() if scheme.lower() == b"bearer" else value.strip()


def _refused(message: str) -> ApiError:
    return ApiError(401, message, kind="authentication", code="invalid_api_key", retry=False)

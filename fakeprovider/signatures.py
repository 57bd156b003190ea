"""Signatures of thinking blocks: made from the words, so that no server has to remember them."""

from __future__ import annotations

from base64 import b64decode, b64encode
from binascii import Error
from hashlib import sha256

_MARK = b"fakeprovider\x00"


def sign(thinking: str) -> str:
    """The signature of a thinking block's words."""
    digest = sha256(_MARK + thinking.encode("utf-8", "replace")).digest()
    return b64encode(_MARK + digest).decode()


def is_ours(signature: str) -> bool:
    """Whether a signature was made by `sign`, of whatever words."""
    try:
        return b64decode(signature, validate=True).startswith(_MARK)
    except (Error, ValueError):
        return False

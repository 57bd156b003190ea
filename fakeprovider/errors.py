"""Errors in no provider's dialect, and how a message counts things."""

from __future__ import annotations

from collections.abc import Mapping


def counted(number: int, noun: str) -> str:
    """`1 request`, `2 requests`; for nouns that take an s."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


class ApiError(Exception):
    """An error reply in no provider's dialect.

    `kind` is neutral and each dialect has its own word for it: `invalid_request`, `not_found`,
    `authentication`, `permission`, `rate_limit`, `too_large`, `overloaded`, `server`. `param` is
    the path of the offending field in the request, `code` the service's own code. `retry` says
    whether a client should try again (sent as `x-should-retry`, which the official SDKs obey);
    None says nothing.
    `details` are the Messages dialect's, `request_id` is filled in where the error is sent.
    """

    details: Mapping[str, object] | None = None
    request_id: str | None = None

    def __init__(
        self,
        status: int,
        message: str,
        *,
        kind: str = "invalid_request",
        param: str | None = None,
        code: str | None = None,
        retry: bool | None = None,
        headers: tuple[tuple[str, str], ...] = (),
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.kind = kind
        self.param = param
        self.code = code
        self.retry = retry
        self.headers = headers


def invalid(message: str, param: str | None = None, code: str | None = None) -> ApiError:
    """A 400: the request is not what the service takes."""
    return ApiError(400, message, param=param, code=code)

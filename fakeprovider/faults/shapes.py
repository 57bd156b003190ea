"""Bodies of errors: the service's own shape, and what gateways and look-alikes send instead.

Seen in openai/openai-node#1734, earendil-works/pi#7748, openai-php/client#682,
PsycherosAI/Psycheros#44, charmbracelet/fantasy#365 and anomalyco/opencode#36411.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from html import escape
from typing import Any, TypeAlias

from fakeprovider.faults.events import encode
from fakeprovider.faults.kind import Param

Shaped: TypeAlias = Callable[[int, str], Any]

_JSON_SHAPES: Mapping[str, Shaped] = {
    "number_code": lambda status, message: {
        "error": {"message": message, "type": "invalid_request_error", "param": None, "code": 123}
    },
    "string": lambda status, message: {"error": message, "status": status},
    "detail": lambda status, message: {"detail": message},
    "detail_list": lambda status, message: {
        "detail": [{"loc": ["body", "messages", 0, "role"], "msg": message}]
    },
    "flat": lambda status, message: {"error_code": "BAD_REQUEST", "message": message},
    "nested": lambda status, message: {"error": {"error": {"message": message}}},
    "array": lambda status, message: [{"error": {"message": message}}],
}

SHAPES = ("service", *_JSON_SHAPES, "text", "html", "empty")

SHAPE = Param("shape", "service", "the form of the error's body", SHAPES)


def shaped(shape: str, status: int, message: str, service: bytes) -> tuple[str, bytes]:
    """Content type and body; `service` is the body in the service's own shape."""
    if shape == "service":
        return "application/json", service
    if shape == "text":
        return "text/plain; charset=utf-8", message.encode()
    if shape == "html":
        return "text/html", _PAGE.format(status=status, message=escape(message)).encode()
    if shape == "empty":
        return "text/plain; charset=utf-8", b""
    return "application/json", encode(_JSON_SHAPES[shape](status, message))


_PAGE = (
    "<html>\r\n<head><title>{status} {message}</title></head>\r\n<body>\r\n"
    "<center><h1>{status} {message}</h1></center>\r\n</body>\r\n</html>\r\n"
)

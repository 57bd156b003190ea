"""Errors by status: what stands in place of a reply, before anything was streamed.

Seen in openai/openai-node#1734, earendil-works/pi#7748, openai-php/client#682,
PsycherosAI/Psycheros#44, charmbracelet/fantasy#365 and anomalyco/opencode#36411.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from email.utils import formatdate
from html import escape
from math import ceil
from typing import Any, TypeAlias

from fakeprovider.delivery.steps import Headers
from fakeprovider.errors import ApiError
from fakeprovider.faults.events import decode, encode
from fakeprovider.faults.kind import Answer, Param, Scene
from fakeprovider.faults.registry import fault

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


OPENAI = "https://developers.openai.com/docs/guides/error-codes"
ANTHROPIC = "https://docs.claude.com/en/api/errors"


@dataclass(frozen=True, slots=True)
class ServiceError:
    """What a service says: status, words, and its own names for the error.

    `kind` and `code` are those of `ApiError`; `types` has the type on the wire, by vendor, where
    the dialect's usual word for the kind is not it.
    """

    status: int
    message: str
    kind: str = "invalid_request"
    code: str | None = None
    types: Mapping[str, str] = field(default_factory=dict)
    param: str | None = None
    details: dict[str, Any] | None = None

    def body(self, scene: Scene) -> bytes:
        """The error in the dialect's own shape."""
        error = ApiError(
            self.status, self.message, kind=self.kind, param=self.param, code=self.code
        )
        error.details = self.details
        error.request_id = scene.request_id or None
        rendered = decode(scene.dialect.render_error(error))
        own = self.types.get(scene.dialect.vendor)
        if own is not None:
            rendered["error"]["type"] = own
        return encode(rendered)

    def answer(self, scene: Scene, headers: Headers = (), shape: str | None = None) -> Answer:
        """The whole answer, in the shape that the fault's parameter or `shape` says."""
        shape = shape or scene.values.get("shape", "service")
        kind, body = shaped(shape, self.status, self.message, self.body(scene))
        return Answer(self.status, body, self.message, (("content-type", kind), *headers))


def _plain(name: str, line: str, source: str, error: ServiceError, chaos: bool = False) -> None:
    """Register an error that needs no function of its own."""
    register = fault(
        name,
        hook="error",
        group="status",
        line=line,
        source=source,
        params=(SHAPE,),
        breaks=True,
        chaos=chaos,
    )
    register(error.answer)


_KEY = "Incorrect API key provided: sk-fake. You can find your API key in your account settings."
_REGION = "Country, region, or territory not supported."
_SERVER = "The server had an error while processing your request. Sorry about that!"

_plain(
    "bad_request",
    "400: the request is wrong, whatever it was.",
    OPENAI,
    ServiceError(400, "Invalid request.", code="invalid_value"),
)
_plain(
    "unauthorized",
    "401: the API key is not valid.",
    OPENAI,
    ServiceError(401, _KEY, "authentication", "invalid_api_key"),
)
_plain(
    "forbidden",
    "403: the key is not allowed to do this.",
    OPENAI,
    ServiceError(403, _REGION, "permission", "unsupported_country_region_territory"),
)
_plain(
    "model_not_found",
    "404: there is no such model.",
    OPENAI,
    ServiceError(
        404,
        "The model does not exist or you do not have access to it.",
        "not_found",
        "model_not_found",
    ),
)
_plain(
    "request_timeout",
    "408: the service waited too long for the request.",
    "https://github.com/openai/openai-python#retries",
    ServiceError(408, "Request timed out.", code="request_timeout"),
)
_plain(
    "conflict",
    "409: something changed meanwhile.",
    "https://github.com/openai/openai-python#retries",
    ServiceError(
        409,
        "Conflict: please try again.",
        code="conflict",
        types={"anthropic": "conflict_error"},
    ),
)
_plain(
    "too_large",
    "413: the request's body is too large.",
    ANTHROPIC,
    ServiceError(
        413,
        "Request exceeds the maximum allowed number of bytes.",
        "too_large",
        "request_too_large",
    ),
)
_plain(
    "server_error",
    "500: the service failed.",
    OPENAI,
    ServiceError(500, _SERVER, "server"),
    chaos=True,
)
_plain(
    "unavailable",
    "503: the service is overloaded (OpenAI's word for it).",
    OPENAI,
    ServiceError(
        503,
        "The engine is currently overloaded, please try again later.",
        "overloaded",
        "server_is_overloaded",
        types={"openai": "service_unavailable_error"},
    ),
    chaos=True,
)
_plain(
    "gateway_timeout",
    "504: a gateway gave up waiting.",
    ANTHROPIC,
    ServiceError(
        504,
        "The request timed out while processing.",
        "server",
        types={"openai": "server_error", "anthropic": "timeout_error"},
    ),
)
_plain(
    "overloaded",
    "529: the service is overloaded (Anthropic's word for it).",
    ANTHROPIC,
    ServiceError(529, "Overloaded", "overloaded", types={"openai": "server_error"}),
    chaos=True,
)


@fault(
    "rate_limited",
    hook="error",
    group="status",
    line="429: too many requests, and when to come back.",
    source=f"{OPENAI}; https://docs.claude.com/en/api/rate-limits",
    params=(
        Param("retry_after", 1.0, "seconds to wait"),
        Param(
            "form",
            "seconds",
            "how the wait is told: Retry-After in seconds or as a date, retry-after-ms, or not",
            ("seconds", "date", "ms", "none"),
        ),
        SHAPE,
    ),
    breaks=True,
    chaos=True,
    quick={"retry_after": 0.05, "form": "ms"},
)
def _rate_limited(scene: Scene) -> Answer:
    wait = scene.values["retry_after"]
    error = ServiceError(
        429,
        f"Rate limit reached for {scene.conversation.model} on requests per min. "
        f"Please try again in {wait:g}s.",
        "rate_limit",
        "rate_limit_exceeded",
        types={"openai": "requests"},
    )
    form = scene.values["form"]
    left = (scene.dialect.requests_left_header, "0")
    answer = error.answer(scene, (*_retry_after(wait, form, scene.now), left))
    if form == "date":
        wait = ceil(scene.now + wait) - scene.now  # a date has no fraction of a second
    return answer if form == "none" else replace(answer, retry_after=max(0, wait))


def _retry_after(wait: float, form: str, now: float) -> Headers:
    """The header that says when to come back, if one does."""
    if form == "seconds":
        return (("retry-after", f"{wait:g}"),)
    if form == "date":
        return (("retry-after", formatdate(ceil(now + wait), usegmt=True)),)
    if form == "ms":
        return (("retry-after-ms", f"{wait * 1000:g}"),)
    return ()


@fault(
    "insufficient_quota",
    hook="error",
    group="status",
    line="429: the account has no money left; waiting does not help.",
    source=f"{OPENAI}; https://docs.claude.com/en/api/rate-limits",
    params=(SHAPE,),
    breaks=True,
)
def _quota(scene: Scene) -> Answer:
    words = (
        "You exceeded your current quota, please check your plan and billing details. For more "
        "information on this error, read the docs: "
        "https://platform.openai.com/docs/guides/error-codes/api-errors."
    )
    return ServiceError(
        429,
        words,
        "rate_limit",
        "insufficient_quota",
        types={"openai": "insufficient_quota"},
        details={"error_code": "enforced_spend_limit_reached"},
    ).answer(scene)


@fault(
    "context_length_exceeded",
    hook="error",
    group="status",
    line="400: the prompt is longer than the model's context.",
    source="anomalyco/opencode#17746, earendil-works/pi#5677",
    params=(
        Param("limit", 128_000, "tokens of context that the message speaks of"),
        Param(
            "wording",
            "service",
            "the service's words; other words with the code; a gateway's, without a code",
            ("service", "odd", "bare"),
        ),
        SHAPE,
    ),
    breaks=True,
)
def _context(scene: Scene) -> Answer:
    limit = scene.values["limit"]
    tokens = max(scene.conversation.prompt_tokens, limit + 1)
    if scene.values["wording"] == "bare":
        words = f"Input length ({tokens}) exceeds model's maximum context length ({limit})."
        return ServiceError(400, words).answer(scene)
    if scene.values["wording"] == "odd":
        words = "Your input is more than this model can take in."
        return ServiceError(400, words, code="context_length_exceeded").answer(scene)
    error = scene.dialect.context_exceeded(tokens, limit)
    return ServiceError(400, error.message, code=error.code, param=error.param).answer(scene)


@fault(
    "bad_gateway",
    hook="error",
    group="status",
    line="502: a proxy's HTML page.",
    source="anomalyco/opencode#36411",
    params=(Param("shape", "html", SHAPE.line, SHAPE.choices),),
    breaks=True,
    chaos=True,
)
def _bad_gateway(scene: Scene) -> Answer:
    shape = scene.values["shape"]
    return ServiceError(502, "Bad Gateway", "server").answer(scene, shape=shape)


@fault(
    "http_error",
    hook="error",
    group="status",
    line="Any status, in any of the shapes that error bodies come in.",
    source="openai/openai-node#1734, openai-php/client#682, charmbracelet/fantasy#365",
    params=(
        Param("status", 400, "the status", least=400, most=599),
        Param("message", "m", "the error's words"),
        SHAPE,
    ),
    breaks=True,
)
def _any(scene: Scene) -> Answer:
    status = scene.values["status"]
    kind = "server" if status >= 500 else "invalid_request"
    return ServiceError(status, scene.values["message"], kind).answer(scene)

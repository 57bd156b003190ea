"""The pages beside the wire protocols: health, models, journal."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from fakeprovider import journal as journals
from fakeprovider.errors import ApiError
from fakeprovider.journal import Journal
from fakeprovider.protocols import chat
from fakeprovider.provider import Provider
from fakeprovider.routing import resolve

_ENDPOINTS = ("/models",)


def pages(provider: Provider, journal: Journal) -> Starlette:
    """The application that answers every path that is no dialect's endpoint."""

    def home(request: Request) -> Response:
        names = "\n".join(f"  {request.base_url}{name}/v1" for name in provider.scripts)
        return PlainTextResponse(f"A scripted fake LLM provider. Base URLs:\n\n{names}\n")

    def health(request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    def show_journal(request: Request) -> Response:
        run = request.query_params.get("run")
        if request.method == "DELETE":
            return JSONResponse({"deleted": journal.clear(run)})
        return _json(journals.to_json(journal.exchanges(run)))

    def elsewhere(request: Request) -> Response:
        if resolve(request.url.path, _ENDPOINTS) is None:
            raise HTTPException(404)
        if request.method not in ("GET", "HEAD"):
            raise HTTPException(405, headers={"allow": "GET"})
        return _json(chat.render_models(tuple(provider.scripts)))

    return Starlette(
        routes=[
            Route("/", home),
            Route("/healthz", health),
            Route("/_journal", show_journal, methods=["GET", "DELETE"]),
            Route("/{path:path}", elsewhere, methods=_METHODS),
        ],
        exception_handlers={HTTPException: _error},
    )


_METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]

_WHY = {
    404: "There is nothing at {method} {path}. Chat completions are at /v1/chat/completions, "
    "or at /SCRIPT/v1/chat/completions for a script of your choice.",
    405: "Not allowed to {method} {path}.",
}


async def _error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    message = _WHY.get(error.status_code, str(error.detail))
    shown = ApiError(
        error.status_code,
        message.format(method=request.method, path=request.url.path),
        code="unknown_url" if error.status_code == 404 else None,
    )
    return _json(chat.render_error(shown), error.status_code, error.headers)


def _json(body: bytes, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(body, status, headers, "application/json")

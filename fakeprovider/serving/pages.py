"""The pages beside the wire protocols: home, health, models, journal, verdict.

A service's endpoints take any query string, as the services do.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from starlette.applications import Starlette
from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from fakeprovider import journal as journals
from fakeprovider import verdict as verdicts
from fakeprovider.errors import ApiError
from fakeprovider.journal import Exchange, Journal
from fakeprovider.protocols.dialect import DIALECTS, Dialect
from fakeprovider.serving.auth import check_key
from fakeprovider.serving.dashboard import page, plain
from fakeprovider.serving.provider import Provider
from fakeprovider.serving.routing import resolve
from fakeprovider.verdict import Facts, UnknownClause

_ENDPOINTS = ("/models",)


def pages(provider: Provider, journal: Journal) -> Starlette:
    """The application that answers every path that is no dialect's endpoint."""
    ours = _Pages(provider, journal)
    return Starlette(
        routes=[
            Route("/", ours.home),
            Route("/healthz", ours.health),
            Route("/_journal", ours.journal, methods=["GET", "DELETE"]),
            Route("/_verdict", ours.verdict),
            Route("/{path:path}", ours.elsewhere, methods=_METHODS),
        ],
        exception_handlers={HTTPException: _error, ApiError: _api_error, BadQuery: _bad_query},
    )


class _Pages:
    """The pages of one provider and its journal."""

    def __init__(self, provider: Provider, journal: Journal) -> None:
        self._provider = provider
        self._journal = journal

    def home(self, request: Request) -> Response:
        """What there is, for a browser or a terminal."""
        base = str(request.base_url)
        if "text/html" in request.headers.get("accept", ""):
            return HTMLResponse(page(base, self._provider.scripts))
        return PlainTextResponse(plain(base, self._provider.scripts))

    def health(self, request: Request) -> Response:
        """That the server answers."""
        return JSONResponse({"status": "ok"})

    def journal(self, request: Request) -> Response:
        """The exchanges, of one run or the last few; DELETE forgets them."""
        query = request.query_params
        forget = request.method == "DELETE"
        check_names(query, ("run",) if forget else ("run", "last"))
        run, last = query.get("run"), number_of(query, "last")
        if forget:
            self._provider.faults.attempts.clear(run)
            return JSONResponse({"deleted": self._journal.clear(run)})
        exchanges = self._journal.exchanges(run)
        return _json(journals.to_json(exchanges if last is None else _last(exchanges, last)))

    def verdict(self, request: Request) -> Response:
        """What the clauses say of the exchanges."""
        query = request.query_params
        check_names(query, ("run", "cap"), several=("clause",))
        run, facts = query.get("run"), Facts(cap=number_of(query, "cap"))
        exchanges = self._journal.exchanges(run)
        if run is not None and not exchanges:
            return JSONResponse({"error": f"No exchange has the run key {run!r}."}, 404)
        try:
            results = verdicts.verdict(exchanges, facts, only=query.getlist("clause"))
        except UnknownClause as error:
            return JSONResponse({"error": str(error)}, 400)
        return _json(verdicts.to_json(results))

    def elsewhere(self, request: Request) -> Response:
        """The list of models, and 404 for the rest.

        The list is a service's own: it asks for the key, and comes in the dialect of the client.
        """
        path, _, name = request.url.path.partition("/models/")
        route = resolve(f"{path}/models" if name else path, _ENDPOINTS)
        if route is None:
            raise HTTPException(404)
        self._provider.check_route(route)
        if self._provider.settings.api_key is not None:
            check_key(request.scope["headers"], self._provider.settings.api_key)
        if request.method not in ("GET", "HEAD"):
            raise HTTPException(405, headers={"allow": "GET"})
        return _models(request, tuple(self._provider.scripts), name)


def _dialect(request: Request) -> Dialect:
    """The dialect whose client asks, by the header that only its clients send; else the first."""
    dialects = list(DIALECTS.values())
    shown = (dialect for dialect in dialects if (dialect.client_header or "") in request.headers)
    return next(shown, dialects[0])


def _models(request: Request, names: tuple[str, ...], name: str) -> Response:
    dialect = _dialect(request)
    if not name:
        return _json(dialect.render_models(names))
    if name not in names:
        message = f"The model {name!r} does not exist; there are {', '.join(names)}."
        raise ApiError(404, message, kind="not_found", param="model", code="model_not_found")
    return _json(dialect.render_model(name))


_METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]

_WHY = {
    404: "There is nothing at {method} {path}. There are /v1/chat/completions, /v1/messages, "
    "/v1/responses and /v1/embeddings, and /SCRIPT/v1/... for a script of your choice.",
    405: "Not allowed to {method} {path}.",
}


async def _error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    message = _WHY.get(error.status_code, str(error.detail))
    shown = ApiError(
        error.status_code,
        message.format(method=request.method, path=request.url.path),
        kind="not_found" if error.status_code == 404 else "invalid_request",
        code="unknown_url" if error.status_code == 404 else None,
    )
    return _json(_dialect(request).render_error(shown), error.status_code, error.headers)


async def _api_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, ApiError)
    return _json(_dialect(request).render_error(error), error.status)


async def _bad_query(request: Request, error: Exception) -> Response:
    return JSONResponse({"error": str(error)}, 400)


def _last(exchanges: list[Exchange], count: int) -> list[Exchange]:
    return exchanges[max(0, len(exchanges) - count) :]


def _json(body: bytes, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(body, status, headers, "application/json")


_NUMBER = re.compile("[0-9]{1,9}")
_SHOWN = 40


class BadQuery(ValueError):
    """A query string with a parameter that there is not, twice, or with no sense in it."""


def check_names(
    query: QueryParams, allowed: tuple[str, ...], several: tuple[str, ...] = ()
) -> None:
    """Raises `BadQuery` for a name that is in neither, or twice and not in `several`."""
    names = (*allowed, *several)
    for name in query:
        if name not in names:
            raise BadQuery(f"Unknown parameter {_cut(name)}; allowed: {', '.join(names)}.")
        if name in allowed and len(query.getlist(name)) > 1:
            raise BadQuery(f"The parameter {name!r} is given more than once.")


def number_of(query: QueryParams, name: str) -> int | None:
    """The parameter as a number, None if it is not given. Raises `BadQuery`."""
    value = query.get(name)
    if value is None:
        return None
    if not _NUMBER.fullmatch(value):
        raise BadQuery(f"{name} must be a number such as 30, not {_cut(value)}.")
    return int(value)


def _cut(value: str) -> str:
    return repr(value if len(value) <= _SHOWN else value[:_SHOWN] + "...")

"""A request body in, a completion out: what the provider does, without any HTTP."""

from __future__ import annotations

import logging
from dataclasses import replace

from fakeprovider.completion import SEARCH_LIMIT, Completion
from fakeprovider.conversation import Conversation
from fakeprovider.errors import ApiError
from fakeprovider.faults import NONE, BadFault, Faults, Moment, Plan, orders
from fakeprovider.faults.events import edit
from fakeprovider.faults.kind import Draft
from fakeprovider.fitting.demands import FREE, check_form, obey
from fakeprovider.fitting.side_requests import plain_answer, side_request
from fakeprovider.fitting.tool_mapping import Note, ToolMapping
from fakeprovider.parsing.caches import LONGEST, KnownRequest, RequestCaches
from fakeprovider.parsing.counting import prompt_tokens
from fakeprovider.parsing.prompt_cache import with_cache
from fakeprovider.parsing.request_reader import too_deep
from fakeprovider.parsing.thinking import missing_thinking
from fakeprovider.protocols.dialect import Aside
from fakeprovider.replies import Reply
from fakeprovider.scripts import Registry, Script, UnknownScript
from fakeprovider.scripts.reply_sequence import ScriptRanOut
from fakeprovider.serving.path_options import NO_OPTIONS
from fakeprovider.serving.request_context import RequestContext, WireRequest
from fakeprovider.serving.routing import Route
from fakeprovider.settings import Settings, read_pace

LONG = 1 << 20
"""Bytes over which a body is read in a thread: counting its tokens takes a second per megabyte."""

_log = logging.getLogger("fakeprovider")


class Provider:
    """Scripts, and what decides which of them answers and how strictly.

    `default` is the script where neither path nor model names one, None for none.
    """

    def __init__(
        self, scripts: Registry, settings: Settings | None = None, *, default: str | None = None
    ) -> None:
        self.settings = settings = settings or Settings()
        self.scripts = scripts
        self.default = default
        self.catalogue = settings.catalogue or ToolMapping()
        self.gate = settings.gate
        self.pace = read_pace(settings.pace)
        self.faults = Faults(orders(settings.faults, settings.chaos))
        self.caches = RequestCaches()
        self.caches_of_long = RequestCaches()  # bodies that are read in a thread of their own

    def answer(self, request: RequestContext) -> tuple[Conversation, Completion]:
        """Parse, check, ask the script, complete; raises `ApiError` for anything that fails."""
        route, choice = request.wire.route, request.choice
        check_parameters(route)
        known = request.known = self._read(request.wire)
        conversation = known.conversation
        self._check(request, conversation)
        choice.named = route.script or conversation.options.get("script", "")
        choice.name, choice.script = self.choose(choice.named, conversation.model)
        reply = self._reply(request, conversation, choice.script)
        completion = self._complete(request, known, reply)
        if self.settings.prompt_cache:
            completion = with_cache(conversation, completion)
        pace = route.options.pace or completion.pace or self.pace
        if pace is not completion.pace:
            completion = replace(completion, pace=pace)
        request.completion = completion
        return conversation, completion

    def answer_aside(self, request: RequestContext, aside: Aside) -> bytes:
        """The reply to what no script is asked about; raises `ApiError`."""
        wire = request.wire
        try:
            conversation, body = aside(
                wire.body, self._caches(wire), wire.route.model, self._recount
            )
        except RecursionError:
            raise too_deep() from None
        if conversation is not None:
            self._check(request, conversation)
            return self._miscount(request, conversation, body)
        return body

    def _complete(self, request: RequestContext, known: KnownRequest, reply: Reply) -> Completion:
        """The reply with nothing left open, and with the fault that strikes it."""
        conversation, script = known.conversation, request.choice.name
        plan = self._strike(request, conversation, reply)
        if plan is not None and plan.kind.reply is not None:
            draft = Draft(request.wire.dialect, conversation, reply, script, plan.values)
            return plan.kind.reply(draft)
        completion = known.complete(reply, script)
        options = conversation.options
        asks_json = options.get("json_object") or options.get("json_schema") is not None
        if asks_json and (plan is None or plan.kind.error is None):
            check_form(conversation, completion)
        return completion

    def _strike(
        self, request: RequestContext, conversation: Conversation, reply: Reply
    ) -> Plan | None:
        """The fault that is due now; none for a side request, which is no turn of the script."""
        wire, choice, fault = request.wire, request.choice, request.fault
        by_path = wire.route.options.orders
        fault.possible = (
            reply.fault is not None or by_path is not NONE or self.faults.orders is not NONE
        )
        if not fault.possible or choice.turn is None:
            return None
        moment = Moment(
            wire.dialect.name, conversation, reply, choice.turn, request.run, wire.head.attempt
        )
        try:
            due = self.faults.choose(moment, by_path)
        except BadFault as error:
            raise _failed(choice.name, str(error)) from None
        fault.attempt = due.attempt
        choice.notes += [Note("fault_missed", f"{name}: {why}") for name, why in due.missed]
        fault.plan = due.plan
        return due.plan

    def _miscount(self, request: RequestContext, conversation: Conversation, body: bytes) -> bytes:
        """The count as a fault makes it; raises `ApiError` where there is no such endpoint."""
        wire = request.wire
        plan = request.fault.plan = self.faults.miscount(
            wire.dialect.name, wire.route.options.orders
        )
        if plan is None or plan.kind.count is None:
            return body
        tokens = plan.kind.count(conversation.prompt_tokens, plan.values)
        if tokens is None:
            raise ApiError(
                404,
                f"There is nothing at {wire.route.endpoint}.",
                kind="not_found",
                code="unknown_url",
            )
        return edit(body, input_tokens=tokens)

    def _read(self, wire: WireRequest) -> KnownRequest:
        """The request, read now or remembered."""
        key = (wire.dialect.name, wire.route.model, wire.body)
        short = len(wire.body) <= LONGEST
        known = self.caches.requests.get(key) if short else None
        if known is not None:
            return known
        try:
            conversation = wire.dialect.parse(wire.body, self._caches(wire), wire.route.model)
        except RecursionError:
            raise too_deep() from None
        limit = self.settings.search_limit
        if limit != SEARCH_LIMIT:
            options = {**conversation.options, "search_limit": limit}
            conversation = replace(conversation, options=options)
        known = KnownRequest(self._recount(conversation))
        if short:
            self.caches.requests.put(key, known, known.size(wire.body))
        return known

    def _caches(self, wire: WireRequest) -> RequestCaches:
        return self.caches_of_long if len(wire.body) > LONG else self.caches

    def _recount(self, conversation: Conversation) -> Conversation:
        """The conversation with its prompt tokens by the rule in force."""
        if self.settings.count == "wire":
            return conversation
        return replace(conversation, prompt_tokens=prompt_tokens(conversation))

    def _check(self, request: RequestContext, conversation: Conversation) -> None:
        request.conversation = conversation
        if self.settings.strict and conversation.violations:
            raise request.wire.dialect.refuse(conversation.violations[0])

    def _reply(self, request: RequestContext, conversation: Conversation, script: Script) -> Reply:
        """The script's reply, fitted to the client; or a plain one to a side request."""
        wire, choice = request.wire, request.choice
        side = side_request(conversation, wire.head.agent)
        if side is not None:
            choice.side = side.kind
            choice.notes.append(Note("side_request", f"{side.kind} ({side.marker})"))
            return plain_answer(side, conversation)
        options = wire.route.options
        catalogue = self.catalogue.for_client(options.client).for_script(script)
        view = catalogue.view(conversation)
        if options is not NO_OPTIONS:
            view = options.view(view)
        choice.turn = view.turn
        if self.settings.strict and "unthought" in view.options:
            forgotten = missing_thinking(view, script)
            if forgotten is not None:
                raise wire.dialect.refuse(forgotten)
        fitted = catalogue.fit(_run(choice.name, script, view), conversation)
        choice.notes += fitted.notes
        if conversation.options.get("choice", FREE) == FREE:
            return fitted.reply
        return obey(fitted.reply, conversation)

    def check_route(self, route: Route) -> None:
        """Raise `ApiError` where a path's parameters are wrong, or its script is not there."""
        check_parameters(route)
        if route.script:
            self.choose(route.script, "")

    def choose(self, path_name: str, model: str) -> tuple[str, Script]:
        """The script named by the path, else by the model, else the default; or a 404."""
        name = path_name or (model if model in self.scripts else self.default)
        try:
            if name is None:
                raise UnknownScript(model, self.scripts)
            return name, self.scripts[name]
        except UnknownScript as error:
            raise ApiError(
                404, _unknown(error), kind="not_found", param="model", code="model_not_found"
            ) from None


def check_parameters(route: Route) -> None:
    """Raise `ApiError` for a path whose parameters are wrong."""
    if route.error:
        raise ApiError(404, route.error, kind="not_found", code="bad_path_parameter")


def _unknown(error: UnknownScript) -> str:
    return f"The model or script does not exist: {error}."


def _run(name: str, script: Script, conversation: Conversation) -> Reply:
    try:
        reply = script(conversation)
    except ScriptRanOut as error:
        raise ApiError(
            400, f"Script {name!r}: {error}.", code="script_ran_out", retry=False
        ) from None
    except ApiError:
        raise
    except (Exception, SystemExit) as error:  # a script's exit is not the server's
        _log.exception("script %r failed", name)
        raise _failed(name, f"{type(error).__name__}: {error}") from error
    if not isinstance(reply, Reply):
        raise _failed(name, f"it returned {type(reply).__name__}, not a Reply")
    return reply


def _failed(name: str, why: str) -> ApiError:
    message = f"Script {name!r} failed on this conversation: {why}."
    return ApiError(500, message, kind="server", code="script_failed", retry=False)

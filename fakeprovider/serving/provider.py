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
from fakeprovider.fitting.demands import check_form, obey
from fakeprovider.fitting.side_requests import plain_answer, side_request
from fakeprovider.fitting.tool_mapping import Note, ToolMapping
from fakeprovider.parsing.caches import LONGEST, KnownRequest, RequestCaches
from fakeprovider.parsing.counting import prompt_tokens
from fakeprovider.parsing.prompt_cache import with_cache
from fakeprovider.parsing.request_reader import too_deep
from fakeprovider.parsing.strict import missing_thinking
from fakeprovider.protocols.dialect import Aside
from fakeprovider.replies import Reply
from fakeprovider.scripts import Registry, Script, UnknownScript
from fakeprovider.scripts.reply_sequence import ScriptRanOut
from fakeprovider.serving.request_context import RequestContext
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
        self.aside = RequestCaches()  # for long bodies, which are read in a thread of their own

    def answer(self, context: RequestContext) -> tuple[Conversation, Completion]:
        """Parse, check, ask the script, complete; raises `ApiError` for anything that fails."""
        check_parameters(context.route)
        known = context.known = self._read(context)
        conversation = known.conversation
        self._check(context, conversation)
        context.named = context.route.script or conversation.options.get("script", "")
        context.script, script = self.choose(context.named, conversation.model)
        context.chosen = script
        reply = self._reply(context, conversation, script)
        completion = self._complete(context, known, reply)
        if self.settings.prompt_cache:
            completion = with_cache(conversation, completion)
        pace = context.route.options.pace or completion.pace or self.pace
        if pace is not completion.pace:
            completion = replace(completion, pace=pace)
        context.completion = completion
        return conversation, completion

    def _complete(self, context: RequestContext, known: KnownRequest, reply: Reply) -> Completion:
        """The reply with nothing left open, and with the fault that strikes it."""
        struck = context.struck = self._strike(context, known.conversation, reply)
        if struck is not None and struck.kind.reply is not None:
            draft = Draft(context.dialect, known.conversation, reply, context.script, struck.values)
            return struck.kind.reply(draft)
        completion = known.complete(reply, context.script)
        if struck is None or struck.kind.error is None:
            check_form(known.conversation, completion)
        return completion

    def _strike(
        self, context: RequestContext, conversation: Conversation, reply: Reply
    ) -> Plan | None:
        """The fault that is due now; none for a side request, which is no turn of the script."""
        orders = context.route.options.orders
        context.plain = reply.fault is None and orders is NONE and self.faults.orders is NONE
        if context.plain or context.turn is None:
            return None
        moment = Moment(
            context.dialect.name,
            conversation,
            reply,
            context.turn,
            context.run,
            context.head.attempt,
        )
        try:
            choice = self.faults.choose(moment, orders)
        except BadFault as error:
            raise _failed(context.script, str(error)) from None
        context.attempt = choice.attempt
        context.notes += [Note("fault_missed", f"{name}: {why}") for name, why in choice.missed]
        return choice.plan

    def answer_aside(self, context: RequestContext, aside: Aside) -> bytes:
        """The reply to what no script is asked about; raises `ApiError`."""
        try:
            conversation, body = aside(
                context.body, self._memory(context), context.route.model, self._recount
            )
        except RecursionError:
            raise too_deep() from None
        if conversation is not None:
            self._check(context, conversation)
            return self._miscount(context, conversation, body)
        return body

    def _miscount(self, context: RequestContext, conversation: Conversation, body: bytes) -> bytes:
        """The count as a fault makes it; raises `ApiError` where there is no such endpoint."""
        struck = context.struck = self.faults.miscount(
            context.dialect.name, context.route.options.orders
        )
        if struck is None or struck.kind.count is None:
            return body
        told = struck.kind.count(conversation.prompt_tokens, struck.values)
        if told is None:
            path = context.route.endpoint
            raise ApiError(
                404, f"There is nothing at {path}.", kind="not_found", code="unknown_url"
            )
        return edit(body, input_tokens=told)

    def _read(self, context: RequestContext) -> KnownRequest:
        """The request, read now or remembered."""
        if len(context.body) > LONGEST:
            return KnownRequest(self._parse(context))
        key = (context.dialect.name, context.route.model, context.body)
        known = self.caches.requests.get(key)
        if known is None:
            known = KnownRequest(self._parse(context))
            self.caches.requests.put(key, known, known.size(context.body))
        return known

    def _parse(self, context: RequestContext) -> Conversation:
        try:
            found = context.dialect.parse(context.body, self._memory(context), context.route.model)
        except RecursionError:
            raise too_deep() from None
        limit = self.settings.search_limit
        if limit != SEARCH_LIMIT:
            found = replace(found, options={**found.options, "search_limit": limit})
        return self._recount(found)

    def _memory(self, context: RequestContext) -> RequestCaches:
        return self.aside if len(context.body) > LONG else self.caches

    def _recount(self, conversation: Conversation) -> Conversation:
        """The conversation with its prompt tokens by the rule in force."""
        if self.settings.count == "wire":
            return conversation
        return replace(conversation, prompt_tokens=prompt_tokens(conversation))

    def _check(self, context: RequestContext, conversation: Conversation) -> None:
        context.conversation = conversation
        if self.settings.strict and conversation.violations:
            raise context.dialect.refuse(conversation.violations[0])

    def _reply(self, context: RequestContext, conversation: Conversation, script: Script) -> Reply:
        """The script's reply, fitted to the client; or a plain one to a side request."""
        side = side_request(conversation, context.head.agent)
        if side is not None:
            context.side = side.kind
            context.notes.append(Note("side_request", f"{side.kind} ({side.marker})"))
            return plain_answer(side, conversation)
        catalogue = self.catalogue.for_client(context.route.options.client).for_script(script)
        view = context.route.options.view(catalogue.view(conversation))
        context.turn = view.turn
        forgotten = missing_thinking(view, script) if self.settings.strict else None
        if forgotten is not None:
            raise context.dialect.refuse(forgotten)
        fitted = catalogue.fit(_run(context.script, script, view), conversation)
        context.notes += fitted.notes
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
